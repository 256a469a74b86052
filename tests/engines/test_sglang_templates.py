"""Templates that requests bring, templates that nobody understands, and what an operator of SGLang sees of both."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sglang", reason="this is not SGLang's environment: see scripts/setup_sglang.sh")

from cases import TEMPLATES, Case, load_subject
from served import Served, both, serve_subject
from serving import ServerError
from tiny_model import make_model

if TYPE_CHECKING:
    from engines import Engine

OWN = "JSON in tags"
OTHER = "typed tags"
HOSTILE = 24


@pytest.fixture(scope="module")
def served(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that trusts the templates of requests, and shows metrics."""
    options = ["--trust-request-chat-template", "--enable-metrics"]
    with serve_subject(engine, OWN, "special", tmp_path_factory.mktemp("server"), options=options) as served:
        yield served


def find_own(served: Served) -> Case:
    return served.subject.get("reasoning, content, call")


def bring(template: str, case: Case) -> Case:
    """The case of a request that brings its template."""
    return replace(case, kwargs={**case.kwargs, "chat_template": template})


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
@both
def test_a_template_of_a_request_is_what_its_output_is_read_by(served: Served, endpoint: str, stream: bool) -> None:
    """From its first request on: so each of these tests brings one that nobody has seen."""
    other = load_subject(TEMPLATES[OTHER])
    case = other.get("reasoning, content, call", "content, call", "call")
    template = f"{other.source}{{# for {endpoint}, {stream} #}}"
    for _ in range(2):
        assert served.find_fault(bring(template, case), endpoint, stream=stream) is None
    assert served.find_fault(find_own(served), endpoint, stream=stream) is None


def make_hostile(number: int) -> str:
    """A template that costs little to render once, and minutes to question."""
    loop = "{% for i in range(30000) %}{% set x = i * i %}{% endfor %}"
    return f"{{# {number} #}}{loop}{{% for m in messages %}}{{{{ m.role }}}}: {{{{ m.content }}}}\n{{% endfor %}}assistant:"


def test_hostile_templates_delay_nobody_and_evict_nothing(served: Served) -> None:
    case = replace(find_own(served), tools=None, text="Hello.")
    gaps: list[float] = []

    def attack(number: int) -> Any:
        return served.ask(bring(make_hostile(number), case)).message["content"]

    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(attack, number) for number in range(HOSTILE)]
        while not all(answer.done() for answer in answers):
            start = time.monotonic()
            with urllib.request.urlopen(f"{served.server.url}/v1/models", timeout=60):
                gaps.append(time.monotonic() - start)
            time.sleep(0.02)
    print(f"the longest of {len(gaps)} other requests took {max(gaps) * 1000:.0f} ms")
    assert {answer.result() for answer in answers} == {"Hello."}
    assert max(gaps) < 1.0
    assert [served.find_fault(find_own(served), stream=stream) for stream in (False, True)] == [None, None]
    lines = served.server.log.read_text("utf-8", "replace").splitlines()
    assert len([line for line in lines if "from the chat template of" in line]) == 1  # it was never analysed again


@both
def test_metrics(served: Served, stream: bool) -> None:
    case = find_own(served)
    before = served.read_metrics()
    assert served.find_fault(case, stream=stream) is None
    served.ask(replace(case, max_tokens=served.count_tokens(case.text) - 8), stream=stream)
    after = served.read_metrics()
    changed = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert changed == {"outputs": 2, "calls": 2, "cut_calls": 1}


def test_a_template_that_is_not_trusted_is_not_analysed(engine: Engine, tmp_path: Path) -> None:
    with serve_subject(engine, OWN, "special", tmp_path) as served:
        body = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}
        with pytest.raises(urllib.error.HTTPError, match="400"):
            served.post("/v1/chat/completions", {**body, "chat_template_kwargs": {"chat_template": "{{ messages }}"}})
        assert "a request's chat template" not in served.server.log.read_text("utf-8", "replace")


BROKEN: list[Any] = [
    pytest.param("{{ raise_exception('out of order') }}", id="raises"),
    pytest.param("{% for m in messages %}{{ m.content }", id="is no Jinja"),
]


@pytest.mark.parametrize("template", BROKEN)
def test_a_template_that_nobody_understands_stops_the_start(engine: Engine, template: str, tmp_path: Path) -> None:
    """Before there are weights, and in one line."""
    model = make_model(template, tmp_path / "model")
    with pytest.raises(ServerError), engine.serve_real(model, tmp_path / "log"):
        pass
    log = (tmp_path / "log").read_text("utf-8", "replace")
    said = [line for line in log.splitlines() if "cannot be used" in line]
    assert len(said) == 1
    assert f"the chat template of {model}" in said[0]
    assert "CHAT_AUTOPARSER_SGLANG_AUTO" in said[0]
    assert "Traceback" not in log
    assert "Load weight" not in log
