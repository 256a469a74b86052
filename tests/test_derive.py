"""Graphs derived from small templates, held against graphs written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import read_all_ways

from chat_autoparser import analyze
from chat_autoparser.ask.oracle import Oracle
from chat_autoparser.ask.renderer import load_renderer
from chat_autoparser.ask.words import holds_word
from chat_autoparser.derive import driver
from chat_autoparser.errors import TemplateError
from chat_autoparser.format import Choice, Insides, Json, Number, Text, TurnGraph

FRAME = (
    "{%- for m in messages -%}<|{{ m.role }}|>{%- if m.role == 'assistant' -%}REASONING{{ m.content or '' }}CALLS<|end|>"
    "{%- else -%}{{ m.content }}<|end|>{%- endif -%}{%- endfor -%}{%- if add_generation_prompt -%}<|assistant|>OPEN{%- endif -%}"
)
REASONING = "{%- if m.reasoning_content -%}[think]{{ m.reasoning_content }}[/think]{%- endif -%}"
JSON_CALLS = (
    "{%- for c in m.tool_calls or [] -%}<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}</call>"
    "{%- endfor -%}"
)
TAGGED_CALLS = (
    "{%- for c in m.tool_calls or [] -%}<call={{ c.function.name }}>{%- for k, v in c.function.arguments | items -%}"
    "<{{ k }}>{{ v if v is string else v | tojson }}</{{ k }}>{%- endfor -%}</call>{%- endfor -%}"
)
QUOTED_CALLS = (
    "{%- for c in m.tool_calls or [] -%}{{ c.function.name }}({%- for k, v in c.function.arguments | items -%}"
    "{{ k }}={{ v }}, {%- endfor -%}){%- endfor -%}"
)


def write(reasoning: str = "", calls: str = "", opened: str = "") -> str:
    return FRAME.replace("REASONING", reasoning).replace("CALLS", calls).replace("OPEN", opened)


def derive(source: str) -> TurnGraph:
    return driver.derive(Oracle(load_renderer(source))).graph


def list_edges(graph: TurnGraph) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.text, edge.target) for edge in graph.turn.edges}


def list_starts(graph: TurnGraph) -> dict[str, set[tuple[str, str]]]:
    return {start.prompt: {(edge.text, edge.target) for edge in start.edges} for start in graph.starts}


def test_content_alone() -> None:
    graph = derive(write())
    assert list_edges(graph) == {("content", "<|end|>", "end")}
    assert list_starts(graph) == {"<|assistant|>": {("", "content")}}
    assert graph.stops == ("<|end|>",)


def test_reasoning_and_json_calls() -> None:
    graph = derive(write(REASONING, JSON_CALLS))
    opening = '<call>{"name": "'
    assert list_edges(graph) == {
        ("content", "<|end|>", "end"),
        ("reasoning", "[/think]", "content"),
        ("reasoning", "[/think]<|end|>", "end"),
        ("content+calls", opening, "name"),
        ("reasoning+calls", "[/think]", "content+calls"),
        ("reasoning+calls", "[/think]" + opening, "name"),
        ("name", '", "arguments": ', "arguments"),
        ("arguments", "}</call>" + opening, "name"),
        ("arguments", "}</call><|end|>", "end"),
        # Arguments that are given as a text are printed as a JSON string.
        ("name", '", "arguments": "', "arguments~"),
        ("arguments~", '"}</call>' + opening, "name"),
        ("arguments~", '"}</call><|end|>', "end"),
    }
    assert graph.turn.node("arguments").codec == Json()
    within = graph.turn.node("arguments~").codec
    assert isinstance(within, Json)
    assert within.within is not None
    assert dict(within.within.escapes) == {'\\"': '"', "\\\\": "\\"}
    assert list_starts(graph)["<|assistant|>"] == {
        ("", "content"),
        ("", "content+calls"),
        ("[think]", "reasoning"),
        ("[think]", "reasoning+calls"),
        (opening, "name"),
    }


def test_another_call_begins_where_the_edge_says() -> None:
    graph = derive(write("", JSON_CALLS))
    assert {(edge.source, edge.target) for edge in graph.turn.edges if edge.opens_call} == {
        ("arguments", "name"),
        ("arguments~", "name"),
        ("content+calls", "name"),
    }


def test_values_in_tags() -> None:
    graph = derive(write("", TAGGED_CALLS))
    edges = list_edges(graph)
    types = ("string", "integer", "number", "boolean", "null", "array", "object")
    for one in types:
        assert (f"key:{one}", ">", f"value:{one}") in edges
        assert (f"value:{one}", "</", "key=") in edges
        assert ("name", "><", f"key:{one}") in edges
        assert ("key=", "><", f"key:{one}") in edges
    assert ("key=", "></call><|end|>", "end") in edges
    assert graph.turn.node("key=").again
    assert graph.turn.node("value:string").codec == Text()
    assert graph.turn.node("value:integer").codec == Number()
    assert graph.turn.node("value:boolean").codec == Choice((("true", "true"), ("false", "false")))
    assert graph.turn.node("value:array").codec == Json()


def test_python_literals_and_their_quotes() -> None:
    """A Python dict inside, where a string has other quotes if there is an apostrophe in it."""
    graph = derive(write("", QUOTED_CALLS))
    assert graph.turn.node("value:array").codec == Insides("list")
    inside = dict(graph.insides)["list"]
    texts = {(edge.source, edge.text, edge.target) for edge in inside.edges}
    assert ("start", "'", "value:string") in texts
    assert ("start", '"', "value:string.1") in texts
    assert ("value:string", "', True"[:3], "value:integer") in texts
    assert inside.node("value:boolean").codec == Choice((("True", "true"), ("False", "false")))
    assert inside.node("value:null").codec == Choice((("None", "null"),))


def test_quoted_where_the_quotes_tell_the_type() -> None:
    calls = QUOTED_CALLS.replace("{{ v }}", "{{ v | tojson }}")
    codec = derive(write("", calls)).turn.node("value:string").codec
    assert isinstance(codec, Text)
    assert codec.quoted
    assert ('\\"', '"') in codec.escapes
    raw = derive(write("", TAGGED_CALLS)).turn.node("value:string").codec
    assert isinstance(raw, Text)
    assert not raw.quoted


def test_counters() -> None:
    calls = JSON_CALLS.replace("<call>", "<call {{ loop.index }} of {{ m.tool_calls | length }}>")
    graph = derive(write("", calls))
    parts = {edge.parts for edge in graph.turn.edges if edge.target == "name"}
    assert ("<call ", " of ", '>{"name": "') in parts


def test_name_inside_the_id() -> None:
    calls = "{%- for c in m.tool_calls or [] -%}<call>{{ c.id }}:{{ c.function.arguments | tojson }}</call>{%- endfor -%}"
    graph = derive(write("", calls))
    assert graph.turn.node("id").carries_name
    assert not any(node.kind == "name" for node in graph.turn.nodes)


def test_prompt_that_opens_reasoning() -> None:
    graph = derive(write(REASONING, "", "{{ '[think]' if thinking else '[think][/think]' }}"))
    starts = list_starts(graph)
    assert starts["<|assistant|>[think]"] == {("", "reasoning")}
    assert starts["<|assistant|>[think][/think]"] == {("", "content")}
    shown = {start.prompt: start.shown for start in graph.starts}
    assert shown == {"<|assistant|>[think][/think]": False, "<|assistant|>[think]": True, "<|assistant|>": True}


@pytest.mark.parametrize(
    "source",
    [
        write("", "", "[think]").replace("{{ m.content or '' }}", "{{ m.content.split('[/think]')[-1] }}"),
        write("", "", "{{ '[think]' if thinking else '[think][/think]' }}"),
        write("", "", "[think]"),
        write("", "", "{{ '[think]' if thinking else '[/think]' }}"),
        write("", "", "{{ '[/think]' if plain else '[think]' }}"),
    ],
    ids=["cut out of content", "closed under a switch", "mirrored", "closed alone", "closed alone under a switch"],
)
def test_reasoning_that_is_never_printed(source: str) -> None:
    graph = derive(source)
    start = next(start for start in graph.starts if start.prompt == "<|assistant|>[think]")
    assert not start.shown
    assert ("", "reasoning") in {(edge.text, edge.target) for edge in start.edges}
    assert ("reasoning", "[/think]", "content") in list_edges(graph)
    assert graph.notes


def test_digits_in_marks_are_no_counters() -> None:
    """Neither between a key and its value, nor around what stands for a list alone."""
    source = write("", TAGGED_CALLS.replace("<{{ k }}>", "<of2 k={{ k }}><is2>").replace("</{{ k }}>", "</is2>"))
    edges = list_edges(derive(source.replace("v | tojson", "('<v10>' ~ (v | tojson) ~ '</v10>' if v is iterable else v | tojson)")))
    assert {text for source, text, _ in edges if source == "key:integer"} == {"><is2>"}
    assert {text for source, text, _ in edges if source == "key:array"} == {"><is2><v10>"}


@pytest.mark.parametrize("calls", [JSON_CALLS, TAGGED_CALLS, QUOTED_CALLS])
def test_renaming_markers_changes_nothing(calls: str) -> None:
    source = write(REASONING, calls)
    words = {"<call": "<mizzen", "</call": "</mizzen", "[think]": "[furl]", "[/think]": "[/furl]", "<|end|>": "<|avast|>"}

    def rename(text: str) -> str:
        for old, new in words.items():
            text = text.replace(old, new)
        return text

    plain, renamed = derive(source), derive(rename(source))
    assert list_edges(renamed) == {(one, rename(text), two) for one, text, two in list_edges(plain)}
    assert renamed.turn.nodes == plain.turn.nodes
    assert list_starts(renamed) == {
        rename(prompt): {(rename(text), target) for text, target in links} for prompt, links in list_starts(plain).items()
    }


@pytest.mark.parametrize("calls", ["", JSON_CALLS, TAGGED_CALLS, QUOTED_CALLS])
def test_no_word_of_a_question_is_left(calls: str) -> None:
    graph = derive(write(REASONING, calls))
    starts = [edge for start in graph.starts for edge in start.edges]
    insides = [edge for _, inside in graph.insides for edge in inside.edges]
    assert not any(holds_word(edge.text) for edge in (*graph.turn.edges, *starts, *insides))
    assert not any(holds_word(text) for text in (*graph.stops, *(start.prompt for start in graph.starts)))


@pytest.mark.parametrize("refused", ["v is mapping and not v", "v is iterable and v is not string and v is not mapping"])
def test_arguments_are_json_though_a_template_takes_not_every_value(refused: str) -> None:
    refusal = "{%- for v in c.function.arguments.values() if " + refused + " %}{{ raise_exception('no') }}{% endfor -%}"
    calls = "{%- for c in m.tool_calls or [] -%}" + refusal + "<do {{ c.function.name }}>"
    graph = derive(write(calls=calls + "{{ c.function.arguments | tojson(indent=2) }}</do>{%- endfor -%}"))
    assert graph.turn.node("arguments").codec == Json()
    assert ("name", ">", "arguments") in list_edges(graph)


def test_template_without_turns() -> None:
    with pytest.raises(TemplateError, match="renders no plain conversation"):
        derive("nothing")


def test_calls_that_only_the_instructions_show() -> None:
    told = (
        '{%- if tools -%}Answer so:\n<act>\n{"name": <name of the tool>, "input": <an object>}\n</act>\n'
        "{%- for t in tools -%}{{ t | tojson }}{%- endfor -%}{%- endif -%}"
    )
    graph = derive(told + write())
    edges = list_edges(graph)
    assert ("name", '", "input": ', "arguments") in edges
    assert ("arguments", "}\n</act><|end|>", "end") in edges
    assert ("content+calls", '\n<act>\n{"name": "', "name") in edges
    assert ('<act>\n{"name": "', "name") in list_starts(graph)["<|assistant|>"]
    assert any("instructions" in note for note in graph.notes)


INDENTED = """\
{%- macro val(v, d) -%}
{%- if v is none -%}{{ ' void' }}
{%- elif v is boolean -%}{{ ' on' if v else ' off' }}
{%- elif v is mapping -%}{% for k, x in v.items() %}{{ '\\n' ~ '\\t' * d }}{{ k }} ~>{{ val(x, d + 1) }}{% endfor %}
{%- elif v is string or v is number %} {{ v | tojson }}
{%- else -%}{% for x in v %}{{ '\\n' ~ '\\t' * d }}*{{ val(x, d + 1) }}{% endfor %}
{%- endif -%}
{%- endmacro -%}
{%- for m in messages -%}
%{{ m.role }}%{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}{{ '\\n' }}%go% {{ c.function.name }}
{%- for k, v in c.function.arguments.items() %}{{ '\\n\\t' }}{{ k }} ~>{{ val(v, 2) }}{% endfor %}{{ '\\n' }}%og%{% endfor -%}
%fin%{{ '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}%assistant%{%- endif -%}"""
BRACKETS_IF_EMPTY = (
    INDENTED.replace(" ~>", ":").replace("*{{ val", "- {{ val").replace("{% endfor %}\n{%- endif", "{% else %}[]{% endfor %}\n{%- endif")
)


@pytest.mark.parametrize(
    ("source", "written", "arguments"),
    [
        (INDENTED, '\n\tb ~>\n\t\tx ~> "z"', {"b": {"x": "z"}}),
        (INDENTED, '\n\tb ~>\n\t\t*\n\t\t\t* "z"\n\t\t*\n\t\t\ty ~>\n\t\t\t\t* 7\n\tc ~> on', {"b": [["z"], {"y": [7]}], "c": True}),
        (BRACKETS_IF_EMPTY, '\n\tb:\n\t\t- \n\t\t\t-  1\n\t\t- []\n\t\t- \n\t\t\ty: "z"\n\tc:\n\t\tx: on', {"b": [[1], [], {"y": "z"}], "c": {"x": True}}),
    ],
)  # fmt: skip
def test_what_nothing_but_its_indentation_ends_may_be_the_last(source: str, written: str, arguments: dict[str, Any]) -> None:
    format = analyze(source)
    for end in ("\n%og%%fin%\n", "\n%og%"):
        [call] = format.parse(f"\n%go% plan{written}{end}")["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == arguments
    assert format.verdict.proven, format.verdict


def test_calls_that_nothing_stands_between() -> None:
    calls = (
        "{%- if m.tool_calls -%}[DO]{%- for c in m.tool_calls -%}{{ c.function.name }}({%- for k, v in c.function.arguments | items -%}"
        "{{ k }}={{ v | tojson }}{{ '' if loop.last else '; ' }}{%- endfor -%}){%- endfor -%}[/DO]{%- endif -%}"
    )
    format = analyze(write(calls=calls))
    message = format.parse('[DO]ring()look(at="ox"; for=3)ring()[/DO]<|end|>')
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["ring", "look", "ring"]
    assert [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]] == [{}, {"at": "ox", "for": 3}, {}]
    assert message["content"] is None


@pytest.mark.parametrize(("no", "nothing"), [("no", "no value"), ("lo", "lo at all"), (".false.", "null()")])
def test_a_word_for_null_may_begin_with_another(no: str, nothing: str) -> None:
    source = (
        "{%- macro write(v) -%}"
        "{%- if v is none %}" + nothing + "{% elif v is boolean %}{{ 'yes' if v else '" + no + "' }}"
        "{%- elif v is string %}`{{ v }}`{% else %}{{ v | tojson }}{% endif -%}{%- endmacro -%}"
        "{%- for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
        "{%- for c in m.tool_calls or [] %}<<{{ c.function.name }}{% for k, v in c.function.arguments.items() %}; {{ k }} = {{ write(v) }}"
        "{%- endfor %}>>{% endfor %}<over>{% endfor -%}{%- if add_generation_prompt %}<assistant>{% endif -%}"
    )
    types = {"plain": ["boolean", "null"], "near": ["string", "null"], "legs": ["integer", "null"]}
    tool = {"type": "function", "function": {"name": "go", "parameters": {"properties": {k: {"type": v} for k, v in types.items()}}}}
    text = f"<<go; plain = {no}; near = {nothing}; legs = {nothing}>><<go; plain = {nothing}; legs = 3; near = {nothing}>><over>"
    found = read_all_ways(analyze(source), text, [tool], "<assistant>")
    calls = [json.loads(arguments) for _, arguments in found.calls]
    assert calls == [{"plain": False, "near": None, "legs": None}, {"plain": None, "legs": 3, "near": None}]
