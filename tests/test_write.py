"""Turns that are written by walking a graph: what a template renders of the same fields is what must come out."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from corpus import load_source
from turns import Turn, build_turns

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.constrain import write_turn
from chat_autoparser.converse.author import CONTENT, REASONING
from chat_autoparser.format import ChatFormat
from chat_autoparser.parse.stream import find_start
from chat_autoparser.show.turns import KnownTurn, cut_pieces, list_turns, pick_example

TAGGED = """\
{%- for m in messages %}{{ '<' + m.role + '>' }}
{%- if m.reasoning_content %}{{ '((' + m.reasoning_content + '))\\n' }}{% endif %}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}{{ '\\n<do ' + c.function.name + '>' }}
{%- for k, v in c.function.arguments.items() %}{{ '<arg ' + k + '>' }}
{{- (v if v is string else v | tojson) + '</arg>' }}{% endfor %}
{{- '</do ' + c.function.name + '>' }}{% endfor %}{{ '</s>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""

TAGGED_TURN = (
    f"(({REASONING}))\n{CONTENT}\n<do get_weather><arg city>Oslo</arg><arg days>3</arg></do get_weather>"
    "\n<do find_train><arg station>Bergen</arg></do find_train></s>"
)

REPR = """\
{%- for m in messages %}{{ '<' + m.role + '>' + (m.content or '') }}
{%- for c in m.tool_calls or [] %}{{ '<do>' + c.function.name + ' ' + (c.function.arguments | string) + '</do>' }}{% endfor %}
{{- '</s>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""

# Of all shapes: JSON in and out of sections, tags, records, call syntax, keys of a call by name, messages of their own.
SHAPES = (
    "Qwen-Qwen3-0.6B",
    "Qwen-Qwen3-Coder-Next",
    "GLM-4.7-Flash",
    "MiniMaxAI-MiniMax-M3-MXFP8",
    "deepseek-ai-DeepSeek-V4",
    "openai-gpt-oss-safeguard-20b",
    "mistralai-Mistral-7B-Instruct-v0.3",
    "Gryphe-Gemma-4-31B-StyleTune",
    "danish-foundation-models-croco-munin-apertus-8b-da-simpo-full-50k",
    pytest.param("tiiuae-Falcon3-7B-Instruct", marks=pytest.mark.xfail(strict=True, reason="how JSON is indented is not derived")),
)


@cache
def make(source: str) -> ChatFormat:
    return analyze(source, bos_token="<s>", eos_token="</s>")


def write_example(source: str) -> KnownTurn:
    """The turn with as much in it as the format has."""
    turn = pick_example(list_turns(None, make(source)))
    assert turn is not None
    return turn


def make_message(turn: Turn) -> dict[str, Any]:
    """The message of a turn, as a client would send it back."""
    expected = turn.expected
    calls = [{"id": call["id"], "function": {**call}} for call in expected["tool_calls"] or []]
    return {"reasoning_content": expected["reasoning_content"], "content": expected["content"], "tool_calls": calls}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"id": "a1B2c3D4e", "function": {"name": name, "arguments": arguments}}]}


@pytest.mark.parametrize("name", SHAPES)
def test_what_a_template_renders_is_written(name: str) -> None:
    source = load_source(name)
    graph = make(source.text).graph
    turns = [turn for turn in build_turns(source.name, source.text, quick=True) if not turn.unreadable and not turn.ended]
    assert len(turns) >= 3
    for turn in turns:
        number, begun = find_start(graph, turn.prompt)
        written = write_turn(graph, make_message(turn), graph.starts[number])
        assert written.startswith(begun + turn.text), turn.name
        rest = written.removeprefix(begun + turn.text)
        assert not rest.strip() or any(stop in rest for stop in graph.stops), turn.name


def test_the_example_is_what_the_template_renders() -> None:
    example = write_example(TAGGED)
    assert example.text + example.stop == TAGGED_TURN
    assert example.prompt == "<assistant>"


def test_the_example_is_cut_into_its_parts() -> None:
    pieces = list(cut_pieces(write_example(TAGGED)))
    fields = [(piece.kind, piece.text) for piece in pieces if piece.kind != "structure"]
    first = [("name", "get_weather"), ("key", "city"), ("value", "Oslo"), ("key", "days"), ("value", "3")]
    other = [("name", "find_train"), ("key", "station"), ("value", "Bergen"), ("name", "find_train")]
    assert fields == [("reasoning", REASONING), ("content", CONTENT), *first, ("name", "get_weather"), *other]
    assert [piece.text for piece in pieces if piece.kind == "structure"][:3] == ["((", "))\n", "\n<do "]


def test_the_example_starts_behind_what_the_prompt_opens() -> None:
    source = TAGGED.replace("{{ '<assistant>' }}{% endif %}", "{{ '<assistant>((' }}{% endif %}")
    example = write_example(source)
    assert example.prompt + example.text + example.stop == "<assistant>" + TAGGED_TURN


def test_the_example_has_one_call_where_the_template_takes_no_more() -> None:
    only_one = "{%- if (m.tool_calls or []) | length > 1 %}{{ raise_exception('one call') }}{% endif %}"
    example = write_example(TAGGED.replace("{%- for c in", only_one + "{%- for c in"))
    assert [call.name for call in example.question.calls] == ["get_weather"]


def test_an_example_without_calls() -> None:
    source = TAGGED[: TAGGED.index("{%- for c in")] + "{{- '</s>\\n' }}{% endfor %}" + TAGGED[TAGGED.rindex("\n{%- if") :]
    assert write_example(source).text == f"(({REASONING}))\n{CONTENT}"


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "it's", "other": 'say "no"', "both": "'\""},
        {"lines": "a\nb\tc", "slash": "C:\\new", "empty": ""},
        {"flag": True, "none": None, "number": 2.5, "whole": -3},
        {"list": ["a", 1, False, ["it's"]], "nothing": [], "object": {"k": {"deep": "v"}, "l": []}},
    ],
)
def test_values_of_python_are_written_as_python_does(arguments: dict[str, Any]) -> None:
    written = write_turn(make(REPR).graph, call("lift", **arguments))
    assert written == f"<do>lift {arguments!r}</do></s>"


def test_arguments_that_are_text_stand_as_they_are() -> None:
    source = REPR.replace("(c.function.arguments | string)", "(c.function.arguments | tojson)")
    message = {"tool_calls": [{"function": {"name": "lift", "arguments": '{"a":1,  "b":[]}'}}]}
    assert write_turn(make(source).graph, message) == '<do>lift {"a":1,  "b":[]}</do></s>'


def test_keys_are_sorted_where_the_template_sorts_them() -> None:
    graph = make(TAGGED.replace("arguments.items()", "arguments | dictsort")).graph
    assert write_turn(graph, call("lift", b="2", a="1")) == "\n<do lift><arg a>1</arg><arg b>2</arg></do lift></s>"
    kept = make(TAGGED).graph
    assert write_turn(kept, call("lift", b="2", a="1")) == "\n<do lift><arg b>2</arg><arg a>1</arg></do lift></s>"


def test_what_no_turn_has_is_said() -> None:
    plain = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    with pytest.raises(ca.ConstraintError, match="no turn with just these fields"):
        write_turn(make(plain).graph, call("lift"))


def test_a_long_list_of_arguments_is_written_at_once() -> None:
    """The walk takes time in proportion to what it writes, and does not recurse."""
    arguments = {f"key{number}": str(number) for number in range(3000)}
    written = write_turn(make(TAGGED).graph, call("lift", **arguments))
    assert written.count("<arg ") == 3000
