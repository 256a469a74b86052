"""Response templates: what transformers reads with the ones we write, and where a given one disagrees with a chat template."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from corpus import load_source
from turns import build_turns

from chat_autoparser.analysis import analyze
from chat_autoparser.export.response import ResponseTemplate, compare_response_template
from chat_autoparser.format import ChatFormat
from chat_autoparser.show.command import main

responses = pytest.importorskip("responses", reason="for transformers 5.13 and newer")

# Of each its calls have another form: JSON in tags, a list, name and JSON, arguments in tags, headers, odd quotes.
EXPRESSIBLE = (
    "Qwen-Qwen3-0.6B",
    "Qwen-Qwen3-Coder-Next",
    "mistralai-Mistral-7B-Instruct-v0.3",
    "moonshotai-Kimi-K2.5",
    "deepseek-ai-DeepSeek-V3.1",
    "openai-gpt-oss-safeguard-20b",
    "Gryphe-Gemma-4-31B-StyleTune",
)
INEXPRESSIBLE = {
    "allenai-Olmo-3-7B-Instruct": "neither JSON nor tags",
    "danish-foundation-models-croco-munin-apertus-8b-da-simpo-full-50k": "is a key of the call's object",
    "MiniMaxAI-MiniMax-M3-MXFP8": "tags of their own",
}


def load(name: str) -> tuple[str, ChatFormat]:
    source = load_source(name)
    return source.text, analyze(source.text, bos_token="<s>", eos_token="</s>")


@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_transformers_reads_what_the_template_renders(name: str) -> None:
    text, format = load(name)
    written = ResponseTemplate.of(format)
    assert written.template is not None
    assert not [loss for loss in written.lost if loss.startswith("tool_calls")]
    turns = [turn for turn in build_turns(name, text, quick=True) if not turn.unreadable]
    assert len(turns) >= 4
    assert not [(turn.name, fault) for turn in turns if (fault := responses.read_fault(turn, written.template))]
    assert not compare_response_template(format, written.template)


@pytest.mark.parametrize("name", INEXPRESSIBLE)
def test_what_a_response_template_cannot_say_is_named(name: str) -> None:
    written = ResponseTemplate.of(load(name)[1])
    assert written.template is not None
    assert "tool_calls" not in written.template["fields"]
    assert INEXPRESSIBLE[name] in " ".join(written.lost)


def test_a_disagreement_is_found_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, format = load("Qwen-Qwen3-0.6B")
    template = copy.deepcopy(ResponseTemplate.of(format).template)
    assert template is not None
    template["fields"]["thinking"]["close"] = "</thought>"
    template["fields"]["tool_calls"]["open_pattern"] = "<call>"
    faults = compare_response_template(format, template)
    assert [fault.partition(":")[0] for fault in faults] == ["thinking", "tool_calls"]
    config = {"chat_template": text, "eos_token": "</s>", "response_template": template}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert main(["inspect", str(tmp_path)]) == 0
    assert "disagrees" in capsys.readouterr().out
    assert compare_response_template(format, {"fields": {}}) != ()
    assert compare_response_template(format, None) != ()
