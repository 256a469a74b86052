"""Objects whose members are written as arguments of their own, each under its path. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import analyze, make_call, make_tool, read_all_ways, render_turn
from test_constrain import accepts

import chat_autoparser as ca
from chat_autoparser.constrain.write import write_turn
from chat_autoparser.format import Path

SPREAD = """\
{%%- macro row(path, v) -%%}
{%%- if v is mapping and v -%%}{%%- for k, x in v.items() -%%}{{ row(path ~ %r ~ k ~ %r, x) }}{%%- endfor -%%}
{%%- else -%%}{{ path }} = {{ v | tojson }}{{ "\\n" }}{%%- endif -%%}
{%%- endmacro -%%}
{%%- for m in messages -%%}
<<{{ m.role }}>>{{ m.content or '' }}
{%%- for c in m.tool_calls or [] %%}
[[call {{ c.function.name }}]]
{%% for k, v in c.function.arguments.items() %%}{{ row(k, v) }}{%% endfor %%}[[/call]]
{%%- endfor -%%}
<<over>>
{%%- endfor -%%}
{%%- if add_generation_prompt %%}<<assistant>>{%% endif -%%}
"""

FORMS = [(".", ""), ("[", "]"), ("/", ""), ("->", ""), ("{", "}")]

PLACE = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "pin",
            "parameters": {
                "type": "object",
                "properties": {"note": {"type": "string"}, "place": PLACE, "more": {"type": "object"}},
                "required": ["note"],
                "additionalProperties": False,
            },
        },
    }
]


def render(template: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return the prompt of a template, and the turn behind it with one call."""
    return render_turn(template, {"tool_calls": [make_call("pin", arguments)]}, TOOLS)


@pytest.mark.parametrize(("opening", "closing"), FORMS)
@pytest.mark.parametrize(
    "arguments",
    [
        {"place": {"city": "Bergen", "zip": 5003}, "note": "a.b/c[d]"},
        {"note": "x", "more": {"a": {"b": {"c": [1, {"d": 2}]}, "e": None}, "f": True}},
        {"more": {}, "place": {"city": "Oslo"}, "note": ""},
        {"more": {"a": {}, "b": {"c": {}}}},
    ],
)
def test_members_are_put_where_they_were(opening: str, closing: str, arguments: dict[str, Any]) -> None:
    template = SPREAD % (opening, closing)
    format = analyze(template)
    assert format.graph.path == Path(opening, closing)
    assert format.verdict.proven
    prompt, text = render(template, arguments)
    ((name, written),) = read_all_ways(format, text, TOOLS, prompt).calls
    assert (name, json.loads(written)) == ("pin", arguments)
    assert list(json.loads(written)) == list(arguments)
    call = {"function": {"name": "pin", "arguments": arguments}}
    assert text.startswith(write_turn(format.graph, {"tool_calls": [call]}))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("place.city = \"A\"\nnote = \"n\"\nplace.zip = 1\n", {"place": {"city": "A"}, "note": "n", "place.zip": 1}),
        ("more = {}\nmore.a = 1\n", {"more": {}, "more.a": 1}),
        ("more.a = 1\nmore.a.b = 2\n", {"more": {"a": 1}, "more.a.b": 2}),
        ("more.a.b = 1\nmore.a = 2\n", {"more": {"a": {"b": 1}}, "more.a": 2}),
    ],
)  # fmt: skip
def test_what_comes_too_late_for_its_object_is_kept_under_its_path(lines: str, expected: dict[str, Any]) -> None:
    """Nothing that a model writes is lost, and no key stands twice in an object."""
    format = analyze(SPREAD % (".", ""))
    ((_, written),) = read_all_ways(format, f"\n[[call pin]]\n{lines}[[/call]]<<over>>", None, "<<assistant>>").calls
    pairs = json.loads(written, object_pairs_hook=list)
    assert len({key for key, _ in pairs}) == len(pairs)
    assert json.loads(written) == expected


@pytest.mark.parametrize("written", ["v | tojson", "v"])
def test_a_parameter_may_have_the_sign_of_paths_in_its_name(written: str) -> None:
    format = analyze(SPREAD.replace("v | tojson", written) % (".", ""))
    assert format.graph.path == Path(".", "")
    tools = [make_tool("pin", **{"v1.0": "integer"})]
    ((_, found),) = read_all_ways(format, "\n[[call pin]]\nv1.0 = 7\n[[/call]]<<over>>", tools, "<<assistant>>").calls
    assert json.loads(found) == {"v1.0": 7}


def test_a_grammar_writes_members_under_their_paths() -> None:
    template = SPREAD % (".", "")
    format = analyze(template)
    for arguments in ({"note": "x", "place": {"city": "Oslo"}}, {"note": "x", "place": {"city": "Oslo", "zip": 1}}):
        assert accepts(format, render(template, arguments)[1], TOOLS)
    for arguments in ({"note": "x", "place": {"zip": 1}}, {"note": "x", "place": {"city": "Oslo", "zip": "1"}}):
        assert not accepts(format, render(template, arguments)[1], TOOLS)


LISTED = """\
{%%- macro row(path, v) -%%}
{%%- if v is mapping and v -%%}{%%- for k, x in v.items() -%%}{{ row(path ~ %r ~ k, x) }}{%%- endfor -%%}
{%%- elif v is iterable and v is not string and v is not mapping and v -%%}
{%%- for x in v -%%}{{ row(path ~ %r ~ loop.%s ~ %r, x) }}{%%- endfor -%%}
{%%- else -%%}{{ path }} = {{ v | tojson }}{{ "\\n" }}{%%- endif -%%}
{%%- endmacro -%%}
""" + SPREAD[SPREAD.index("{%%- for m in messages") :]
NUMBERS = [(".", "[", "]", 0), (".", ".", "", 0), ("/", "(", ")", 1), (".", "#", "", 1), ("__", "#", "", 1)]


@pytest.mark.parametrize(("opening", "before", "behind", "base"), NUMBERS)
@pytest.mark.parametrize(
    "arguments",
    [
        {"note": ["a", "b"], "more": {"sides": [3, 4.5], "none": []}},
        {"more": [[1, [2, 3]], [[]], {"a": [{"b": None}, {"b": True, "c": [{}]}]}], "note": "x[0].y"},
        {"more": list(range(12))},
    ],
)
def test_items_of_lists_are_put_where_they_were(opening: str, before: str, behind: str, base: int, arguments: dict[str, Any]) -> None:
    template = LISTED % (opening, before, "index" if base else "index0", behind)
    format = analyze(template)
    assert format.graph.path == Path(opening, "", before, behind, base)
    assert format.verdict.proven
    prompt, text = render(template, arguments)
    ((_, written),) = read_all_ways(format, text, TOOLS, prompt).calls
    assert json.loads(written) == arguments
    call = {"function": {"name": "pin", "arguments": arguments}}
    assert text.startswith(write_turn(format.graph, {"tool_calls": [call]}))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("a[1] = 1\n", {"a[1]": 1}),
        ("a[0] = 1\na[2] = 2\na[1] = 3\n", {"a": [1], "a[2]": 2, "a[1]": 3}),
        ("a[0] = 1\na.b = 2\na[0].c = 3\n", {"a": [1], "a.b": 2, "a[0].c": 3}),
        ("a[0] = 1\nb = 2\na[1] = 3\n", {"a": [1], "b": 2, "a[1]": 3}),
    ],
)
def test_an_item_that_does_not_follow_the_last_is_kept_under_its_path(lines: str, expected: dict[str, Any]) -> None:
    format = analyze(LISTED % (".", "[", "index0", "]"))
    ((_, written),) = read_all_ways(format, f"\n[[call pin]]\n{lines}[[/call]]<<over>>", None, "<<assistant>>").calls
    pairs = json.loads(written, object_pairs_hook=list)
    assert len({key for key, _ in pairs}) == len(pairs)
    assert json.loads(written) == expected


def test_no_grammar_writes_lists_under_paths() -> None:
    """How many items come is not known before, and each has the number of its place."""
    format = analyze(LISTED % (".", "[", "index0", "]"))
    tools = [{"type": "function", "function": {"name": "pin", "parameters": {"properties": {"all": {"type": "array"}}}}}]
    with pytest.raises(ca.ConstraintError, match="'all'"):
        accepts(format, "", tools)


def test_objects_that_are_written_otherwise_have_no_paths() -> None:
    shallow = SPREAD.replace("row(path ~ %r ~ k ~ %r, x)", "path ~ %r ~ k ~ %r ~ ' = ' ~ (x | tojson) ~ '\\n'")
    assert analyze(shallow % (".", "")).graph.path is None
    whole = SPREAD.replace("v is mapping and v", "v is mapping and not v") % (".", "")
    assert analyze(whole).graph.path is None


def test_a_stored_format_keeps_its_paths() -> None:
    format = analyze(SPREAD % ("[", "]"))
    stored = ca.ChatFormat.from_dict(json.loads(json.dumps(format.to_dict())))
    assert (stored, stored.graph.path) == (format, Path("[", "]"))


def test_a_number_is_a_place_where_the_schema_says_list_though_a_mark_is_missing_before_it() -> None:
    spread = SPREAD.replace("{%- macro", "{%- macro", 1) % (".", "")
    indexed = spread.replace(
        "{%- else -%}{{ path }}",
        "{%- elif v is sequence and v is not string and v -%}{%- for x in v -%}{{ row(path ~ '.#' ~ loop.index0, x) }}{%- endfor -%}"
        "{%- else -%}{{ path }}",
    )
    tool = make_tool("tag", names="array", rooms="object")
    found = read_all_ways(analyze(indexed), '\n[[call tag]]\nnames.0 = "a"\nnames.1 = "b"\nrooms.0 = "c"\n[[/call]]\n<<over>>', [tool], "<<assistant>>")
    assert json.loads(found.calls[0][1]) == {"names": ["a", "b"], "rooms": {"0": "c"}}


def test_the_path_of_an_item_stands_where_an_argument_may_begin() -> None:
    format = analyze(LISTED % (".", "#", "index", ""))
    tool = make_tool("pin", note="string", tags="array")
    found = read_all_ways(format, '\n[[call pin]]\nnote = "a" tags#1 = "b"\ntags#2 = "c"\n[[/call]]\n<<over>>', [tool], "<<assistant>>")
    assert json.loads(found.calls[0][1]) == {"note": "a", "tags": ["b", "c"]}
