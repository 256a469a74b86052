"""Calls told by the tools and parameters that they name, where nothing else of what the template writes is there."""

from __future__ import annotations

from typing import Any

import pytest
from streams import get_calls, make_tool, read_all_ways

import chat_autoparser as ca
from chat_autoparser.recover import fields, notation
from chat_autoparser.schema import ToolSet

TEMPLATE = """\
{%- for m in messages -%}
<{{ m.role }}>{{ m.content or '' }}
{%- if m.tool_calls -%}<jobs>
{%- for c in m.tool_calls %}
<job use="{{ c.function.name }}">
{%- for key, value in c.function.arguments.items() %}
  <with field="{{ key }}">{{ value if value is string else value | tojson }}</with>
{%- endfor %}
</job>
{%- endfor %}
</jobs>
{%- endif -%}
</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""

TOOLS = [make_tool("pin", ["note"], note="string", count="integer", tags="array", loud="boolean"), make_tool("ring-bell")]


@pytest.fixture(scope="module")
def form() -> ca.ChatFormat:
    return ca.analyze(TEMPLATE)


def read(form: ca.ChatFormat, text: str) -> tuple[str, list[tuple[str, Any]]]:
    found = read_all_ways(form, text, TOOLS, "<assistant>")
    return found.content or "", get_calls(found)


@pytest.mark.parametrize(
    ("inner", "arguments"),
    [
        pytest.param("pin note='a b' count=3", {"note": "a b", "count": 3}, id="attributes"),
        pytest.param('pin --note "a b" --count 3', {"note": "a b", "count": 3}, id="flags"),
        pytest.param("| pin | note | a b |\n| pin | count | 3 |", None, id="a table that names the tool twice"),
        pytest.param("pin\nnote: a b\ncount: 3\nloud: true", {"note": "a b", "count": 3, "loud": True}, id="lines"),
        pytest.param("pin({note: 'it\\'s', tags: ['x', 'y'],})", {"note": "it's", "tags": ["x", "y"]}, id="call syntax"),
        pytest.param("<pin note={`a`} loud={True} />", {"note": "a", "loud": True}, id="a tag that is the tool"),
        pytest.param("pin field='note'>a = b, c</with><with field='count'>3", {"note": "a = b, c", "count": 3}, id="raw text"),
        pytest.param(
            "pin field='note'>if a < b:\n    print(a)</with><with field='count'>3",
            {"note": "if a < b:\n    print(a)", "count": 3},
            id="lines that end with a bracket",
        ),
        pytest.param('pin :note "a b" :count 3 :loud true', {"note": "a b", "count": 3, "loud": True}, id="keywords"),
        pytest.param('pin (note "a b") (count 3)', {"note": "a b", "count": 3}, id="lists of a name and a value"),
        pytest.param('USE="pin" FIELD="note">x</with>', {"note": "x"}, id="words of the format in capitals"),
        pytest.param('pin {"note": "x", "count": null}', None, id="null where there is none"),
        pytest.param("pin note=f(a) count=3", {"note": "f(a)", "count": 3}, id="a bracket of the text's own"),
        pytest.param("pin note=He said \"so\" count='3'", {"note": 'He said "so"', "count": 3}, id="quotes within a text"),
        pytest.param("pin note = “count: 3”", {"note": "count: 3"}, id="a parameter within quotes"),
        pytest.param("pin use='string' note='x'", {"note": "x"}, id="words of the format and of schemas"),
        pytest.param('<tool name="pin"><arg name="note">x</arg><arg name="count">3</arg>', {"note": "x", "count": 3}, id="attributes that name"),
        pytest.param("pin\n<k>note</k>\n<v>x</v><k>count</k>\n<v>3</v>", {"note": "x", "count": 3}, id="keys and values in tags"),
        pytest.param("pin count=3", None, id="a parameter missing that is required"),
        pytest.param("pin note=x note=y", {"note": "x note=y"}, id="a parameter twice is a text"),
        pytest.param("pin note='x' note='y'", None, id="a parameter twice"),
        pytest.param("pin note='x' count=many", None, id="a value of another type"),
        pytest.param("pin note='x' please", None, id="a word that is nothing's"),
        pytest.param("please pin note='x'", None, id="a word before the tool"),
        pytest.param("pins note='x'", None, id="another tool"),
        pytest.param("pin a note, where count is small", None, id="prose"),
    ],
)
def test_fields_are_found_whatever_stands_between_them(form: ca.ChatFormat, inner: str, arguments: Any) -> None:
    text = f"Here.<jobs>\n<job {inner}\n</job>\n</jobs>"
    content, calls = read(form, text)
    if arguments is None:
        assert (content.strip(), calls) == (text, [])
    else:
        assert (content.strip(), calls) == ("Here.", [("pin", arguments)])


@pytest.mark.parametrize("word", ["json", "xml", ""])
@pytest.mark.parametrize(
    ("before", "inner", "behind"),
    [
        ("<jobs>\n", '<job use="pin">\n  <with field="note">x</with>\n</job>', "\n</jobs>"),
        ('<jobs>\n<job use="pin">\n', '{"note": "x"}', "\n</job>\n</jobs>"),
        ("<jobs>\n", '{"name": "pin", "arguments": {"note": "x"}}', "\n</jobs>"),
    ],
    ids=["a call", "arguments", "a call of another dialect"],
)
def test_fences_within_marks_are_dress(form: ca.ChatFormat, word: str, before: str, inner: str, behind: str) -> None:
    content, calls = read(form, f"Here.{before}```{word}\n{inner}\n```{behind}")
    assert (content.strip(), calls) == ("Here.", [("pin", {"note": "x"})])


def test_several_calls(form: ca.ChatFormat) -> None:
    text = "<jobs>\n<job pin note='x'></job>\n<job ring-bell></job>\n<job use=\"pin\">\n  <with field=\"note\">y</with>\n</job>\n</jobs>"
    assert read(form, text) == ("", [("pin", {"note": "x"}), ("ring-bell", {}), ("pin", {"note": "y"})])


OPENED = """\
{%- for m in messages -%}
<{{ m.role }}>{{ m.content or '' }}
{%- if m.tool_calls -%}[JOBS][{% for c in m.tool_calls -%}
{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}{{ '' if loop.last else ', ' }}
{%- endfor %}]{% endif -%}
</s>
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""


def test_brackets_end_a_call_where_no_mark_does() -> None:
    opened = ca.analyze(OPENED)
    for inner in ('pin{"note": "x"}', 'pin[ARGS]{"note": "x"}', "pin(note='x')"):
        assert read(opened, f"[JOBS]{inner}") == ("", [("pin", {"note": "x"})])
        for end in range(1, len(inner)):
            assert read(opened, f"[JOBS]{inner[:end]}")[1] == []
        assert read(opened, f"[JOBS]{inner} is what I would do.")[1] == []


def test_a_name_may_have_a_prefix(form: ca.ChatFormat) -> None:
    body = '\n  <with field="note">x</with>\n</job>\n</jobs>'
    for name in ("pin", "functions.pin", "tools:pin", "api/pin"):
        assert read(form, f'<jobs>\n<job use="{name}">{body}') == ("", [("pin", {"note": "x"})])
    for name in ("functions.pin:0", "tools/pin#12"):
        assert read(form, f'<jobs>\n<job use="{name}">{body}') == ("", [("pin", {"note": "x"})])
    assert read(form, f'<jobs>\n<job use="functions.pins">{body}') == ("", [("functions.pins", {"note": "x"})])


@pytest.mark.parametrize(
    "written",
    [
        '<function=pin>{"note": "x"}</function>',
        "<function=pin>\n<parameter=note>\nx\n</parameter>\n</function>",
        '<tool_use name="pin"><arg name="note">x</arg></tool_use>',
    ],
)
def test_a_mark_of_another_format_may_name_the_tool(form: ca.ChatFormat, written: str) -> None:
    assert read(form, written) == ("", [("pin", {"note": "x"})])
    assert read(form, f"I do it. {written}") == ("I do it. ", [("pin", {"note": "x"})])
    other = written.replace("pin", "pan")
    assert read(form, other) == (other, [])


def test_tags_of_another_format_end_a_call_whose_own_mark_is_cut(form: ca.ChatFormat) -> None:
    """The tag that names the tool is closed, so the call is whole; before that it is not."""
    written = "<jobs>\n<function=pin>\n<parameter=note>\nx\n</parameter>\n</function>"
    for behind in ("\n</jo", "\n</jobs", "\n", ""):
        assert read(form, written + behind) == ("", [("pin", {"note": "x"})])
    for end in range(6, len(written) - 1):
        assert read(form, written[:end])[1] == []


def test_calls_without_marks_may_have_no_arguments(form: ca.ChatFormat) -> None:
    """A name with brackets alone is no call yet; beside one with arguments it is."""
    assert read(form, "[ring-bell(), pin(note='x')]") == ("", [("ring-bell", {}), ("pin", {"note": "x"})])
    assert read(form, "[pin(note='x'), ring-bell()]") == ("", [("pin", {"note": "x"}), ("ring-bell", {})])
    assert read(form, "[ring-bell()]") == ("[ring-bell()]", [])


def test_what_ends_a_call_may_miss_its_middle(form: ca.ChatFormat) -> None:
    for name in ("pin", "ring-bell"):
        written = f'<jobs>\n<job use="{name}">\n  <with field="note">x</with>\n</jobs>'
        assert read(form, written) == ("", [(name, {"note": "x"})])


def test_what_is_cut_off_is_text(form: ca.ChatFormat) -> None:
    """Nothing tells whether the last value was to go on."""
    text = "<jobs>\n<job pin note='x' count=1"
    for end in range(1, len(text)):
        assert read(form, text[:end])[1] == []


@pytest.mark.parametrize("body", ["$a ", "use ", "' ", "[1,", '"a" ', "\\\\", "9"])
def test_work_is_bounded(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a text is made, few looks are taken at each of its characters."""
    steps: list[int] = []
    look = fields._Reader._pass_one

    def count(reader: Any, at: int, *more: Any) -> int:
        steps.append(at)
        return look(reader, at, *more)

    monkeypatch.setattr(fields._Reader, "_pass_one", count)
    text = f"pin note={body * 1200} count={body * 1200}"
    fields.read_fields(text, ToolSet(TOOLS), notation.Notation(frozenset({"use", "job"})))
    assert len(steps) <= 2 * len(text) + 1000


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("pin('a b')", {"note": "a b"}),
        ('pin("a, b)", 3)', {"note": "a, b)", "count": 3}),
        ("pin('a', loud=True)", {"note": "a", "loud": True}),
        ("pin('a', 3, ['x'], tags=['y'])", None),
        ("pin(3)", None),
        ("pin('a', 'b')", None),
        ("pin('a', 3, [], True, 5)", None),
    ],
)
def test_values_without_keys_are_those_of_the_first_parameters(form: ca.ChatFormat, written: str, arguments: Any) -> None:
    """In parentheses, if the schemas of all accept them; else nothing of it is a call."""
    for text in (written, f"[{written}]", f"<jobs>{written}</jobs>"):
        assert read(form, text) == (("", [("pin", arguments)]) if arguments else (text, []))


def test_attributes_beside_the_name_of_a_parameter_are_none_of_its_value(form: ca.ChatFormat) -> None:
    text = '<tool_use name="pin"><arg name="note" string="true">/a/b/</arg>\n<arg name="count" string="false">3</arg></tool_use>'
    assert read(form, text) == ("", [("pin", {"note": "/a/b/", "count": 3})])
    text = '<tool_use name="pin"><arg name="note" value="a b"></arg></tool_use>'
    assert read(form, text) == ("", [("pin", {"note": "a b"})])


@pytest.mark.parametrize("note", ["a)", "f(x", "[1, {2", "it's (so"])
def test_brackets_in_quotes_are_none_of_a_call(form: ca.ChatFormat, note: str) -> None:
    """The last bracket closes all, though nothing else ends the call."""
    text = f'[pin(note="{note}", tags=["b"])]'
    assert read(form, text) == ("", [("pin", {"note": note, "tags": ["b"]})])


def test_strict_reads_none(form: ca.ChatFormat) -> None:
    text = "<jobs>\n<job pin note='x'></job>\n</jobs>"
    message = form.parse(text, tools=TOOLS, prompt="<assistant>", policy="strict")
    assert message["content"] == text


@pytest.mark.parametrize("spaces", [1, 4, 5, 9])
def test_tag_that_names_a_tool_is_read_alike_in_pieces(form: ca.ChatFormat, spaces: int) -> None:
    """However much white space stands in it."""
    text = f'<tool_use{" " * spaces}name="pin"><arg name="note">x</arg></tool_use>'
    found = read_all_ways(form, text, TOOLS, "<assistant>")
    assert (found.content, found.calls) == (None, [("pin", '{"note": "x"}')])


@pytest.mark.parametrize("end", ["]", ""])
def test_a_list_of_calls_may_lack_its_last_bracket(form: ca.ChatFormat, end: str) -> None:
    content, calls = read(form, f'<|calls|>[pin(note="a", count=2), pin(note="b"){end}')
    assert (content, calls) == ("", [("pin", {"note": "a", "count": 2}), ("pin", {"note": "b"})])


def test_what_a_tool_requires_may_be_missing_beside_a_call_that_has_all() -> None:
    tools = [TOOLS[0], make_tool("mark", ["title"], title="string", colour="string")]
    form = ca.analyze(TEMPLATE)
    found = read_all_ways(form, '<|calls|>[pin(note="a"), mark(colour="red")]<|calls|>', tools, "<assistant>")
    assert (found.content, get_calls(found)) == (None, [("pin", {"note": "a"}), ("mark", {"colour": "red"})])
    alone = read_all_ways(form, '<|calls|>[mark(colour="red")]<|calls|>', tools, "<assistant>")
    assert alone.calls == []
