"""Arguments in which one sign is missing, or stands twice, and what is left of the end of a call. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import analyze, get_calls, make_tool, read_all_ways
from templates import count_work
from test_almost_json import FORMAT, SECOND, TOOLS, read
from test_slips import WRAPPER

from chat_autoparser.recover.nearest import list_nearest
from chat_autoparser.recover.repair import repair

MEANT = {"code": "print", "all": ["sea", "quiet"], "times": 3}
WRITTEN = '{"code": "print", "all": ["sea", "quiet"], "times": 3}'


@pytest.mark.parametrize(
    "written",
    [
        '{"code": ""print", "all": ["sea", "quiet"], "times": 3}',
        '{"code": "print"", "all": ["sea", "quiet"], "times": 3}',
        '{""code": "print", "all": ["sea", "quiet"], "times": 3}',
        '{"code"": "print", "all": ["sea", "quiet"], "times": 3}',
        '{"code":: "print", "all": ["sea", "quiet"], "times": 3}',
        '{"code": print", "all": ["sea", "quiet"], "times": 3}',
        '{"code": "print, "all": ["sea", "quiet"], "times": 3}',
        '{"code: "print", "all": ["sea", "quiet"], "times": 3}',
        '{"code": "print", all": ["sea", "quiet"], "times": 3}',
        '{"code": "print", "all": [sea", "quiet"], "times": 3}',
        '{"code": "print", "all": ["sea, "quiet"], "times": 3}',
        '{"code": "print", "all": ["sea", quiet"], "times": 3}',
        '{"code": "print", "all": ["sea", ""quiet"], "times": 3}',
        '{"code": "print", "all": ["sea", "quiet"]], "times": 3}',
        '{"code": "print", "all": ["sea", "quiet"], "times: 3}',
    ],
)
def test_a_sign_that_is_missing_or_stands_twice_is_told(written: str) -> None:
    (name, arguments), second = read(written)
    assert (name, json.loads(arguments)) == ("run", MEANT)
    assert second == ("stop", SECOND)


@pytest.mark.parametrize(
    ("written", "meant"),
    [('{"code": "print}', {"code": "print"}), ('{"times": 2, "all": ["sea", "quiet]}', {"times": 2, "all": ["sea", "quiet"]})],
)
def test_a_string_that_never_ends_ended_before_the_mark_behind_its_brackets(written: str, meant: dict[str, Any]) -> None:
    text = f'\n<deed>{{"name": "run", "arguments": {written}}}</deed>'
    found = read_all_ways(FORMAT, text, TOOLS, "<<assistant>>", "repair")
    assert get_calls(found) == [("run", meant)]
    assert found.recoveries == ["arguments that are no JSON"]


@pytest.mark.parametrize(
    "code",
    ['say {"a": [1]}}</deed> twice', "a, ", "a: 3", 'x]}</deed>\n<deed>{"name": "stop"', "]}</deed>"],
)
def test_a_string_that_ends_may_hold_all_of_that(code: str) -> None:
    arguments = json.dumps({"code": code, "b: 1": "c, ", "times": 1})
    text = f'\n<deed>{{"name": "run", "arguments": {arguments}}}</deed>'
    found = read_all_ways(FORMAT, text, TOOLS, "<<assistant>>", "repair")
    assert (found.calls, found.recoveries) == ([("run", arguments)], [])


@pytest.mark.parametrize("size", range(2, len(WRITTEN) - 2))
def test_what_is_cut_off_is_not_completed(size: int) -> None:
    for arguments in (WRITTEN, WRITTEN.replace("print", '"print'), WRITTEN.replace('"all"', "all")):
        text = f'\n<deed>{{"name": "run", "arguments": {arguments[:size]}'
        found = read_all_ways(FORMAT, text, TOOLS, "<<assistant>>", "repair")
        assert found.incomplete == {0}


VALUES = st.one_of(
    st.lists(st.sampled_from(["sea", "two words", "it's", "a-b"]), min_size=1, max_size=3),
    st.integers(0, 99),
    st.sampled_from(["Oslo", "Oslo S", "a (b)", "x = 1; y", "caf\u00e9"]),
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["code", "note", "times", "all"]), VALUES, min_size=1), st.data())
def test_a_quote_that_is_dropped_or_doubled_makes_no_other_text(arguments: dict[str, Any], data: Any) -> None:
    """What is read is what was meant, or stands as it was written: no text of it is another one."""
    whole = json.dumps(arguments, ensure_ascii=False)
    places = [place for place, sign in enumerate(whole) if sign == '"']
    place = data.draw(st.sampled_from(places)) if places else 0
    twice = data.draw(st.booleans())
    written = whole[:place] + '"' * (2 * twice) + whole[place + 1 :] if places else whole
    mended = repair(written, wants=lambda value: (isinstance(value, dict) and arguments.keys() >= value.keys()) or None)
    assert mended is None or json.loads(mended) == arguments


def test_what_is_tried_is_bounded() -> None:
    tried: list[Any] = []

    def refuse(value: Any) -> bool:
        tried.append(value)
        return False

    text = '{"code": [' + '"x", ' * 20_000 + '"y"}'
    assert list(list_nearest(text, 9, refuse)) == []
    assert len(tried) <= 16


QUOTED = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}<do>{{ c.function.name }}({% for k, v in c.function.arguments.items() %}"
    "{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})</do>{% endfor -%}"
)
ONE = make_tool("look", city="string", days="integer", notes="array")


@pytest.mark.parametrize(
    "written",
    ['city=""Oslo S", days=2', 'city="Oslo S"", days=2', "city='Oslo S', days=2", 'days=2, city="Oslo S""', 'days=2, city=""Oslo S"'],
)
def test_a_quote_around_a_text_may_stand_twice(written: str) -> None:
    found = read_all_ways(analyze(QUOTED), f"<do>look({written})</do><<over>>", [ONE], policy="repair")
    assert get_calls(found) == [("look", {"city": "Oslo S", "days": 2})]


@pytest.mark.parametrize("written", ["city='It's late', days=2", "days=2, city='It's late'"])
def test_an_apostrophe_ends_no_text_in_single_quotes(written: str) -> None:
    found = read_all_ways(analyze(QUOTED), f"<do>look({written})</do><<over>>", [ONE], policy="repair")
    assert get_calls(found) == [("look", {"city": "It's late", "days": 2})]


OWN = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}<|do|>{{ c.function.name }}{{ '{' }}{% for k, v in c.function.arguments.items() %}"
    "{{ k }}:{{ '<|q|>' ~ v ~ '<|q|>' if v is string else v | tojson }}{{ ',' if not loop.last }}{% endfor %}{{ '}' }}<|done|>"
    "{% endfor -%}"
)


@pytest.mark.parametrize("written", ['{"city":<|q|>Oslo "S" {<|q|>,"days":2}', '{"days":2,"city":<|q|>Oslo "S" {<|q|>}'])
def test_keys_may_be_in_quotes_where_texts_have_quotes_of_their_own(written: str) -> None:
    found = read_all_ways(analyze(OWN), f"<|do|>look{written}<|done|><<over>>", [ONE], policy="repair")
    assert get_calls(found) == [("look", {"city": 'Oslo "S" {', "days": 2})]


ENDED = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}\n<step>{{ '{' }}\"do\": \"{{ c.function.name }}\", \"with\": {{ c.function.arguments | tojson }},"
    " \"ref\": \"{{ c.id }}\"{{ '}' }}</step>{% endfor -%}"
)


@pytest.mark.parametrize(
    "rest",
    [
        ', "ref": "c12}</step>',
        'c12"}</step>',
        ', "ref"": "c12"}</step>',
        ' "ref": c12}</step>',
        ', "reef": "c12"}\n</steep></step>',
    ],
)
@pytest.mark.parametrize("behind", ["<<over>>", ""])
def test_what_is_left_of_the_end_of_a_call_is_no_text(rest: str, behind: str) -> None:
    call = '<step>{"do": "look", "with": {"city": "Oslo"}'
    found = read_all_ways(analyze(ENDED), f"Yes.\n{call}{rest}{behind}", [ONE], policy="repair")
    assert ((found.content or "").strip(), get_calls(found)) == ("Yes.", [("look", {"city": "Oslo"})])


@pytest.mark.parametrize("text", ["Done.", "The step is done", "ref: see c12 below", "<b>Done</b>", "Then (c12) it ends."])
def test_a_text_behind_a_call_stays(text: str) -> None:
    call = '<step>{"do": "look", "with": {"city": "Oslo"}, "ref": "c1"}</step>'
    found = read_all_ways(analyze(ENDED), f"{call}\n{text}<<over>>", [ONE], policy="repair")
    assert ((found.content or "").strip(), get_calls(found)) == (text, [("look", {"city": "Oslo"})])


FENCES = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}\n```tool_use\n{{ '{' }}\"do\": \"{{ c.function.name }}\", \"with\": "
    "{{ c.function.arguments | tojson }}{{ '}' }}\n```{% endfor -%}"
)


@pytest.mark.parametrize("word", ["tool_use", "json", "", "tool_code"])
def test_a_fence_that_is_the_mark_of_calls_may_have_another_word(word: str) -> None:
    call = f'```{word}\n{{"do": "look", "with": {{"city": "Oslo"}}}}\n```'
    found = read_all_ways(analyze(FENCES), f"Yes.\n{call}\n{call}<<over>>", [ONE], policy="repair")
    assert ((found.content or "").strip(), get_calls(found)) == ("Yes.", [("look", {"city": "Oslo"})] * 2)


TABLE = """\
{%- for m in messages %}|==={{ m.role }}
{% if m.content %}| say | {{ m.content | replace('\\\\', '\\\\\\\\') | replace('|', '\\\\|') | replace('\\n', '<br>') }} |
{% endif %}{% for c in m.tool_calls or [] %}| call | {{ c.function.name }} | {{ c.function.arguments | tojson }} |
{% endfor %}|===|
{% endfor %}{% if add_generation_prompt %}|===assistant
{% endif %}"""


def test_what_ends_a_turn_begins_with_the_first_sign_of_its_line() -> None:
    assert analyze(TABLE).graph.stops == ("|===|",)


@pytest.mark.parametrize("flood", ["}", "]", ', "', ": 3, ", "</deed>", '}}</deed>\n<deed>{"name": "run", ', '"x" ', "[{", "]}", '}, "times": 1', '{"zz": '])
@pytest.mark.parametrize("begun", ['{"code": "', '{"code": x", "note": "', '{"code: "', '{"all": [[', '{"code": "x"}', '{"note": ["x", "code": 1'])
def test_floods_in_json_that_lacks_a_sign_cost_what_their_length_costs(begun: str, flood: str) -> None:
    call = f'\n<deed>{{"name": "run", "arguments": {begun}'
    short, long = (
        count_work(FORMAT, "<<assistant>>", call + flood * (size // len(flood)), 4, TOOLS, "repair")[-1] for size in (2000, 6000)
    )
    assert long < 4 * short


@pytest.mark.parametrize("flood", ["}", '", "', "</step>", '"ref": "', "c1}", "step "])
def test_floods_behind_a_call_cost_what_their_length_costs(flood: str) -> None:
    call = '<step>{"do": "look", "with": {"city": "Oslo"}'
    short, long = (count_work(analyze(ENDED), "", call + flood * (size // len(flood)), 4, [ONE], "repair")[-1] for size in (2000, 6000))
    assert long < 4 * short


def test_numbers_that_python_does_not_read_stay_exact() -> None:
    """Python refuses to read integers of more than some four thousand digits."""
    digits = "7" * 5000
    assert repair(f"[{digits},]") == f"[{digits}]"
    call = f'\n<deed>{{"name": "run", "arguments": {{"code": \'x\', "times": {digits}}}}}</deed>'
    found = read_all_ways(FORMAT, call, TOOLS, "<<assistant>>", "repair")
    assert (found.calls, "fault" in found.recoveries) == ([("run", f'{{"code": "x", "times": {digits}}}')], False)
