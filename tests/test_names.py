"""Names and ids between marks that a model writes otherwise than the template. The templates are invented."""

from __future__ import annotations

import pytest
from streams import analyze, read_all_ways
from test_slips import WRAPPER

NAMED = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}[[act]]{{ c.function.name }}[[with]]{{ c.function.arguments | tojson }}[[done]]{% endfor -%}"
)
CARRIED = WRAPPER % (
    "{%- if m.tool_calls %}[[acts]]{%- for c in m.tool_calls %}[[act]]{{ c.id }}[[with]]{{ c.function.arguments | tojson }}[[done]]"
    "{% endfor %}[[enough]]{% endif -%}"
)
"""Only the id tells the name."""

COUNTED = WRAPPER % (
    "{%- if m.tool_calls %}[[acts]]{%- for c in m.tool_calls %}[[act]]fn.{{ c.function.name }}#{{ loop.index0 }}[[with]]"
    "{{ c.function.arguments | tojson }}[[done]]{% endfor %}[[enough]]{% endif -%}"
)
"""The template makes ids of the names."""

FIELDS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}[[act]]{{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    "[[key]]{{ k }}[[is]]{{ v if v is string else v | tojson }}[[/is]]{% endfor %}[[done]]{% endfor -%}"
)
FORMATS = {"named": NAMED, "carried": CARRIED, "counted": COUNTED}
TOOLS = [
    {"name": "weather", "parameters": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}},
    {"name": "now", "parameters": {"properties": {}}},
]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "written",
    ["weather", " weather ", "\nweather\n", "fn.weather", " fn.weather#0 ", "weather#0", '"weather"', "call: weather", "fn/weather/0"],
)
def test_the_name_of_a_tool_between_marks_is_a_call_whatever_is_around_it(name: str, written: str) -> None:
    found = read_all_ways(analyze(FORMATS[name]), f'Hm.[[act]]{written}[[with]] {{"city": "Oslo"}} [[done]]', TOOLS)
    assert (found.content, found.calls) == ("Hm.", [("weather", '{"city": "Oslo"}')])


@pytest.mark.parametrize(
    ("written", "id"),
    [(" fn.weather:0 ", "fn.weather:0"), ('"fn.weather:0"', "fn.weather:0"), ("fn.weather", "fn.weather"), ("call: weather", None),
     ("fn_weather_0", "fn_weather_0"), ("weather_12", "weather_12"), ("fnweather0", "fnweather0")],
)
def test_an_id_that_carries_the_name_is_kept_as_it_is_written(written: str, id: str | None) -> None:
    found = read_all_ways(analyze(CARRIED), f"[[acts]] [[act]]{written}[[with]]{{}}[[done]] [[enough]]", TOOLS)
    assert found.calls == [("weather", "{}")]
    assert (found.ids[0] == id) if id else found.ids[0].startswith("call_")


@pytest.mark.parametrize("name", FORMATS)
def test_calls_without_what_stands_around_all_of_them_have_white_space_beside_each_mark(name: str) -> None:
    text = '[[act]]\nweather\n[[with]]\n{"days": 2}\n[[done]]\n[[act]]\nnow\n[[with]]\n{}\n[[done]]'
    found = read_all_ways(analyze(FORMATS[name]), text, TOOLS)
    assert (found.content, found.calls) == (None, [("weather", '{"days": 2}'), ("now", "{}")])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("written", ["I wonder what the weather", " wether ", "weather or now", "the weather report", "weather\n\nfog"])
def test_what_is_more_than_a_name_between_marks_is_text(name: str, written: str) -> None:
    text = f'[[act]]{written}[[with]]{{"city": "Oslo"}}[[done]]'
    found = read_all_ways(analyze(FORMATS[name]), text, TOOLS)
    assert (found.content, found.calls) == (text, [])


@pytest.mark.parametrize("name", ["named", "carried"])
def test_a_call_ends_behind_its_name_if_its_end_stands_there(name: str) -> None:
    found = read_all_ways(analyze(FORMATS[name]), "[[act]]now[[done]]", TOOLS)
    assert (found.content, found.calls) == (None, [("now", "{}")])


def test_white_space_around_a_key_is_no_part_of_it() -> None:
    form = analyze(FIELDS)
    found = read_all_ways(form, "[[act]] weather\n [[key]] city [[is]]Oslo[[/is]] [[key]] sky [[is]]x[[/is]][[done]]", TOOLS)
    assert found.calls == [("weather", '{"city": "Oslo", "sky": "x"}')]


@pytest.mark.parametrize("name", FORMATS)
def test_without_recoveries_white_space_around_a_name_makes_text(name: str) -> None:
    text = "[[act]] weather [[with]]{}[[done]]"
    assert read_all_ways(analyze(FORMATS[name]), text, TOOLS, policy="strict").content == text
