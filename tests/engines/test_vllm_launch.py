"""What vLLM starts beside `vllm serve` that makes our parsers too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed in this environment: see scripts/setup_vllm.sh")

from cases import TEMPLATES, load_subject
from clients import ask_renderer
from engines import Vllm
from judge import find_fault
from served import Served, both
from tiny_model import make_model
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from engines import Engine


@pytest.fixture(scope="module")
def renderer(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    assert isinstance(engine, Vllm)
    folder, subject = tmp_path_factory.mktemp("renderer"), load_subject(TEMPLATES["reasoning opened by the prompt"])
    model = make_model(subject.source, folder / "model", eos=subject.eos)
    with engine.serve_renderer(model, folder / "log") as server:
        yield Served(engine, subject, server, Tokenizer.from_file(str(model / "tokenizer.json")))


@both
def test_what_was_generated_elsewhere_is_read(renderer: Served, stream: bool) -> None:
    """`vllm launch render`: parsers in threads, and in a stream a new one for each piece, which reads all anew."""
    for case in renderer.subject.cases.values():
        tokens = renderer.tokenizer.encode(case.text + renderer.subject.eos, add_special_tokens=False).ids
        reply = ask_renderer(renderer.server.url, replace(case, burst=16), tokens, stream)
        assert find_fault(case.expected, reply.message) is None, (case.name, reply)
        told = stream or version("vllm") >= "0.33"  # vLLM's own word: before that a whole answer has ended like any other
        assert reply.finish == ("tool_calls" if case.expected["tool_calls"] and told else "stop")


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_call_that_was_cut_elsewhere_is_not_said_to_be_made(renderer: Served, reason: str) -> None:
    case = renderer.subject.get("call")
    tokens = renderer.tokenizer.encode(case.text, add_special_tokens=False).ids[:-12]
    reply = ask_renderer(renderer.server.url, replace(case, burst=16), tokens, True, reason)
    assert len(reply.message["tool_calls"]) == 1, reply
    assert reply.finish == reason
