"""Grammars of calls: what real templates render passes, and what was not asked for does not.

The grammars are enforced here by Python's regular expressions, from the same tree that is printed for engines; what
xgrammar makes of the printed tags is tested in `tests/engines`, and for the whole corpus by `scripts/constrain.py`.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conversations import PLAIN_TEXT, TOOLS
from corpus import load_source
from streams import make_tool
from turns import Turn, build_turns

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.constrain import build_grammar, build_structural_tag, build_text_grammar
from chat_autoparser.constrain.calls import find_closing, write_reasoning
from chat_autoparser.constrain.tree import Chars, Choice, Free, Grammar, Reference, Repeat, Sequence, Text, Tree, Until
from chat_autoparser.constrain.values import expand_grammar
from chat_autoparser.format import ChatFormat

DEMO = Path(__file__).resolve().parent.parent / "scripts" / "demo.jinja"
NAMED = {"type": "function", "function": {"name": "send_postcard"}}
# Not in the order of the schema, or with what it does not declare.
DISOBEDIENT = ("call undeclared", "call null", "call nested", "call booleans")

SHAPES = (
    "Qwen-Qwen3-0.6B",
    "Qwen-Qwen3-Coder-Next",
    "GLM-4.7-Flash",
    "MiniMaxAI-MiniMax-M3-MXFP8",
    "moonshotai-Kimi-K2.5",
    "deepseek-ai-DeepSeek-V4",
    "openai-gpt-oss-safeguard-20b",
    "mistralai-Mistral-7B-Instruct-v0.3",
    "Gryphe-Gemma-4-31B-StyleTune",
    "allenai-Olmo-3-7B-Instruct",
    "danish-foundation-models-croco-munin-apertus-8b-da-simpo-full-50k",
    "tiiuae-Falcon3-7B-Instruct",
)


NO_CALLS = analyze(
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def write_pattern(tree: Tree, grammar: Grammar, depth: int = 0) -> str:
    """The regular expression of a tree; what refers to itself is followed to a depth."""
    if isinstance(tree, Text):
        return re.escape(tree.text)
    if isinstance(tree, Chars):
        inside = "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in tree.ranges)
        signs = f"[{'^' if tree.negated else ''}{inside}]" if inside else r"[\s\S]"
        return f"{signs}{{{tree.least},{'' if tree.most is None else tree.most}}}"
    if isinstance(tree, Until):
        return f"(?:(?!{'|'.join(map(re.escape, tree.ends))})[\\s\\S])*"
    if isinstance(tree, Sequence):
        return "".join(write_pattern(part, grammar, depth) for part in tree.parts)
    if isinstance(tree, Choice):
        return f"(?:{'|'.join(write_pattern(part, grammar, depth) for part in tree.parts)})"
    if isinstance(tree, Repeat):
        most = "" if tree.most is None else tree.most
        return f"(?:{write_pattern(tree.part, grammar, depth)}){{{tree.least},{most}}}"
    if isinstance(tree, Free):
        heads = "|".join(re.escape(trigger) for trigger, _ in tree.rules)
        rules = "|".join(re.escape(trigger) + write_pattern(inner, grammar, depth) for trigger, inner in tree.rules)
        text = f"(?:(?!{heads})[\\s\\S])*"
        return f"{text}(?:(?:{rules}){text})*" if tree.loop else f"{text}(?:{rules})?"
    assert isinstance(tree, Reference)
    return write_pattern(grammar.rules[tree.name], grammar, depth + 1) if depth < 2 else "(?!)"


def accepts(format: ChatFormat, text: str, tools: list[dict[str, Any]], choice: Any = "required", **options: Any) -> bool:
    grammar = expand_grammar(build_grammar(format, tools, choice, **options))
    return re.fullmatch(write_pattern(grammar.root, grammar), text) is not None


@cache
def study(name: str) -> tuple[ChatFormat, tuple[tuple[Turn, str], ...]]:
    source = load_source(name)
    format = analyze(source.text, bos_token="<s>", eos_token="</s>")
    return format, tuple(list_calls(format, build_turns(source.name, source.text, quick=True)))


def list_calls(format: ChatFormat, turns: list[Turn]) -> Iterator[tuple[Turn, str]]:
    """The turns that consist of calls, with what is written behind the end of reasoning."""
    end = find_closing(format)
    for turn in turns:
        if not turn.expected["tool_calls"] or turn.expected["content"] or not turn.tools or turn.unreadable:
            continue
        if end and end in turn.text:
            yield turn, turn.text[turn.text.rindex(end) + len(end) :]
        elif not turn.expected["reasoning_content"]:
            yield turn, turn.text


@pytest.mark.parametrize("name", SHAPES)
def test_what_a_template_renders_passes(name: str) -> None:
    format, turns = study(name)
    turns = tuple((t, text) for t, text in turns if not t.name.startswith(DISOBEDIENT))
    assert len(turns) >= 2
    refused = [(turn.name, text) for turn, text in turns if not accepts(format, text, turn.tools or [])]
    assert not refused


@pytest.mark.parametrize("name", SHAPES)
def test_what_was_not_asked_for_does_not_pass(name: str) -> None:
    format, turns = study(name)
    texts = {turn.name: text for turn, text in turns}
    plain = TOOLS["plain"]
    call = texts["call"]
    assert accepts(format, call, plain)
    assert not accepts(format, PLAIN_TEXT, plain)
    assert not accepts(format, PLAIN_TEXT + call, plain)
    assert not accepts(format, call, plain, NAMED)
    wrong, more = copy.deepcopy(plain), copy.deepcopy(plain)
    wrong[0]["function"]["parameters"]["properties"]["limit"]["type"] = "boolean"
    more[0]["function"]["parameters"]["properties"]["zone"] = {"type": "string"}
    more[0]["function"]["parameters"]["required"] = ["habitat", "zone"]
    assert not accepts(format, call, wrong)
    assert not accepts(format, call, wrong, "auto", strict=True)
    assert accepts(format, call, wrong, strict=False) or not any(node.kind == "arguments" for node in format.graph.turn.nodes)
    assert not accepts(format, call, more)
    assert accepts(format, "Well." + call, plain, "auto", strict=True)
    assert accepts(format, PLAIN_TEXT, plain, "auto", strict=True)
    if "two calls" in texts:
        assert accepts(format, texts["two calls"], plain)
        assert not accepts(format, texts["two calls"], plain, parallel=False)


def test_the_tag_of_a_template() -> None:
    days, unit = {"type": "integer"}, {"enum": ["C", "F"]}
    tools = [declare("get_weather", ("city",), city={"type": "string"}, days=days, unit=unit)]
    tag = build_structural_tag(analyze(DEMO), tools, "required", parallel=False)
    assert tag["type"] == "structural_tag"
    assert json.loads(json.dumps(tag)) == tag
    texts = str(tag)
    assert "get_weather:)\\n(:with city:)" in texts
    assert {"type": "any_text", "excludes": ["(:.:)"]} in tag["format"]["elements"]
    assert {"type": "grammar", "grammar": 'root ::= ("with unit:)" ("C" | "F") "(:.:)\\n(:")?\n'} in tag["format"]["elements"]


@pytest.mark.parametrize(
    ("tools", "choice", "message"),
    [
        ([], "required", "no tools"),
        (TOOLS["plain"], "none", "nothing to constrain"),
        (TOOLS["plain"], {"type": "function", "name": "fly"}, "'fly'"),
        ([{"type": "function", "function": {"name": "two words"}}], "required", "two words"),
        (TOOLS["plain"], "required", "the template prints none"),
    ],
)
def test_what_cannot_be_constrained_is_said(tools: list[dict[str, Any]], choice: Any, message: str) -> None:
    with pytest.raises(ca.ConstraintError, match=re.escape(message)):
        build_structural_tag(NO_CALLS, tools, choice)


def test_allowed_tools_and_names_of_both_apis_are_understood() -> None:
    format, turns = study("Qwen-Qwen3-0.6B")
    call = next(text for turn, text in turns if turn.name == "call")
    plain = TOOLS["plain"]
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "send_postcard"}]}
    assert not accepts(format, call, plain, allowed)
    assert accepts(format, call, plain, {"type": "function", "name": "find_okapi"})
    assert accepts(format, call, plain, {**allowed, "tools": [{"type": "function", "name": "find_okapi"}]})


def test_reasoning_may_be_part_of_it() -> None:
    format, turns = study("Qwen-Qwen3-0.6B")
    call = next(text for turn, text in turns if turn.name == "call").lstrip()
    plain = TOOLS["plain"]
    assert accepts(format, f"Hm.\n</think>\n\n{call}", plain, reasoning="open")
    assert not accepts(format, call, plain, reasoning="open")
    assert accepts(format, f"<think>\nHm.\n</think>\n\n{call}", plain, reasoning="possible")
    assert accepts(format, call, plain, reasoning="possible")


@pytest.mark.parametrize(
    ("name", "thought", "call"),
    [
        ("cresset", ".think\nHm.", '\n.code\n    mov   city, "Oslo"\n    call  look\n.halt'),
        ("whisk", "thought\n\nHm.", '\n--whisk\nFrom: assistant\nPart: call; tool=look; id=a\nArg-city: "Oslo"\n\n--whisk--'),
        ("flitch", "-Hm.", "\n+++ look\n+city = 'Oslo'\n@@ eof @@"),
    ],
)
def test_reasoning_without_an_end_ends_where_a_call_begins(name: str, thought: str, call: str) -> None:
    format = analyze(Path(__file__).with_name("unseen").joinpath(f"{name}.jinja").read_text(), bos_token="<s>", eos_token="</s>")
    plain = [make_tool("look", city="string")]
    assert accepts(format, thought + call, plain, reasoning="possible")
    assert accepts(format, "Hm." + call, plain, reasoning="open")
    assert not accepts(format, "Hm." + call.lstrip(), plain, reasoning="open"), "it is reasoning still"
    assert not accepts(format, thought, plain, reasoning="possible")
    assert accepts(format, thought + call, plain, "auto", reasoning="possible")
    content = next(edge.text for edge in format.graph.turn.edges if (edge.source, edge.target) == ("reasoning", "content"))
    grammar = Grammar(write_reasoning(format, "open"), {})
    assert re.fullmatch(write_pattern(grammar.root, grammar), f"Hm.{content}"), "before what is no call, content begins"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"choice": "any"}, "choice: 'any' is none of auto, required, none and an object"),
        ({"choice": None}, "choice: None is none of"),
        ({"reasoning": "no"}, "reasoning: 'no' is none of ended, open, possible"),
    ],
)
def test_a_wrong_choice_is_said_to_be_one(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build_structural_tag(NO_CALLS, TOOLS["plain"], **options)


def test_optional_reasoning_begins_as_the_template_writes_it() -> None:
    """With the line break before it, and without, as it is behind a prompt that has written that."""
    format, turns = study("GLM-4.6")
    turn = next(turn for turn, _ in turns if turn.expected["reasoning_content"] and not turn.prompt.endswith("think>"))
    assert turn.text.startswith("\n<think>")
    for text, right in ((turn.text, True), (turn.text[1:], True), ("\n" + turn.text, False)):
        assert accepts(format, text, turn.tools or [], reasoning="possible") == right


def test_a_text_grammar_says_when_to_begin() -> None:
    format, _ = study("Qwen-Qwen3-0.6B")
    forced, free = (build_text_grammar(format, TOOLS["plain"], choice) for choice in ("required", "auto"))
    assert (forced.lazy, forced.triggers) == (False, ())
    assert (free.lazy, free.triggers) == (True, ("<tool_call>",))
    assert {"<tool_call>", "</tool_call>", "<think>", "</think>"} <= set(free.preserved)
    assert free.stops == ("<|im_end|>",)
    assert free.grammar.startswith("root ::= ")


@pytest.mark.parametrize("name", ["Qwen-Qwen3-0.6B", "GLM-4.7-Flash", "MiniMaxAI-MiniMax-M3-MXFP8", "Gryphe-Gemma-4-31B-StyleTune"])
def test_a_text_grammar_is_read_by_others(name: str) -> None:
    gbnf = pytest.importorskip("gbnf", reason="for Python 3.11 and newer only")
    format, turns = study(name)
    grammar = build_text_grammar(format, TOOLS["plain"]).grammar
    call = next(text for turn, text in turns if turn.name == "call")
    assert any(isinstance(rule, gbnf.RuleEnd) for rule in gbnf.GBNF(grammar, call))
    with pytest.raises(gbnf.InputParseError):
        gbnf.GBNF(grammar, PLAIN_TEXT)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ({"type": "integer", "minimum": 1}, "0"),
        ({"type": "array", "items": {"type": "integer", "minimum": 1}}, "[0]"),
        ({"type": "object", "properties": {"n": {"type": "number", "maximum": 3}}}, '{"n": 4.5}'),
    ],
)
def test_a_text_grammar_has_no_bounds_of_numbers(kind: dict[str, Any], value: str) -> None:
    gbnf = pytest.importorskip("gbnf", reason="for Python 3.11 and newer only")
    for name, before, behind in (
        ("Qwen-Qwen3-0.6B", '<tool_call>\n{"name": "go", "arguments": {"m": ', "}}\n</tool_call>"),
        ("GLM-4.7-Flash", "<tool_call>go<arg_key>m</arg_key><arg_value>", "</arg_value></tool_call>"),
    ):
        grammar = build_text_grammar(study(name)[0], [declare("go", m=kind)]).grammar
        assert any(isinstance(rule, gbnf.RuleEnd) for rule in gbnf.GBNF(grammar, before + value + behind))


def declare(name: str, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def write_template(calls: str) -> str:
    """A template that prints calls in a given way."""
    return (
        "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
        f"{{% for c in m.tool_calls or [] %}}{calls}{{% endfor %}}</s>\n"
        "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )


@pytest.mark.parametrize("name", ["Qwen-Qwen3-Coder-Next", "Gryphe-Gemma-4-31B-StyleTune"])
def test_many_optional_parameters_cost_no_more_than_their_number(name: str) -> None:
    format, _ = study(name)
    sizes = []
    for count in (20, 80):
        properties: Any = {f"p{n}": {"type": ("string", "integer", "boolean")[n % 3]} for n in range(count)}
        sizes.append(len(json.dumps(build_structural_tag(format, [declare("run", (), **properties)]))))
    assert sizes[1] < 5 * sizes[0]


def test_numbers_outside_of_json_have_bounds() -> None:
    tool = declare("run", ("days",), days={"type": "integer", "minimum": 1, "maximum": 9})
    parts = build_structural_tag(analyze(DEMO), [tool], parallel=False)["format"]["elements"]
    bounds = [part["json_schema"] for part in parts if part["type"] == "json_schema"]
    assert bounds == [{"type": "integer", "minimum": 1, "maximum": 9}]


def test_json_in_a_text_obeys_a_schema_that_says_its_type_elsewhere() -> None:
    format = analyze(write_template("<do>{{ c.function.name }} {{ c.function.arguments | tojson | tojson }}</do>"))
    parameters = {"$ref": "#/$defs/place", "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}}}}
    tools = [{"type": "function", "function": {"name": "look", "parameters": parameters}}]
    assert accepts(format, r'<do>look "{\"city\": \"Oslo\"}"</do></s>', tools)
    assert not accepts(format, r'<do>look "{\"city\": 1}"</do></s>', tools)


@pytest.mark.parametrize(("kind", "right", "wrong"), [({"type": "integer", "nullable": True}, "null", '"x"'), ({"type": "date"}, "1", "x")])
def test_a_value_has_the_types_by_which_it_is_read(kind: dict[str, Any], right: str, wrong: str) -> None:
    format = analyze(write_template("<do>{{ c.function.name }} {{ c.function.arguments | tojson }}</do>"))
    for value, obeys in ((right, True), (wrong, False)):
        assert accepts(format, f'<do>look {{"when": {value}}}</do></s>', [declare("look", when=kind)]) == obeys


def test_arguments_may_stand_before_the_name() -> None:
    entries = "{% for k, v in c.function.arguments.items() %}[{{ k }}: {{ v }}]{% endfor %}"
    format = analyze(write_template(f"<do>{entries}<run {{{{ c.function.name }}}}></do>"))
    tools = [declare("look", ("city",), city={"type": "string"}), declare("stop")]
    assert accepts(format, "<do>[city: Oslo]<run look></do></s>", tools)
    assert accepts(format, "<do><run stop></do></s>", tools)
    assert not accepts(format, "<do><run look></do></s>", tools)
    assert not accepts(format, "<do>[city: Oslo]<run stop></do></s>", tools)


def test_a_turn_that_begins_with_an_id_is_a_call() -> None:
    call = '{"id": "{{ c.id }}", "name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
    format = analyze(write_template(call))
    tools = [declare("look", ("city",), city={"type": "string"})]
    written = '{"id": "a1B2c3D4e", "name": "look", "arguments": {"city": "Oslo"}}</s>'
    for choice in ("required", "auto"):
        assert accepts(format, written, tools, choice, strict=True)
        assert not accepts(format, written.replace("look", "fly"), tools, choice, strict=True)
    assert accepts(format, "It is cold in Oslo.", tools, "auto")
    assert accepts(format, '{"if": 1}', tools, "auto")
