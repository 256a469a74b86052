"""What nobody wrote is no argument, no key and no value. The templates are invented."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from invent import draw
from invent.turns import Speaker, make_turns
from rendering import BOS, EOS
from streams import analyze, get_calls, make_tool, read, read_all_ways
from turns import Turn

import chat_autoparser as ca

LINES = """\
{%%- for m in messages -%%}
{{ "~~ " ~ m.role ~ "\\n" ~ (m.content or "") }}
{%%- for c in m.tool_calls or [] %%}{{ "\\n%(call)s " ~ c.function.name ~ %(id)s }}
{%%- for k, v in c.function.arguments.items() %%}{{ "\\n" ~ k }}
{%%- if v is string %%}{{ "%(text)s" ~ v | replace("\\\\", "\\\\\\\\") | replace("\\n", "\\\\n") }}
{%%- else %%}{{ "%(other)s" ~ v | tojson }}{%% endif %%}{%% endfor %%}{{ "\\n%(end)s" }}
{%%- endfor %%}{{ "\\n~~ over\\n" }}
{%%- endfor %%}
{%%- if add_generation_prompt %%}{{ "~~ assistant\\n" }}{%% endif %%}
"""
"""A call is a block of lines; a text is one line, in which line breaks are escaped."""

TYPED = LINES % {"text": "=", "other": ":=", "call": "!do", "end": "!done", "id": "' #' ~ c.id"}
ARROWS = LINES % {"text": " -> ", "other": " => ", "call": "::act", "end": "::", "id": "''"}
COLONS = LINES % {"text": ": ", "other": ": ", "call": "@@run", "end": "@@end", "id": "''"}

PREFIXED = """\
{%- for m in messages -%}
{{ "((by " ~ m.role ~ "))\\n" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ '\\n<go to="' ~ c.function.name ~ '">' }}
{%- for k, v in c.function.arguments.items() %}
{%- if v is string %}{{ "\\n<s." ~ k ~ ">" ~ v | replace("&", "&amp;") | replace("<", "&lt;") ~ "</s." ~ k ~ ">" }}
{%- elif v is none %}{{ "\\n<z." ~ k ~ "/>" }}
{%- else %}{{ "\\n<j." ~ k ~ ">" ~ v | tojson ~ "</j." ~ k ~ ">" }}{% endif %}
{%- endfor %}{{ "\\n</go>" }}
{%- endfor %}{{ "\\n((over))\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "((by assistant))\\n" }}{% endif %}
"""
"""What stands before a key tells of what type its value is; an empty value is a tag that closes itself."""

TOOLS = [
    make_tool("save", path="string", body="string", times="integer"),
    make_tool("peek", deep="null", tags="array", note="string"),
    make_tool("now"),
]


def read_lines(template: str, text: str) -> tuple[str | None, list[tuple[str, Any]], list[str], set[int]]:
    """What a text is read as, whatever pieces it comes in: content, calls, what was relaxed, and which calls are not whole."""
    format = analyze(template)
    prompt = ca.load_renderer(template)([{"role": "user", "content": "Go."}], TOOLS, True)
    found = read_all_ways(format, text, TOOLS, prompt)
    return found.content, get_calls(found), found.recoveries, found.incomplete


@pytest.mark.parametrize(
    ("template", "text", "arguments"),
    [
        pytest.param(
            TYPED,
            "\n!do save #1\npath=a\nbody=Roses are red\nViolets are blue\n!done\n~~ over",
            {"path": "a", "body": "Roses are red\nViolets are blue"},
            id="a line that holds no sign",
        ),
        pytest.param(
            TYPED,
            "\n!do save #1\nbody=import sys\nx = 1\nlet y=2\nThe end: all\npath=a\ntimes:=2\n!done\n~~ over",
            {"body": "import sys\nx = 1\nlet y=2\nThe end: all", "path": "a", "times": 2},
            id="lines that look like entries",
        ),
        pytest.param(
            TYPED,
            "\n!do save #1\npath = a\n times := 2\nbody =b\n!done\n~~ over",
            {"path": "a", "times": 2, "body": "b"},
            id="blanks around signs",
        ),
        pytest.param(
            ARROWS,
            "\n::act save\nbody -> one\ntwo -> three four\nx=>5\nnext step -> go\ntimes=>2\n::\n~~ over",
            {"body": "one", "two": "three four\nx=>5\nnext step -> go", "times": 2},
            id="a word to the letter of the template is a key, words are none",
        ),
        pytest.param(
            COLONS,
            "\n@@run save\nbody: Dear all,\nPS = see below\nNote well: yes\npath: a\n@@end\n~~ over",
            {"body": "Dear all,\nPS = see below\nNote well: yes", "path": "a"},
            id="colons",
        ),
    ],
)
def test_a_line_that_is_no_entry_goes_on_with_the_text_before_it(template: str, text: str, arguments: dict[str, Any]) -> None:
    content, calls, _, incomplete = read_lines(template, text)
    assert (content, calls, incomplete) == (None, [("save", arguments)], set())


def test_what_the_tool_declares_may_have_blanks() -> None:
    """A key is as the tool has it."""
    tools = [make_tool("save", **{"full name": "string", "body": "string"})]
    text = "\n!do save #1\nbody=b\nfull name=Ann\n!done\n~~ over"
    found = read_all_ways(analyze(TYPED), text, tools, "~~ assistant\n")
    assert found.calls == [("save", '{"body": "b", "full name": "Ann"}')]


def test_strict_reading_takes_what_the_template_renders() -> None:
    text = "\n!do save #1\nbody=b\nlet y=2\n!done\n~~ over"
    found = read_all_ways(analyze(TYPED), text, TOOLS, "~~ assistant\n", policy="strict")
    assert found.calls == [("save", '{"body": "b", "let y": "2"}')]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        pytest.param(
            "\n!do save #1\npath=a\ntimes:=2\n!do now #2\n~~ over",
            [("save", {"path": "a", "times": 2}), ("now", {})],
            id="behind a number, and behind an id",
        ),
        pytest.param(
            "\n!do now #12\n!do save #13\nbody=a\n!do now #14\n!done\n~~ over",
            [("now", {}), ("save", {"body": "a"}), ("now", {})],
            id="behind an id, and behind a text",
        ),
        pytest.param(
            "\n!do save #1\nbody=see\n!do nothing #2\n!done\n~~ over",
            [("save", {"body": "see\n!do nothing #2"})],
            id="a tool that nobody has",
        ),
    ],
)
def test_the_next_call_ends_a_call_of_lines(text: str, calls: list[tuple[str, Any]]) -> None:
    content, found, recoveries, incomplete = read_lines(TYPED, text)
    assert (content, found, incomplete) == (None, calls, set())
    assert set(recoveries) <= {"end of a call missing"}


def test_a_call_that_begins_where_the_output_ends_is_no_text() -> None:
    form = analyze(TYPED)
    found = read_all_ways(form, "\n!do save #1\nbody=a\n!do now #1", TOOLS, "~~ assistant\n")
    assert (found.calls, found.incomplete) == ([("save", '{"body": "a')], {0})


def test_a_mark_ends_what_is_open_in_a_notation_of_its_own() -> None:
    """Brackets are added where the parser writes them; texts may hold the mark."""
    template = """\
{%- macro put(v) -%}
{%- if v is string %}{{ "<~" ~ v ~ "~>" }}
{%- elif v is mapping %}{{ "{" }}{% for k, x in v.items() %}{{ k ~ ":" ~ put(x) ~ ("," if not loop.last else "") }}{% endfor %}{{ "}" }}
{%- elif v is iterable %}{{ "[" }}{% for x in v %}{{ put(x) ~ ("," if not loop.last else "") }}{% endfor %}{{ "]" }}
{%- else %}{{ v | tojson }}{% endif %}
{%- endmacro -%}
{%- for m in messages -%}{{ "((" ~ m.role ~ "))" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ "<:act:>" ~ c.function.name ~ put(c.function.arguments) ~ "<:/act:>" }}{% endfor %}{{ "((over))" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "((assistant))" }}{% endif %}
"""
    tools = [make_tool("book", who="string", at="object", tags="array"), make_tool("now")]
    form = analyze(template)
    whole = "<:act:>book{who:<~a }<:/act:> b~>,at:{day:<~x~>,in:{n:2}},tags:[<~y~>,{m:[1]}]}<:/act:>"
    expected = {"who": "a }<:/act:> b", "at": {"day": "x", "in": {"n": 2}}, "tags": ["y", {"m": [1]}]}
    found = read_all_ways(form, whole + "((over))", tools, "((assistant))")
    assert [json.loads(arguments) for _, arguments in found.calls] == [expected]
    for size in range(1, 5):
        text = whole.removesuffix("<:/act:>")[:-size] + "<:/act:><:act:>now{}<:/act:>((over))"
        found = read_all_ways(form, text, tools, "((assistant))")
        calls = get_calls(found)
        assert (found.content, calls, found.incomplete) == (None, [("book", expected), ("now", {})], set()), text
        assert "brackets missing" in found.recoveries or size == 1
    cut = whole[: whole.index("2}}") + 1] + "((over))"
    found = read_all_ways(form, cut, tools, "((assistant))")
    assert [json.loads(arguments) for _, arguments in found.calls] == [{"who": expected["who"], "at": expected["at"]}]


def test_a_word_of_the_format_is_no_argument() -> None:
    """An entry that lacks a mark is no object of arguments."""
    template = """\
{%- for m in messages -%}{{ "((" ~ m.role ~ "))" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ '<:act:>{"do": "' ~ c.function.name ~ '", "with": [' }}
{%- for k, v in c.function.arguments.items() %}{{ '{"called": "' ~ k ~ '", "holds": ' ~ v | tojson ~ "}" }}{{ ", " if not loop.last }}
{%- endfor %}{{ "]}<:/act:>" }}{% endfor %}{{ "((over))" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "((assistant))" }}{% endif %}
"""
    form = analyze(template)
    text = '<:act:>{"do": "save", "with": [{"called": "path" "a"}, {"called": "times", "holds": 3}]}<:/act:>((over))'
    found = read_all_ways(form, text, TOOLS, "((assistant))")
    assert "called" not in str(found.calls)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        pytest.param("\n::act save\nbody -> a\n\ntimes => 2\n::\n~~ over", {"body": "a", "times": 2}, id="an empty line"),
        pytest.param("\n::act save\ntimes => 2\n  path -> a\n::\n~~ over", {"times": 2, "path": "a"}, id="indented"),
    ],
)
def test_layout_before_a_key_is_no_part_of_it(text: str, arguments: dict[str, Any]) -> None:
    assert read_lines(ARROWS, text)[1] == [("save", arguments)]


def test_a_mark_before_a_key_is_no_part_of_it_where_it_comes_twice() -> None:
    template = """\
{%- for m in messages -%}{{ "((" ~ m.role ~ "))" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ "[:act " ~ c.function.name }}
{%- for k, v in c.function.arguments.items() %}{{ " --" ~ k ~ " " ~ v | tojson }}{% endfor %}{{ " act:]" }}{% endfor %}{{ "((over))" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "((assistant))" }}{% endif %}
"""
    text = '[:act save -- --path "a" --  --times 3 act:]((over))'
    found = read_all_ways(analyze(template), text, TOOLS, "((assistant))")
    assert [json.loads(arguments) for _, arguments in found.calls] == [{"path": "a", "times": 3}]


STATED = """\
{%- macro put(v) -%}
{%- if v is string %}{{ "'" ~ v | replace("'", "''") ~ "'" }}
{%- elif v is mapping %}{{ "{" }}{% for k, x in v.items() %}{{ put(k) ~ "~ " ~ put(x) ~ (", " if not loop.last else "") }}{% endfor %}{{ "}" }}
{%- elif v is sequence %}{{ "[" }}{% for x in v %}{{ put(x) ~ (", " if not loop.last else "") }}{% endfor %}{{ "]" }}
{%- else %}{{ (v | tojson) | upper }}{% endif %}
{%- endmacro -%}
{%- for m in messages -%}{{ "<%" ~ m.role ~ "%>" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ "\\nDO " ~ c.function.name ~ "(" }}
{%- for k, v in c.function.arguments.items() %}{{ k ~ " := " ~ put(v) ~ (", " if not loop.last else "") }}{% endfor %}
{{- ") NAMED " ~ c.id ~ ";" }}{% endfor %}{{ "<%over%>" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<%assistant%>" }}{% endif %}
"""
"""The id of a call stands behind its arguments."""


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        pytest.param("\nDO peek(tags := LIST['a', 'b'], note := 'c') NAMED 1;", "peek", {"tags": ["a", "b"], "note": "c"}, id="word"),
        pytest.param("\nDO peek(tags := ['a']) NAMED 1;;", "peek", {"tags": ["a"]}, id="sign behind a call"),
        pytest.param("\nDO save(path := 'a', times := 2,) NAMED 1;", "save", {"path": "a", "times": 2}, id="sign behind arguments"),
        pytest.param("\nDO save(path := 'LIST[1]', body := 'b',) NAMED 1;", "save", {"path": "LIST[1]", "body": "b"}, id="text"),
    ],
)
def test_structure_is_no_value(text: str, name: str, arguments: dict[str, Any]) -> None:
    """A word before a list, where the tool wants one, and separators behind the last argument and the last call."""
    found = read_all_ways(analyze(STATED), text + "<%over%>", TOOLS, "<%assistant%>")
    calls = get_calls(found)
    assert (found.content, calls, found.ids, found.incomplete) == (None, [(name, arguments)], ["1"], set())


def list_texts(value: object, keys: bool) -> Iterator[str]:
    """The keys in a value, or its texts."""
    if isinstance(value, dict):
        yield from value if keys else ()
        for item in value.values():
            yield from list_texts(item, keys)
    elif isinstance(value, list):
        for item in value:
            yield from list_texts(item, keys)
    elif isinstance(value, str) and not keys:
        yield value


def mutate(text: str, dice: random.Random, marks: list[str]) -> str:
    """A slip: white space between words, a sign or a mark that is left out or another one, or the rest of the turn twice."""
    at = dice.randrange(len(text))
    while text[max(at - 1, 0) : at + 1].isalnum():
        at = (at + 1) % len(text)
    signs = [place for place, sign in enumerate(text) if not (sign.isalnum() or sign == "_")]
    places = [found.span() for mark in marks for found in re.finditer(re.escape(mark), text)]
    start, end = dice.choice(places)
    kind, sign = dice.randrange(5), dice.choice(signs)
    if kind == 0:
        return text[:at] + dice.choice(" \n") + text[at:]
    if kind == 1:
        return text[:sign] + text[sign + 1 :]
    return text[:start] + ("", text[start:end] * 2, dice.choice((" : ", " = ", "\n", ", ", " ")))[kind - 2] + text[end:]


def find_invented(form: ca.ChatFormat, turn: Turn, text: str) -> list[str]:
    """Keys of calls that no tool declares and that do not stand as keys in a text, and words that are cut in it."""
    declared = set(list_texts([turn.tools, turn.expected["tool_calls"]], True))
    strict = {key for _, arguments in read(form, [text], turn.tools, turn.prompt, "strict").calls for key in _load(arguments)}
    found: list[str] = []
    for _, arguments in read(form, [text], turn.tools, turn.prompt).calls:
        value = _load(arguments)
        new = (key for key in value if key not in declared | strict)
        found += [key for key in new if f'"{key}"' not in text and f"'{key}'" not in text]
        words = (word for word in list_texts(value, False) if word.isascii() and re.fullmatch(r"[\w ]*\w", word))
        found += [word for word in words if not re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text)]
    return found


def _load(arguments: str) -> dict[str, Any]:
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@pytest.mark.parametrize("number", range(12))
def test_a_slip_in_a_drawn_format_invents_nothing(number: int) -> None:
    dice = random.Random(f"slip:{number}")
    speaker = Speaker(draw(dice))
    form = ca.analyze(speaker.source, bos_token=BOS, eos_token=EOS)
    turns = [turn for turn in make_turns(speaker, number) if turn.expected["tool_calls"] and not (turn.unreadable or turn.ended)]
    marks = sorted({edge.text for edge in form.graph.turn.edges if edge.text.strip()})
    for turn in dice.sample(turns, min(3, len(turns))):
        known = find_invented(form, turn, turn.text)
        for _ in range(16):
            text = mutate(turn.text, dice, marks)
            assert set(find_invented(form, turn, text)) <= set(known), (speaker.source, text)


ADDRESSED = """\
{%- for m in messages -%}{{ "{% " ~ m.role ~ " %}\\n" ~ (m.content or "") }}
{%- for c in m.tool_calls or [] %}{{ "{% act %}\\ndo:" ~ c.function.name }}
{%- for k, v in c.function.arguments.items() %}{{ (";" if loop.first else ",") ~ k ~ "=" ~ v | tojson | urlencode }}{% endfor %}
{{- "{% done %}" }}{% endfor %}{{ "{% over %}" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "{% assistant %}\\n" }}{% endif %}
"""
LISTED_ROWS = """\
{%- for m in messages -%}{{ "{% " ~ m.role ~ " %}\\n" ~ (m.content or "") }}
{%- if m.tool_calls %}{{ "{% rows %}\\ntool : key : value\\n=================" }}
{%- for c in m.tool_calls %}{% set number = loop.index %}
{%- for k, v in c.function.arguments.items() %}{{ "\\n" ~ number ~ " : " ~ c.function.name ~ " : " ~ k ~ " : " ~ v | tojson }}{% endfor %}
{%- endfor %}{{ "\\n{% done %}" }}{% endif %}{{ "{% over %}" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "{% assistant %}\\n" }}{% endif %}
"""
QUOTED = """\
{%- for m in messages -%}{{ "{% " ~ m.role ~ " %}\\n" }}
{%- if m.role != "assistant" %}{{ m.content }}{% elif m.content %}{{ "(tell " ~ m.content | tojson ~ ")\\n" }}{% endif %}
{%- for c in m.tool_calls or [] %}{{ "(do " ~ c.function.name }}
{%- for k, v in c.function.arguments.items() %}{{ " (" ~ k ~ " " ~ v | tojson ~ ")" }}{% endfor %}{{ ")\\n" }}
{%- endfor %}{{ "{% over %}" }}
{%- endfor %}
{%- if add_generation_prompt %}{{ "{% assistant %}\\n" }}{% endif %}
"""


@pytest.mark.parametrize(
    ("template", "text", "content"),
    [
        pytest.param(
            ADDRESSED,
            "Write do:save;path=%22a%22 to keep it.{% over %}",
            "Write do:save;path=%22a%22 to keep it.",
            id="in a sentence",
        ),
        pytest.param(
            LISTED_ROWS,
            'So:\n\ntool : key : value\n=================\n1 : save : path : "a"\n\nThat is all.{% over %}',
            'So:\n\ntool : key : value\n=================\n1 : save : path : "a"\n\nThat is all.',
            id="in a table",
        ),
        pytest.param(
            QUOTED,
            '(tell "The form (do save (path \\"a\\")) keeps it.")\n{% over %}',
            'The form (do save (path "a")) keeps it.',
            id="in a text in quotes",
        ),
    ],
)
def test_a_call_without_its_mark_is_text(template: str, text: str, content: str) -> None:
    """Words that begin a call stand in any answer: without the mark before them they tell nothing."""
    found = read_all_ways(analyze(template), text, TOOLS, "{% assistant %}\n")
    assert (found.calls, found.content, found.reasoning) == ([], content, None)


def test_a_call_behind_an_answer_that_has_ended_is_one() -> None:
    found = read_all_ways(analyze(QUOTED), 'I keep it.\n(do save (path "a"))\n{% over %}', TOOLS, "{% assistant %}\n")
    assert get_calls(found) == [("save", {"path": "a"})]
    assert (found.content or "").strip() == "I keep it."


WRITTEN = """\
{%%- for m in messages -%%}{{ "<%%" ~ m.role ~ "%%>" ~ (m.content or "") }}
{%%- for c in m.tool_calls or [] %%}{{ "\\nrun " ~ c.function.name ~ "(" }}
{%%- for k, v in c.function.arguments.items() %%}{{ k ~ %(open)s ~ ((v if v is string else v | tojson)%(escape)s) ~ %(close)s }}
{%%- if not loop.last %%}{{ %(between)s }}{%% endif %%}{%% endfor %%}{{ ")run" }}{%% endfor %%}{{ "§<%%over%%>" }}
{%%- endfor %%}
{%%- if add_generation_prompt %%}{{ "<%%assistant%%>" }}{%% endif %%}
"""
ESCAPED = r""" | replace("\\", "\\\\") | replace("\n", "\\n")"""
BARRED = WRITTEN % {"open": "' => \"\"\"'", "close": "'\"\"\"'", "between": "' | '", "escape": ESCAPED}
CURLED = WRITTEN % {"open": "'=“'", "close": "'”'", "between": r"'\n'", "escape": r"""|replace("%", "%25")|replace("\n", "%0A")"""}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param(BARRED, '\nrun save(times => """2""" | path => """a""" | other => """b c""")run', id="signs with blanks"),
        pytest.param(CURLED, "\nrun save(times=“2”\npath=“a”\nother=“b c”)run", id="an escaped line break"),
    ],
)
def test_an_argument_that_no_tool_declares_is_read(template: str, text: str) -> None:
    """Where a text has ended, a key follows."""
    found = read_all_ways(analyze(template), text + "§<%over%>", TOOLS, "<%assistant%>")
    calls = get_calls(found)
    assert (found.content, calls, found.recoveries) == (None, [("save", {"times": 2, "path": "a", "other": "b c"})], [])


@pytest.mark.parametrize("end", ["§<%over%>", "§", ""])
def test_of_what_ends_a_turn_a_server_may_leave_the_first_mark(end: str) -> None:
    found = read_all_ways(analyze(CURLED), f"Done.{end}", TOOLS, "<%assistant%>")
    assert (found.content, found.calls) == ("Done.", [])
