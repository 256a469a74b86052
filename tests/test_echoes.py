"""Marks that repeat a key or a name, as tags do that are called like what they hold, are marks like others."""

from __future__ import annotations

import re

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways
from test_slips import WRAPPER

from chat_autoparser.plan.echoes import ECHOES, begins, fill_echoes, find_any

ELEMENTS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}{{ '\\n' }}<do:{{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    "{{ '\\n' }}<{{ k }}>{% if v is string %}{{ '\\n' ~ v ~ '\\n' }}{% else %}{{ v | tojson }}{% endif %}</{{ k }}>{% endfor %}"
    "{{ '\\n' }}</do:{{ c.function.name }}>{%- endfor -%}"
)
"""An element for each call, and one for each argument: texts have lines of their own in it."""

TOOLS = [make_tool("post", note="string", copies="integer", who="array"), make_tool("stop")]
NOTE = "<note>\na < b\n</note>"
SLIPS = {
    "as written": (f"<do:post>\n{NOTE}\n<copies>3</copies>\n</do:post>", {"note": "a < b", "copies": 3}),
    "text in its line": ("<do:post>\n<note>a < b</note>\n<copies>3</copies>\n</do:post>", {"note": "a < b", "copies": 3}),
    "number in a line": (f"<do:post>\n{NOTE}\n<copies>\n3\n</copies>\n</do:post>", {"note": "a < b", "copies": 3}),
    "all in a line": ("<do:post><note>a < b</note><copies>3</copies></do:post>", {"note": "a < b", "copies": 3}),
    "no end of a text": ("<do:post>\n<note>\na < b\n<copies>3</copies>\n</do:post>", {"note": "a < b", "copies": 3}),
    "no end of the last text": ("<do:post>\n<note>\na < b\n</do:post>", {"note": "a < b"}),
    "no end of a number": ("<do:post>\n<copies>3\n</do:post>", {"copies": 3}),
    "end without the name": (f"<do:post>\n{NOTE}\n</do>", {"note": "a < b"}),
    "end doubled": (f"<do:post>\n{NOTE}\n</do:post>\n</do:post>", {"note": "a < b"}),
    "arguments as JSON": ('<do:post>\n{"note": "a < b"}\n</do:post>', {"note": "a < b"}),
    "other elements in a text": ("<do:post>\n<note>\n<b>a</b>\n<p>\n</note>\n</do:post>", {"note": "<b>a</b>\n<p>"}),
}


@pytest.mark.parametrize("name", SLIPS)
def test_slips(name: str) -> None:
    written, arguments = SLIPS[name]
    found = read_all_ways(analyze(ELEMENTS), f"Hm.\n{written}<<over>>", TOOLS, policy="repair")
    assert (found.content, get_calls(found)) == ("Hm.", [("post", arguments)])
    assert bool(found.recoveries) == (name not in ("as written", "text in its line", "number in a line", "all in a line", "other elements in a text"))


PREFIXED = ELEMENTS.replace("<{{ k }}>", "<with:{{ k }}>").replace("</{{ k }}>", "</with:{{ k }}>").replace(r"{{ '\\n' ~ v ~ '\\n' }}", "{{ v }}")


@pytest.mark.parametrize("ends", [("</with>", "</with:copies>"), ("</with:note>", "</with>"), ("</with>", "</with>")])
@pytest.mark.parametrize("last", ["</do:post>", "</do>"])
def test_an_end_without_the_key(ends: tuple[str, str], last: str) -> None:
    format = analyze(PREFIXED)
    assert format.verdict.proven
    written = f"\n<do:post>\n<with:note>a < b{ends[0]}\n<with:copies>3{ends[1]}\n{last}<<over>>"
    found = read_all_ways(format, written, TOOLS)
    assert (found.content, get_calls(found)) == (None, [("post", {"note": "a < b", "copies": 3})])


def test_a_further_call_follows_an_end_without_the_name() -> None:
    found = read_all_ways(analyze(ELEMENTS), f"\n<do:post>\n{NOTE}\n</do>\n<do:stop>\n</do><<over>>", TOOLS)
    assert (found.content, get_calls(found)) == (None, [("post", {"note": "a < b"}), ("stop", {})])


def test_a_cut_end_is_no_text() -> None:
    format, whole = analyze(ELEMENTS), f"\n<do:post>\n{NOTE}\n</do:post>"
    first = whole.index("\n</note>")
    for size in range(first, len(whole)):
        found = read_all_ways(format, whole[:size], TOOLS)
        assert found.content is None
        assert found.calls[0][1].rstrip('"}') == '{"note": "a < b', whole[first:size]


def test_words_are_filled_in() -> None:
    text = f"</{ECHOES['key']}>\n</do:{ECHOES['name']}>"
    words = {"key": "note", "name": "post"}
    assert fill_echoes(text, words.get) == "</note>\n</do:post>"
    assert fill_echoes(text, {"key": "note"}.get) is None
    assert fill_echoes(text, {"key": ECHOES["key"], "name": "post"}.get) is None
    assert re.fullmatch(find_any([text]), "</note>\n</do:post>")
    written = "</note>\n</do:post>"
    assert all(begins(text, written[:size]) for size in range(len(written) + 1))
    assert not begins(text, "</note>\n</run:")


def test_what_stands_for_a_word_is_a_letter_like_others_in_an_output() -> None:
    format = analyze(ELEMENTS)
    for letter in ECHOES.values():
        found = read_all_ways(format, f"\n<do:post>\n<note>\n{letter}</{letter}>\n</note>\n</do:post><<over>>", TOOLS)
        assert get_calls(found) == [("post", {"note": f"{letter}</{letter}>"})]
        read_all_ways(format, f"\n<do:post>\n<{letter}>\nx\n</{letter}>\n</do:post><<over>>", TOOLS)  # no fault


NESTED = (
    "{%- macro put(k, v) -%}<{{ k }}>{% if v is mapping %}{% for a, b in v.items() %}{{ put(a, b) }}{% endfor %}"
    "{% elif v is string %}{{ '\\n' ~ v ~ '\\n' }}{% else %}{{ v | tojson }}{% endif %}</{{ k }}>{%- endmacro -%}"
) + WRAPPER % (
    "{%- for c in m.tool_calls or [] %}<do:{{ c.function.name }}>{% for k, v in c.function.arguments.items() %}{{ put(k, v) }}"
    "{% endfor %}</do:{{ c.function.name }}>{%- endfor -%}"
)
"""The same, one within the other."""


@pytest.mark.parametrize(
    ("written", "value"),
    [("<w>2</w>", 2), ("<w>\n2\n</w>", "2"), ("<w>red</w>", "red"), ("<w>2 red</w>", "2 red"), ("<w>true</w>", True)],
)
def test_layout_tells_the_type_where_a_schema_does_not(written: str, value: object) -> None:
    """Of an argument that may be of two types, of one that nobody declares, and of what is in an object."""
    tools = [make_tool("paint", frame="object")]
    tools[0]["function"]["parameters"]["properties"]["w"] = {"type": ["string", "integer", "boolean"]}
    format = analyze(NESTED)
    for inner, arguments in ((written, {"w": value}), (f"<frame>{written}</frame>", {"frame": {"w": value}})):
        found = read_all_ways(format, f"<do:paint>{inner}</do:paint><<over>>", tools)
        assert get_calls(found) == [("paint", arguments)]
    found = read_all_ways(format, f"<do:paint>{written.replace('w', 'other')}</do:paint><<over>>", tools)
    assert get_calls(found) == [("paint", {"other": value})]
