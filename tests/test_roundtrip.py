"""Round trips: handmade templates whose faults are known, and the verdicts that others measured on real ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from corpus import load_source
from streams import read

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.converse.roundtrip import RoundTrip, check_output, check_roundtrips
from chat_autoparser.format import ChatFormat
from chat_autoparser.show import command
from chat_autoparser.show.options import OK
from chat_autoparser.show.turns import lay_out_roundtrips

TEMPLATE = """\
{%- for m in messages %}{{ '<' + m.role + '>' }}
{%- if m.reasoning_content and (KEEP) %}{{ '((' + m.reasoning_content + '))' }}{% endif %}{{ CONTENT }}
{%- for c in m.tool_calls or [] %}{{ '[do ' + c.function.name + ' ' }}{{ ARGUMENTS }}{{ ']' }}{% endfor %}{{ '</s>' }}
{%- endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""

AS_STRING = "c.function.arguments if c.function.arguments is string else c.function.arguments | tojson"


def write_source(keep: str = "true", content: str = "(m.content or '')", arguments: str = AS_STRING) -> str:
    return TEMPLATE.replace("KEEP", keep).replace("CONTENT", content).replace("ARGUMENTS", arguments)


def respell(
    format: ChatFormat, separators: tuple[str, str] | None
) -> Callable[[str, list[dict[str, Any]] | None, str], dict[str, Any]]:
    """A parse that writes the arguments of calls anew."""

    def parse(text: str, tools: list[dict[str, Any]] | None, prompt: str) -> dict[str, Any]:
        message = format.parse(text, tools=tools, prompt=prompt)
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.dumps(json.loads(call["function"]["arguments"]), separators=separators)
        return message

    return parse


def check(
    keep: str = "true", content: str = "(m.content or '')", arguments: str = AS_STRING, **options: Any
) -> dict[tuple[str, str, str], RoundTrip]:
    renderer = ca.load_renderer(write_source(keep, content, arguments))
    results = check_roundtrips(renderer, analyze(renderer), switches=[()], **options)
    return {(result.turn, result.after, result.arguments): result for result in results}


def test_a_template_that_prints_all_as_it_was_keeps_all_turns() -> None:
    results = check()
    assert {name[0] for name in results} >= {"content", "reasoning, content", "call", "two calls", "truncated reasoning"}
    broken = {(turn, form): result.fault for (turn, _, form), result in results.items() if not result.kept}
    # An object does not remember spaces, as its text does; and between reasoning and a call, they are no content.
    assert broken == {
        ("call, other spaces in JSON", "object"): "template",
        ("reasoning, line break, call", "object"): "white space",
        ("reasoning, line break, call", "string"): "white space",
    }


def test_dropped_reasoning_is_the_templates_fault_and_a_switch_repairs_it() -> None:
    result = check(keep="loop.last or keep_all")["reasoning, content", "user", ""]
    assert (result.kept, result.fault, result.repair) == (False, "template", (("keep_all", True),))
    assert result.earlier.startswith("((")
    assert result.later.startswith("Let me look that up.")


def test_trimmed_content_is_the_templates_fault() -> None:
    results = check(content="(m.content or '') | trim")
    assert results["reasoning, content", "user", ""].kept
    result = results["reasoning, line break, content", "user", ""]
    assert (result.kept, result.fault, result.repair) == (False, "template", ())
    assert result.earlier.startswith("\nLet")


def test_arguments_that_are_encoded_twice_are_kept_as_object_only() -> None:
    results = check(arguments="c.function.arguments | tojson")
    assert results["call", "tool", "object"].kept
    assert results["call", "tool", "string"].fault == "template"


def test_a_parse_that_changes_what_was_written_is_at_fault() -> None:
    renderer = ca.load_renderer(write_source())
    format = analyze(renderer)
    faults = {
        (result.turn, result.arguments): result.fault
        for result in check_roundtrips(renderer, format, parse=respell(format, (",", ":")))
    }
    assert faults["call", "string"] == "parse"
    assert faults["call", "object"] == ""
    assert faults["content", ""] == ""


def test_arguments_handed_back_as_they_were_written_are_a_perfect_parse() -> None:
    renderer = ca.load_renderer(write_source())
    format = analyze(renderer)
    results = check_roundtrips(renderer, format, parse=respell(format, None))
    faults = {result.turn: result.fault for result in results if result.arguments == "string"}
    assert faults["call, other spaces in JSON"] == "parse"
    assert faults["call"] == ""


MARKLESS = """\
{%- for m in messages %}{{ '<' + m.role + '>' }}{{ m.reasoning_content + '\\n' if m.reasoning_content }}{{ m.content }}{{ '</s>' }}
{%- endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""


def test_reasoning_that_no_mark_ends_is_tried_without_a_line_more_behind_it() -> None:
    renderer = ca.load_renderer(MARKLESS)
    results = check_roundtrips(renderer, analyze(renderer))
    assert {result.turn for result in results} >= {"content", "reasoning, content"}


CALLS = """\
{%- for m in messages %}{{ '<' + m.role + '>' }}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}{{ LEAD }}{{ '[do ' + c.function.name + ' ' }}{{ ARGUMENTS }}{{ ']' }}{% endfor %}
{{- '</s>' if m.role != 'assistant' or not m.tool_calls }}
{%- endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""


@pytest.mark.parametrize(
    "lead", ["'\\n\\n' if loop.first and m.content else '\\n'", "'\\n</s>' if loop.first and m.content else ''"]
)
def test_white_space_before_the_first_call_alone_is_no_content(lead: str) -> None:
    renderer = ca.load_renderer(CALLS.replace("LEAD", lead).replace("ARGUMENTS", AS_STRING))
    results = check_roundtrips(renderer, analyze(renderer))
    kept = {(result.turn, result.after) for result in results if result.kept}
    assert kept >= {(turn, after) for turn in ("call", "content, call", "two calls") for after in ("tool", "later")}


BLOCK = """\
{%- for m in messages %}{{ '<' + m.role + '>' }}
{%- if m.role == 'assistant' and (ALWAYS or m.reasoning_content) %}{{ '(\\n' + (m.reasoning_content or '').strip('\\n') + '\\n)\\n' }}
{%- endif %}{{ m.content }}{{ '</s>' }}{% endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""


@pytest.mark.parametrize(("always", "reasoning"), [("loop.last", "\n\n"), ("true", None), ("false", "\n\n")])
def test_an_empty_block_is_reasoning_where_only_that_brings_it_back(always: str, reasoning: str | None) -> None:
    renderer = ca.load_renderer(BLOCK.replace("ALWAYS", always))
    format = analyze(renderer)
    text = "(\n\n)\nHello."
    assert format.parse(text).get("reasoning_content") == reasoning
    (result,) = check_output(renderer, format, text)
    assert result.kept
    assert read(format, list(text)).reasoning == reasoning


def test_a_value_that_the_prompt_prints_as_it_is_is_no_switch() -> None:
    source = write_source()
    source = "{%- set begin = begin or '<<' %}" + source.replace("{{ '<assistant>' }}", "{{ begin }}{{ 'assistant>' }}")
    format = analyze(source)
    assert {start.switches for start in format.graph.starts} == {()}


def test_tokens_are_compared_where_text_is_kept() -> None:
    def encode_by_four(text: str) -> Sequence[int]:
        return [hash(text[place : place + 4]) for place in range(0, len(text), 4)]

    assert all(result.tokens for result in check(encode=lambda text: list(text.encode())).values() if result.kept)
    assert not all(result.tokens for result in check(encode=encode_by_four).values() if result.kept)
    assert {result.tokens for result in check().values()} == {None}


def test_the_output_of_a_model() -> None:
    renderer = ca.load_renderer(write_source(content="(m.content or '') | trim"))
    format = analyze(renderer)
    (kept,) = check_output(renderer, format, "((Why?))Hello.</s>")
    assert (kept.kept, kept.text) == (True, "((Why?))Hello.")
    (broken,) = check_output(renderer, format, "((Why?))\nHello.")
    assert (broken.fault, broken.earlier) == ("template", "\nHello.")


DEEP = '{"a": ' * 3000


@pytest.mark.parametrize(
    "text", ['[do f {"a": ', '[do f {"a": 1,, }]', f"[do f {DEEP}1{'}' * 3000}]"], ids=["cut", "wrong", "deep"]
)
def test_an_output_whose_arguments_cannot_be_read(text: str) -> None:
    """They come back as the text that they are, where the template prints a text as it is; there is no object to print."""
    renderer = ca.load_renderer(write_source())
    results = check_output(renderer, analyze(renderer), text)
    kept = [(result.arguments, result.after, result.kept) for result in results]
    assert sorted(kept) == [("object", after, False) for after in ("later", "tool")] + [
        ("string", after, True) for after in ("later", "tool")
    ]


def test_results_in_words() -> None:
    text = "\n".join(map(str, lay_out_roundtrips(tuple(check(keep="loop.last or keep_all").values()))))
    assert "broken by the template; keep_all=True repairs it" in text
    assert "      written    ((I·need·the·forecast" in text


# What a comparison of five models found: (template, turn, what follows, form of the arguments, kept, what repairs it).
KNOWN = [
    ("Qwen-Qwen3.6-35B-A3B", "reasoning, call", "tool", "object", True, ()),
    ("Qwen-Qwen3.6-35B-A3B", "two calls", "tool", "object", True, ()),
    ("Qwen-Qwen3.6-35B-A3B", "reasoning, content", "user", "", False, (("preserve_thinking", True),)),
    ("Qwen-Qwen3.6-35B-A3B", "call", "tool", "string", False, ()),
    ("Qwen-Qwen3.6-35B-A3B", "reasoning, line break, content", "user", "", False, ()),
    ("zai-org-GLM-5.1", "call", "tool", "string", False, ()),
    ("zai-org-GLM-5.1", "reasoning, line break, call", "tool", "object", False, ()),
    ("zai-org-GLM-5.1", "reasoning, line break, content", "user", "", False, ()),
    ("zai-org-GLM-5.1", "reasoning, content", "user", "", False, (("clear_thinking", False),)),
    ("moonshotai-Kimi-K2.6", "reasoning, call", "tool", "string", True, ()),
    ("moonshotai-Kimi-K2.6", "reasoning, call", "tool", "object", True, ()),
    ("moonshotai-Kimi-K2.6", "reasoning, line break, content", "user", "", False, (("preserve_thinking", True),)),
    ("deepseek-ai-DeepSeek-V4", "call", "tool", "string", False, ()),
    ("deepseek-ai-DeepSeek-V4", "reasoning, line break, content", "user", "", True, ()),
    ("deepseek-ai-DeepSeek-V4", "reasoning, call", "tool", "object", True, ()),
    ("deepseek-ai-DeepSeek-V4", "reasoning, content; tools given", "user", "", True, ()),
    ("openai-gpt-oss-120b", "call", "tool", "string", False, ()),
    ("openai-gpt-oss-120b", "call", "tool", "object", True, ()),
    ("openai-gpt-oss-120b", "reasoning, call", "tool", "object", True, ()),
    ("openai-gpt-oss-120b", "reasoning, content", "user", "", False, ()),
]


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[str, ...], RoundTrip]:
    found: dict[tuple[str, ...], RoundTrip] = {}
    for name in dict.fromkeys(known[0] for known in KNOWN):
        source = load_source(name)
        renderer = ca.load_renderer(source.text, bos_token="<s>", eos_token="</s>")
        for result in check_roundtrips(renderer, analyze(renderer), switches=[()]):
            found[name, result.turn, result.after, result.arguments] = result
            assert result.fault != "parse"
    return found


@pytest.mark.parametrize(("name", "turn", "after", "form", "kept", "repair"), KNOWN)
def test_known_verdicts(
    verdicts: dict[tuple[str, ...], RoundTrip],
    name: str,
    turn: str,
    after: str,
    form: str,
    kept: bool,
    repair: tuple[Any, ...],
) -> None:
    result = verdicts[name, turn, after, form]
    assert (result.kept, result.repair) == (kept, repair)
    assert (result.fault == "template") is not kept


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_the_command(extra: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo = str(ROOT / "scripts" / "demo.jinja")
    assert command.main(["roundtrip", demo, *extra]) == OK
    printed = capsys.readouterr().out
    assert "reasoning, call" in printed
    assert all({"turn", "kept", "fault"} <= set(trip) for trip in json.loads(printed)) if extra else printed.startswith("Round trips: ")
    output = tmp_path / "output.txt"
    output.write_text("Why?(:decided:)\nHello.[over]", "utf-8")
    assert command.main(["roundtrip", demo, "--output", str(output), *extra]) == OK
    printed = capsys.readouterr().out
    assert json.loads(printed)[0]["text"].endswith("Hello.") if extra else "the given output" in printed
