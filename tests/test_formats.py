"""The formats that servers read with: their own, which is pinned, and those of requests' templates, which are analysed apart."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from test_serve import CHATML, PLAIN

from chat_autoparser import AutoparserError, BudgetError, ChatFormat, Verdict, analyze, load_renderer
from chat_autoparser.export.certificate import FILE_NAME, make_certificate
from chat_autoparser.serve import Formats, apart
from chat_autoparser.serve.apart import LONGEST, Analyst
from chat_autoparser.serve.counters import Counters

ENDLESS = (
    "{% for i in range(100000) %}{% for i in range(100000) %}{% for i in range(100000) %}{% endfor %}{% endfor %}{% endfor %}"
    + PLAIN
)


def test_a_server_s_own_format_is_pinned_and_reported_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    formats = Formats(capacity=2, apart=lambda source, tokens, seconds: ChatFormat())
    own = formats.pin(CHATML, "the model's chat template")
    assert formats.pin(CHATML, "the model's chat template") is own
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("chat-autoparser: from the model's chat template in ")
    assert "<tool_call>" in line
    assert "proven" in line
    assert "\n" not in line
    for number in range(5):
        formats.submit(f"{PLAIN}{{# {number} #}}").result()
    assert formats.find(CHATML) is own
    assert formats.submit(CHATML).result() is own
    kept = [number for number in range(5) if formats.find(f"{PLAIN}{{# {number} #}}")]
    assert kept == [3, 4]


@pytest.mark.parametrize("fits", [True, False])
def test_a_certificate_beside_the_model_is_taken_where_it_fits(
    fits: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture, counters: Counters
) -> None:
    caplog.set_level(logging.INFO)
    marked = replace(analyze(CHATML), verdict=Verdict(notes=("from the certificate",)))
    (tmp_path / FILE_NAME).write_text(json.dumps(make_certificate(load_renderer(CHATML), marked)))
    found = Formats().pin(CHATML if fits else PLAIN, "the model's template", folder=str(tmp_path))
    assert (found == marked) == fits
    assert counters.read()["analyses"] == int(not fits)
    told = " ".join(record.getMessage() for record in caplog.records)
    assert ("certified in chat_autoparser.json" in told) == fits
    assert ("chat_autoparser.json is not used" in told) != fits


def test_how_long_a_request_s_template_may_take_is_the_environment_s(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def analyse(source: str, special_tokens: Mapping[str, str], seconds: float) -> ChatFormat:
        given.append(seconds)
        return ChatFormat()

    formats = Formats(apart=analyse)
    for number, named in enumerate(("", "7.5", " 20 ")):
        monkeypatch.setenv("CHAT_AUTOPARSER_TEMPLATE_SECONDS", named)
        formats.submit(f"{CHATML}{number}").result()
    assert given == [3.0, 7.5, 20.0]
    for named in ("long", "0", "-1", "nan", "inf", "61"):
        monkeypatch.setenv("CHAT_AUTOPARSER_TEMPLATE_SECONDS", named)
        with pytest.raises(AutoparserError, match="CHAT_AUTOPARSER_TEMPLATE_SECONDS is"):
            Formats().pin(CHATML, "the model's template")


def test_examples_go_before_a_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = replace(analyze(CHATML), verdict=Verdict())
    (tmp_path / FILE_NAME).write_text(json.dumps(make_certificate(load_renderer(CHATML), marked)))
    examples = tmp_path / "examples.json"
    message = {"role": "assistant", "content": "Hello."}
    examples.write_text(json.dumps([{"text": "Hello.", "message": message}]))
    monkeypatch.setenv("CHAT_AUTOPARSER_EXAMPLES", str(examples))
    assert Formats().pin(CHATML, "the model's template", folder=str(tmp_path)) != marked


def test_a_server_s_template_that_is_not_understood_is_named_in_one_line() -> None:
    with pytest.raises(AutoparserError) as caught:
        Formats().pin("{{ raise_exception('no\nway') }}", "the chat template of --chat-template")
    assert str(caught.value).startswith("the chat template of --chat-template is not understood: ")
    assert "\n" not in str(caught.value)


def test_what_is_not_proven_is_said_with_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    template = PLAIN.replace("{% if add", "{{ tools }}{% if add")
    Formats().pin(template, "the model's chat template")
    [warning] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "not understood in full" in warning
    assert "CHAT_AUTOPARSER_EXAMPLES" in warning


def test_a_request_s_template_is_analysed_in_another_process() -> None:
    analyst = Analyst()
    analyst.start()
    process = analyst._process
    assert process is not None
    for _ in range(3):
        assert analyst.analyse(CHATML, {}, 20) == analyze(CHATML)
        with pytest.raises(AutoparserError):
            analyst.analyse("{{ raise_exception('no') }}", {}, 20)
        with pytest.raises(BudgetError):
            analyst.analyse(" " * (LONGEST + 1), {}, 20)
        with pytest.raises(BudgetError):
            analyst.analyse(ENDLESS, {}, 0.2)
    assert analyst._process is process, "it was started more than once"
    process.kill()
    process.wait()
    assert analyst.analyse(CHATML, {}, 20) == analyze(CHATML), "it is started anew"
    analyst._stop()


def test_an_analysis_that_waits_too_long_is_ended_by_the_process_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not the process that is ended and started anew: others come after that template."""
    analyst = Analyst()
    analyst.analyse(PLAIN, {}, 20)
    process = analyst._process
    monkeypatch.setattr(apart, "_BUSY", -20.0)
    with pytest.raises(BudgetError, match="it takes too much time or memory"):
        analyst.analyse(ENDLESS, {}, 20)
    monkeypatch.undo()
    assert analyst.analyse(CHATML, {}, 20) == analyze(CHATML)
    assert analyst._process is process
    analyst._stop()


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("read line; echo '[]'; read line", ""),
        ("read line; echo '{}'; read line", ""),
        ("""read line; echo '{"number": 1}'; read line""", ""),
        ("""read line; echo '{"number": 1, "format": 7}'; read line""", ""),
        ("read line; echo nothing; read line", ""),
        ("echo Traceback >&2; echo no such library: $LD_LIBRARY_PATH $SECRET. >&2", "no such library: /opt/lib ."),
    ],
)
def test_a_process_that_fails_is_named_with_its_last_words(
    does: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{does}\n")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    monkeypatch.setenv("SECRET", "secret")
    analyst = Analyst()
    with pytest.raises(BudgetError, match="the process that analyses templates has failed") as caught:
        analyst.analyse(PLAIN, {}, 5)
    assert reason in str(caught.value)
    assert analyst._process is None


def test_the_analysis_lets_all_other_processes_go_before() -> None:
    """Also where the kernel groups processes by session: there the priority of one tells nothing to those of another."""
    analyst = Analyst()
    analyst.analyse(CHATML, {}, 20)
    assert analyst._process is not None
    number = analyst._process.pid
    assert os.getpriority(os.PRIO_PROCESS, number) == 10
    group = Path(f"/proc/{number}/autogroup")
    if group.exists():
        assert group.read_text().split()[-1] == "10"
    analyst._stop()


def test_an_answer_that_comes_twice_is_not_that_of_the_next_template() -> None:
    """A fork may be ended in the moment in which it answers; then there is a second answer to the same task."""
    analyst = Analyst()
    analyst.start()
    process = analyst._process
    assert process is not None
    assert process.stdin is not None
    task = {"number": 0, "source": "{{ raise_exception('no') }}", "special_tokens": {}, "seconds": 20}
    task["wait"] = 30
    process.stdin.write(json.dumps(task).encode() + b"\n")
    assert analyst.analyse(CHATML, {}, 20) == analyze(CHATML)
    assert analyst._process is process
    analyst._stop()


HOSTILE = {
    "endless": ENDLESS,
    "large": "{{ 'x' * 2000000000 }}" + PLAIN,
    "a number": "{{ 9 ** 9 ** 9 }}" + PLAIN,
    "deep": "{{ " + "(" * 50_000 + ")" * 50_000 + " }}",
    "many": "{% set x = 1 %}" * 20_000 + PLAIN,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_stopped(name: str) -> None:
    """It costs its time and no more, and this process is free meanwhile."""
    formats, start, gaps = Formats(), time.monotonic(), [0.0]
    future = formats.submit(HOSTILE[name])
    last = start
    while not future.done():
        time.sleep(0.002)
        now = time.monotonic()
        gaps.append(now - last)
        last = now
    assert isinstance(future.result(), ChatFormat)
    assert time.monotonic() - start < 20
    assert max(gaps) < 1, "this process stood still"


def test_an_analysis_costs_this_process_next_to_nothing() -> None:
    """Measured as time on the processor, which a busy machine does not change: so much of it may stall a stream."""
    formats = Formats()
    formats.submit(PLAIN).result()  # starts the process
    start = time.process_time()
    for number in range(2):
        formats.submit(f"{CHATML}{{# {number} #}}").result()
    assert time.process_time() - start < 2 * 0.02, "it was analysed here"


def test_so_many_templates_wait_and_no_more() -> None:
    def work(source: str, tokens: Any, seconds: float) -> ChatFormat:
        time.sleep(0.2)
        return ChatFormat()

    formats, start = Formats(apart=work), time.monotonic()
    futures: list[Future[ChatFormat]] = [formats.submit(str(number)) for number in range(200)]
    assert time.monotonic() - start < 1
    assert formats.submit("1") is futures[1] or futures[1].done()  # asked twice, analysed once
    wait(futures, timeout=20)
    assert all(future.result() == ChatFormat() for future in futures)
    assert time.monotonic() - start < 6


def test_a_request_that_is_given_up_ends_no_analysis_for_others() -> None:
    """A client that hangs up cancels the task that waits for its template: others wait for the same one, or come later."""
    begun, go = Event(), Event()

    def work(source: str, tokens: Any, seconds: float) -> ChatFormat:
        begun.set()
        assert go.wait(20)
        return ChatFormat()

    formats = Formats(apart=work)

    async def await_format(source: str) -> ChatFormat:
        return await asyncio.wrap_future(formats.submit(source))

    async def run() -> None:
        first, leaver, stayer = (asyncio.create_task(await_format(source)) for source in ("first", "shared", "shared"))
        others = [asyncio.create_task(await_format(str(number))) for number in range(30)]
        await asyncio.to_thread(begun.wait, 20)
        for task in (first, leaver, *others):
            task.cancel()
        assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(first, leaver, *others, return_exceptions=True))
        go.set()
        assert await asyncio.wait_for(stayer, 20) == ChatFormat()
        assert await asyncio.wait_for(await_format("shared"), 20) == ChatFormat()
        assert await asyncio.wait_for(await_format("29"), 20) == ChatFormat()

    asyncio.run(run())
    assert all(formats.find(source) == ChatFormat() for source in ("first", "shared", *map(str, range(30))))
    assert not formats._running
