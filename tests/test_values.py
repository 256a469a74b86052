"""Values: what type raw text has by the schema of its parameter, through formats that print text without quotes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways, render_turn
from templates import get_format, write_calls, write_prompt

from chat_autoparser.format import Choice, Numeral, Text
from chat_autoparser.format.units import MORE, get_units
from chat_autoparser.schema import Schema, ToolSet

PLACE = "some words here"


def read_value(text: str, schema: dict[str, Any], shape: str = "tagged names and values") -> Any:
    """Read a call whose one argument is a raw text, and return what its JSON is."""
    parameters = {"type": "object", "properties": {"habitat": schema}}
    tools = [{"type": "function", "function": {"name": "find_okapi", "parameters": parameters}}]
    written = write_calls(shape, ("find_okapi", {"habitat": PLACE})).replace(PLACE, text)
    reading = read_all_ways(get_format(shape), written, tools, write_prompt(shape))
    assert (reading.content, reading.incomplete) == (None, set())
    ((name, arguments),) = reading.calls
    assert name == "find_okapi"
    (value,) = json.loads(arguments).values()
    return value


@pytest.mark.parametrize("shape", ["tagged names and values", "tagged arguments"])
@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("12", ["string"], "12"),
        ("12", ["integer"], 12),
        ("12.5", ["integer"], "12.5"),
        ('"12"', ["integer"], 12),
        ("'true'", ["boolean"], True),
        ('"twelve"', ["integer"], '"twelve"'),
        ('"12"', ["string"], '"12"'),
        ("1e3", ["number"], 1e3),
        ("012", ["number"], "012"),
        ("1_000", ["integer"], "1_000"),
        ("٣", ["integer"], "٣"),
        ("123456789012345678901234567890", ["integer"], 123456789012345678901234567890),
        ("true", ["boolean"], True),
        ("yes", ["boolean"], "yes"),
        ("null", ["null"], None),
        ("[1, 2]", ["array"], [1, 2]),
        ("[1, 2]", ["object"], "[1, 2]"),
        ('{"a": ', ["object"], '{"a": '),
        ('{"a": {"b": [null]}}', ["object"], {"a": {"b": [None]}}),
        ("null", ["null", "string"], None),
        ("x", ["null", "integer"], "x"),
        ("5", ["null", "integer", "string"], 5),
        ("NaN", ["number"], "NaN"),
        ("plain text", ["string"], "plain text"),
    ],
)
def test_text_has_the_type_that_its_schema_says(shape: str, text: str, types: list[str], expected: Any) -> None:
    value = read_value(text, {"type": types if len(types) > 1 else types[0]}, shape)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", 12),
        ("true", True),
        ('"quoted"', '"quoted"'),
        ("plain text", "plain text"),
        ("NaN", "NaN"),
        ('{"a": [1]}', {"a": [1]}),
    ],
)
def test_without_a_type_it_is_json_if_that_is_valid(text: str, expected: Any) -> None:
    value = read_value(text, {})
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": "string"}, ("string",)),
        ({"type": ["null", "string"]}, ("null", "string")),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ("integer", "null")),
        ({"oneOf": [{"type": "integer"}, {"$ref": "#/$defs/x"}]}, ("integer", "boolean")),
        ({"allOf": [{"type": "number"}]}, ("number",)),
        ({"$ref": "#/$defs/x"}, ("boolean",)),
        ({"$ref": "#/$defs/loop"}, ()),
        ({"$ref": "http://elsewhere"}, ()),
        ({"enum": ["1", "2"]}, ("string",)),
        ({"enum": [1, "2"]}, ("integer", "string")),
        ({"const": None}, ("null",)),
        ({"properties": {}}, ("object",)),
        ({"items": {}}, ("array",)),
        ({"type": "unheard of"}, ()),
        ({}, ()),
        (True, ()),
    ],
)
def test_types_of_a_schema(schema: Any, types: tuple[str, ...]) -> None:
    root = {"properties": {"a": schema}, "$defs": {"x": {"type": "boolean"}, "loop": {"$ref": "#/$defs/loop"}}}
    assert Schema(root).get_property("a").get_types() == types


def test_places_of_a_schema() -> None:
    schema = Schema({"anyOf": [{"properties": {"a": {"items": {"type": "integer"}}}}]})
    assert schema.get_property("a").get_items().get_types() == ("integer",)
    assert schema.get_property("b").get_types() == ()
    assert Schema({"additionalProperties": {"type": "null"}}).get_property("b").get_types() == ("null",)
    assert Schema({"additionalProperties": False}).get_property("b").get_types() == ()


def test_odd_tools_say_nothing() -> None:
    parameters = {"properties": {"a": {"type": "string"}}}
    odd: list[Any] = [{}, {"function": None}, {"name": "f", "parameters": parameters}, None, {"function": {"name": 1}}]
    tools = ToolSet(odd)
    assert list(tools.tools) == ["f"]
    assert tools.get_parameters("f").get_property("a").get_types() == ("string",)
    assert tools.get_parameters("g").get_property("a").get_types() == ()


@pytest.mark.parametrize(
    ("numeral", "written", "char"),
    [
        (Numeral("utf-16", "\\u"), "\\ud83d\\udeb2", "🚲"),
        (Numeral("utf-8", "%"), "%F0%9F%9A%B2", "🚲"),
        (Numeral("utf-8", "%"), "%C3%BC", "ü"),
        (Numeral("hexadecimal", "&#x", ";"), "&#x1f6b2;", "🚲"),
    ],
)
def test_units_of_one_character_wait_for_each_other(numeral: Numeral, written: str, char: str) -> None:
    units = get_units(Text(numerals=(numeral,)))
    for end in range(1, len(written)):
        assert units.read(written[:end], 0, False)[0] == MORE, written[:end]
    assert units.read(written + "x", 0, False) == (len(written), char)


ESCAPED_JSON = """\
{%%- for m in messages -%%}{{ "<%%" ~ m.role ~ "%%>" ~ (m.content or "") }}
{%%- for c in m.tool_calls or [] %%}{{ "\\n{: " ~ c.function.name ~ "\\n" }}
{%%- for k, v in c.function.arguments.items() %%}{{ "[" ~ k ~ "]" ~ (v if v is string else v | tojson)%(escape)s ~ "[.]\\n" }}{%% endfor %%}
{{- ":}" }}{%% endfor %%}{{ "<%%over%%>" }}
{%%- endfor %%}
{%%- if add_generation_prompt %%}{{ "<%%assistant%%>" }}{%% endif %%}
"""


@pytest.mark.parametrize(
    ("escape", "written"),
    [
        pytest.param('| replace("&", "&amp;") | replace("<", "&lt;")', '["a &lt;b> &amp; c", {"d": "&lt;/e>"}]', id="HTML"),
        pytest.param('| replace("%", "%25") | replace("[", "%5B")', '%5B"a <b> & c", {"d": "</e>"}]', id="percent"),
        pytest.param('| replace("<", "~<")', '["a ~<b> & c", {"d": "~</e>"}]', id="one sign"),
    ],
)
def test_lists_are_escaped_as_texts_are(escape: str, written: str) -> None:
    """The JSON of a list is written as a text is; nothing but a sign in a text within the list tells."""
    format = analyze(ESCAPED_JSON % {"escape": escape})
    assert format.verdict.proven
    tools = [make_tool("keep", items="array", note="string")]
    text = f"\n{{: keep\n[items]{written}[.]\n[note]x[.]\n:}}<%over%>"
    found = read_all_ways(format, text, tools, "<%assistant%>", "strict")
    assert [json.loads(given) for _, given in found.calls] == [{"items": ["a <b> & c", {"d": "</e>"}], "note": "x"}]


SIGNED = """\
{%- macro put(text) -%}{{ text | replace("~", "~~") | replace("⟪", "~(") | replace("✦", "~*") }}{%- endmacro -%}
{%- for m in messages -%}{{ "⟪" ~ m.role ~ "✦\\n" }}
{%- if m.reasoning_content %}{{ "⟪muse✦\\n" ~ put(m.reasoning_content) ~ "\\n⟪say✦\\n" }}{% endif %}{{ put(m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ "\\n⟪use " ~ c.function.name ~ "✦\\n" }}
{%- for k, v in c.function.arguments.items() %}{{ k ~ "=" ~ (put(v) if v is string else "!" ~ v | tojson) ~ ";;\\n" }}{% endfor %}
{{- "⟪used✦" }}{% endfor %}{{ "\\n⟪over✦\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "⟪assistant✦\\n" }}{% endif %}
"""


@pytest.mark.parametrize("text", ["a ⟪ b", "✦ ~ ⟪over✦", "~(", "~~*"])
def test_signs_of_the_template_are_read_as_it_writes_them(text: str) -> None:
    """A template may exchange the signs of its own marks, which are among no signs that others exchange."""
    format = analyze(SIGNED)
    assert format.verdict.proven
    tools = [make_tool("keep", note="string")]
    message = {"reasoning_content": text, "content": text, "tool_calls": [make_call("keep", {"note": text})]}
    prompt, written = render_turn(SIGNED, message, tools)
    found = read_all_ways(format, written, tools, prompt, "strict")
    assert (found.reasoning, found.content) == (text, text)
    assert [json.loads(given) for _, given in found.calls] == [{"note": text}]


@pytest.mark.parametrize(("written", "text"), [("&quot;a&quot;", '"a"'), ("a &gt; b", "a > b"), ("&amp;quot;", "&quot;"), ("&quo;", "&quo;")])
def test_entities_that_a_template_does_not_write_are_read_where_it_writes_others(written: str, text: str) -> None:
    format = analyze(ESCAPED_JSON % {"escape": '| replace("&", "&amp;") | replace("<", "&lt;")'})
    tools = [make_tool("keep", note="string")]
    found = read_all_ways(format, f"\n{{: keep\n[note]{written}[.]\n:}}<%over%>", tools, "<%assistant%>")
    assert [json.loads(given) for _, given in found.calls] == [{"note": text}]


PAGES = """\
{%- for m in messages -%}{{ "<%" ~ m.role ~ "%>" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ "\\n||use " ~ c.function.name ~ "||\\n" }}{% for k, v in c.function.arguments.items() %}
{{- "| " ~ k ~ " | " ~ ("none" if v is none else "flag" if v is boolean else "text" if v is string else "data") ~ " | " }}
{{- (v | tojson | replace("|", "\\\\u007c")) ~ " |\\n" }}{% endfor %}{% endfor %}{{ "<%over%>" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<%assistant%>" }}{% endif %}
"""


def test_a_word_for_null_stands_behind_the_word_for_its_type() -> None:
    """It is the only value of its type, so that nothing but other types tells the two words apart."""
    graph = analyze(PAGES).graph.turn
    assert [edge.text for edge in graph.edges if edge.target == "value:null"] == [" | none | "]
    assert [node.codec for node in graph.nodes if node.name == "value:null"] == [Choice((("null", "null"),))]


CLOSED = """\
{%- for m in messages -%}{{ "<%" ~ m.role ~ "%>" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ "\\n<act " ~ c.function.name ~ ">" }}{% for k, v in c.function.arguments.items() %}
{%- set t = k ~ "." ~ ("text" if v is string else "flag" if v is boolean else "data") %}
{{- "\\n<" ~ t ~ ">" ~ ((v if v is string else v | tojson) | replace("<", "&lt;")) ~ "</" ~ t ~ ">" }}{% endfor %}{{ "\\n</act>" }}{% endfor %}
{{- "<%over%>" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<%assistant%>" }}{% endif %}
"""


def test_what_ends_a_value_may_tell_its_type_behind_the_key_that_comes_again() -> None:
    format = analyze(CLOSED)
    assert format.verdict.proven
    text = "\n<act keep>\n<note.text>a</note.text>\n<loud.flag>true</loud.flag>\n<items.data>[1, 2]</items.data>\n</act><%over%>"
    tools = [make_tool("keep", note="string", loud="boolean", items="array")]
    found = read_all_ways(format, text, tools, "<%assistant%>", "strict")
    assert [json.loads(given) for _, given in found.calls] == [{"note": "a", "loud": True, "items": [1, 2]}]


BLOCKS = """\
{%- macro flow(v) -%}{%- if v is mapping -%}{ {%- for k, x in v.items() %}{{ k }} = {{ flow(x) }}{{ ", " if not loop.last }}{% endfor -%} }
{%- elif v is string -%}{{ v | tojson }}{%- elif v is iterable -%}[{%- for x in v %}{{ flow(x) }}{{ ", " if not loop.last }}{% endfor -%}]
{%- else -%}{{ v | tojson }}{%- endif -%}{%- endmacro -%}
{%- macro block(d) -%}{%- for k, v in d.items() -%}
{{ "\\n" ~ k ~ (" (" ~ block(v) ~ "\\n)" if v is mapping else " = " ~ flow(v)) }}{%- endfor -%}{%- endmacro -%}
{%- for m in messages -%}
<<{{ m.role }}>>{{ m.content or "" }}
{%- for c in m.tool_calls or [] %}<do>{{ c.function.name ~ block(c.function.arguments) ~ "\\n" }}</do>{% endfor -%}
<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""


@pytest.mark.parametrize(
    "value",
    [[{"a": 1}], [{"a": [1, {"b": "x"}]}, {}], [[{"a": {"b": True}}]], {"a": {"b": [{"c": 1}]}}, {"a": [], "b": {}}, [1, "x", None]],
    ids=json.dumps,
)
def test_objects_in_lists_may_have_marks_of_their_own(value: Any) -> None:
    """As in TOML and HCL: blocks at the top, braces within lists."""
    format = analyze(BLOCKS)
    assert format.verdict.proven
    arguments = {"plan": value, "days": 2}
    _, written = render_turn(BLOCKS, {"tool_calls": [make_call("go", arguments)]})
    found = read_all_ways(format, written, None, "<<assistant>>")
    assert [json.loads(given) for _, given in found.calls] == [arguments]
    assert not found.recoveries


def test_a_text_may_hold_what_leads_to_a_word_that_no_mark_begins() -> None:
    source = (
        "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}{%- for c in m.tool_calls or [] -%}<|c|>{{ c.function.name }}"
        "{%- for k, v in c.function.arguments.items() -%}‖{{ k }}{{ '$' ~ v if v is string else '∅' if v is none else '#' ~ v | tojson }}"
        "{%- endfor -%}<|-|>{%- endfor -%}<|.|>{%- endfor -%}{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
    )
    arguments = {"title": "a‖b∅c‖d", "note": None, "days": 3}
    tool = make_tool("book", title="string", note="string", days="integer")
    prompt, text = render_turn(source, {"tool_calls": [make_call("book", arguments)]}, [tool])
    assert get_calls(read_all_ways(analyze(source), text, [tool], prompt)) == [("book", arguments)]
