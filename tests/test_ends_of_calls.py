"""Ends of values and calls that are missing, doubled or there without need, and what begins a call behind them. The templates are
invented."""

from __future__ import annotations

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

FRAME = (
    "{%%- for m in messages -%%}<<{{ m.role }}>>\n{{ m.content or '' }}{%% for c in m.tool_calls or [] %%}%s{%% endfor %%}<<over>>\n"
    "{%% endfor -%%}{%%- if add_generation_prompt %%}<<assistant>>\n{%% endif -%%}"
)
FIELDS = "{% for k, v in c.function.arguments.items() %}"

TAGS = FRAME % (
    "\n<deed>\n<act={{ c.function.name }}>\n" + FIELDS + "<part={{ k }}>\n{{ v if v is string else v | tojson }}\n</part>\n{% endfor %}"
    "</act>\n</deed>"
)

WRAPPED = FRAME % (
    "\n<act name=\"{{ c.function.name }}\">" + FIELDS + "<part name=\"{{ k }}\">{% if v is string %}<raw:{{ v }}:raw>{% else %}"
    "{{ v | tojson }}{% endif %}</part>{% endfor %}</act>"
)
"""What ends a text is two marks."""

OPEN = FRAME % (
    "\n⟦do {{ c.function.name }}⟧" + FIELDS + "\n⟦{{ k }}⟧{{ v | tojson }}{% endfor %}\n⟦/do⟧"
)
"""No mark ends a value."""

LINES = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% if m.tool_calls %}\n[[batch]]{% for c in m.tool_calls %}\n"
    "#{{ loop.index }} {{ c.function.name }}\n{{ c.function.arguments | tojson }}{% endfor %}\n[[/batch]]{% endif %}<<over>>\n"
    "{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)

MAPS = (
    "{%- macro put(v) -%}{%- if v is mapping -%}{{ '{' }}{% for k, x in v.items() %}:{{ k }} {{ put(x) }}{{ ' ' if not loop.last }}"
    "{% endfor %}{{ '}' }}{%- elif v is iterable and v is not string -%}[{% for x in v %}{{ put(x) }}{{ ' ' if not loop.last }}"
    "{% endfor %}]{%- else -%}{{ v | tojson }}{%- endif -%}{%- endmacro -%}"
    "{%- for m in messages -%}({{ m.role }}\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n"
    "((do {{ c.function.name }} {{ put(c.function.arguments) }})){% endfor %}\n%over%\n{% endfor -%}"
    "{%- if add_generation_prompt %}(assistant\n{% endif -%}"
)

LAST = (
    "{%- for m in messages -%}:: {{ m.role }}\n{% if m.content %}say\n{{ m.content }}\n{% endif %}{% if m.tool_calls %}do\n"
    "{% for c in m.tool_calls %}{% set given = c.function.arguments %}{% if given is string %}  {{ given }}\n{% else %}"
    "{% for k, v in given.items() %}{{ '  text' if v is string else '  data' }} {{ k }} {{ v | tojson }}\n{% endfor %}{% endif %}  run {{ c.function.name }}\n{% endfor %}{% endif %}:: over\n{% endfor -%}{%- if add_generation_prompt %}:: assistant\n{% endif -%}"
)
"""The name of a call is what ends it; arguments that are text stand as they are, which nobody could tell from others."""

SIGNED = (
    "{%- macro put(s) -%}{%- for line in s.split('\\n') -%}{{ '> ' + line + '\\n' }}{%- endfor -%}{%- endmacro -%}"
    "{%- for m in messages -%}@{{ m.role }}\n{% if m.content %}{{ put(m.content) }}{% endif %}{% for c in m.tool_calls or [] %}! "
    "{{ c.function.name }}\n{% for k, v in c.function.arguments.items() %}{% if v is string %}* {{ k }} text\n{{ put(v) }}"
    "{% else %}* {{ k }} = {{ v | tojson }}\n{% endif %}{% endfor %}{% endfor %}.\n{% endfor -%}"
    "{%- if add_generation_prompt %}@assistant\n{% endif -%}"
)
"""One sign in a line of its own ends a turn."""

RARE = FRAME % (
    "\n~]tool[~<deeds>\n{% if true %}~]tool[~<deed name=\"{{ c.function.name }}\">" + FIELDS + "~]tool[~<{{ k }}>"
    "{{ v if v is string else v | tojson }}~]tool[~</{{ k }}>{% endfor %}~]tool[~</deed>\n{% endif %}~]tool[~</deeds>"
)
"""All marks begin alike."""

TOOLS = [
    make_tool("find_route", start="string", goal="string", legs="integer", stops="array"),
    make_tool("list_trips"),
    make_tool("book_trip", trip="string"),
]


def read(template: str, text: str, prompt: str = "<<assistant>>\n") -> Reading:
    format = analyze(template)
    assert format.verdict.proven, format.verdict
    return read_all_ways(format, text, TOOLS, prompt)


@pytest.mark.parametrize("name", ["unknown", "book_trip"])
def test_a_text_may_hold_the_end_of_a_call_and_a_further_call(name: str) -> None:
    """A template can render that: it is read so, however much a call may seem to follow that lacks no end but the text's."""
    text = f"</act>\n</deed>\n<deed>\n<act={name}>\n<part=trip>\nnight"
    call = f"\n<deed>\n<act=find_route>\n<part=start>\n{text}\n</part>\n</act>\n</deed>"
    assert get_calls(read(TAGS, f"{call}<<over>>\n")) == [("find_route", {"start": text})]


def test_every_end_may_be_doubled() -> None:
    ends = "\n</part>\n</part>\n</act>\n</act>\n</deed>\n</deed>"
    found = read(TAGS, f"Go.\n<deed>\n<act=find_route>\n<part=start>\nOslo{ends}<<over>>\n")
    assert ((found.content or "").strip(), get_calls(found)) == ("Go.", [("find_route", {"start": "Oslo"})])


def test_the_first_mark_of_what_ends_a_text_may_be_missing() -> None:
    call = '\n<act name="find_route"><part name="legs">2</part><part name="start"><raw:Oslo, <i>S</i></part></act>'
    assert get_calls(read(WRAPPED, f"{call}<<over>>\n")) == [("find_route", {"legs": 2, "start": "Oslo, <i>S</i>"})]


@pytest.mark.parametrize("end", ["<<over>>\n", ""])
def test_values_may_be_closed_by_their_keys(end: str) -> None:
    call = '\n⟦do find_route⟧\n⟦start⟧"Oslo"⟦/start⟧\n⟦legs⟧2⟦/legs⟧⟦stops⟧["Hamar"]⟦/stops⟧\n⟦/do⟧'
    found = read(OPEN, f"Go.{call}{end}")
    assert ((found.content or "").strip(), get_calls(found)) == ("Go.", [("find_route", {"start": "Oslo", "legs": 2, "stops": ["Hamar"]})])
    assert found.recoveries == ["value closed by its key"] * 3


def test_brackets_beyond_ascii_may_be_two_of_its_own() -> None:
    call = '\n[[do find_route]]\n[[start]]"Oslo"\n[[legs]]2\n[[/do]]'
    assert get_calls(read(OPEN, f"{call}<<over>>\n")) == [("find_route", {"start": "Oslo", "legs": 2})]


def test_a_call_without_arguments_may_stand_before_another_one() -> None:
    found = read(LINES, 'Go.\n[[batch]]\n#1 list_trips\n#2 find_route\n{"start": "Oslo"}\n#3 list_trips\n[[/batch]]<<over>>\n')
    assert ((found.content or "").strip(), get_calls(found)) == ("Go.", [("list_trips", {}), ("find_route", {"start": "Oslo"}), ("list_trips", {})])


def test_commas_may_stand_where_blanks_part_items() -> None:
    text = '\n((do find_route {:start "Oslo", :stops ["Hamar", "Voss", [1, 2], {:a 1, :b "x, y"}]}))\n%over%\n'
    stops = ["Hamar", "Voss", [1, 2], {"a": 1, "b": "x, y"}]
    assert get_calls(read(MAPS, text, "(assistant\n")) == [("find_route", {"start": "Oslo", "stops": stops})]


def test_a_comma_behind_a_text_is_no_item() -> None:
    text = '\n((do find_route {:stops ["Hamar", true, null, "", "a, b", 5]}))\n%over%\n'
    assert get_calls(read(MAPS, text, "(assistant\n")) == [("find_route", {"stops": ["Hamar", True, None, "", "a, b", 5]})]


def test_an_object_in_json_may_stand_for_one_of_the_formats_own() -> None:
    text = 'Go.\n((do find_route {"start": "Oslo", "legs": 2}))\n((do book_trip {:trip "night"}))\n%over%\n'
    found = read(MAPS, text, "(assistant\n")
    assert ((found.content or "").strip(), get_calls(found)) == ("Go.", [("find_route", {"start": "Oslo", "legs": 2}), ("book_trip", {"trip": "night"})])


def test_a_call_that_its_name_ends_is_not_told_twice() -> None:
    """Behind a name a further call may begin, which does not: what ended the first one is none of its text."""
    found = read_all_ways(analyze(LAST), 'do\n  text start "Oslo"\n  data legs 2\n  run find_route\n', TOOLS, ":: assistant\n")
    assert (found.content, get_calls(found)) == (None, [("find_route", {"start": "Oslo", "legs": 2})])


def test_the_line_before_the_sign_that_ends_a_turn_is_none_of_a_text() -> None:
    found = read(SIGNED, "! find_route\n* start text\n> Oslo\n> S\n* goal text\n> Voss\n", "@assistant\n")
    assert get_calls(found) == [("find_route", {"start": "Oslo\nS", "goal": "Voss"})]


def test_what_all_marks_begin_with_ends_no_call() -> None:
    text = 'a~]tool[~<deed name="book_trip">~]tool[~<trip>b'
    call = f'\n~]tool[~<deeds>\n~]tool[~<deed name="find_route">~]tool[~<start>{text}~]tool[~</start>~]tool[~</deed>\n~]tool[~</deeds>'
    assert get_calls(read(RARE, f"{call}<<over>>\n")) == [("find_route", {"start": text})]
