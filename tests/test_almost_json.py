"""Arguments that are almost JSON: quotes within strings, as in code that a model writes for a tool, and what stands in another
order or is no number. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from streams import analyze, make_tool, read_all_ways

from chat_autoparser.recover import Policy
from chat_autoparser.recover.repair import repair

TEMPLATE = """\
{%- for m in messages -%}
<<{{ m.role }}>>{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}
<deed>{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}</deed>
{%- endfor -%}
<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""
FORMAT = analyze(TEMPLATE)
TOOLS = [make_tool(name, code="string", note="string", all="array", times="integer") for name in ("run", "stop")]
SECOND = '{"times": 5}'


def read(arguments: str, policy: Any = "repair") -> list[tuple[str, str]]:
    """Read a call with some arguments and one behind it, split in several ways."""
    text = "".join(f'\n<deed>{{"name": "{name}", "arguments": {each}}}</deed>' for name, each in (("run", arguments), ("stop", SECOND)))
    found = read_all_ways(FORMAT, text, TOOLS, "<<assistant>>", policy)
    assert not (found.content or "").strip()
    return found.calls


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"code": "print("hi")"}', {"code": 'print("hi")'}),
        ('{"code": "d = {"a": 1, "b": x["k"]}; f("q")", "times": 2}', {"code": 'd = {"a": 1, "b": x["k"]}; f("q")', "times": 2}),
        ('{"code": "env.get("KEY", "default")"}', {"code": 'env.get("KEY", "default")'}),
        ('{"code": "f("a", "b", "c")", "note": "x"}', {"code": 'f("a", "b", "c")', "note": "x"}),
        ('{"note": "He said "yes", then left", "times": 3}', {"note": 'He said "yes", then left', "times": 3}),
        ('{"note": ""Ulysses" is long", "code": "x"}', {"note": '"Ulysses" is long', "code": "x"}),
        ('{"note": "I read "Ulysses""}', {"note": 'I read "Ulysses"'}),
        ('{"code": "<a href="x">b</a>"}', {"code": '<a href="x">b</a>'}),
        ('{"all": ["the "big" one", "two"], "note": "a "b" c"}', {"all": ['the "big" one', "two"], "note": 'a "b" c'}),
        ('{"code": "x" "times": 1}', {"code": "x", "times": 1}),
        ('{"all": ["x" "y"], "note": {"a": 1} "times": 2}', {"all": ["x", "y"], "note": {"a": 1}, "times": 2}),
        ('{\n  "code": "say "a\\n"\nand "b"",\n  "times": 1\n}', {"code": 'say "a\n"\nand "b"', "times": 1}),
    ],
)
def test_a_quote_that_ends_no_string_is_a_part_of_it(written: str, meant: dict[str, Any]) -> None:
    (name, arguments), second = read(written)
    assert (name, json.loads(arguments)) == ("run", meant)
    assert second == ("stop", SECOND)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"times": 007}', {"times": 7}),
        ('{"times": +5, "all": [.5, 1.]}', {"times": 5, "all": [0.5, 1.0]}),
        ('{"times": }', {"times": None}),
        ('{"times": , "code": "x"}', {"times": None, "code": "x"}),
        ('{"all": [1 2, 3]}', {"all": [1, 2, 3]}),
        ('{"all": [1.5 null]}', {"all": [1.5, None]}),
        ('{"all": [1,, 2,]}', {"all": [1, 2]}),
        ('{"times": 1,, "code": "x"}', {"times": 1, "code": "x"}),
        ('{\n  // all\n  "all": [1, // one\n 2 // two\n], "times": null, /* none */ "code": "x"\n}', {"all": [1, 2], "times": None, "code": "x"}),
        ('{ # all\n  "times": 3 # of them\n}', {"times": 3}),
        ('{/* none */}', {}),
        ('{"times": 3 /* or 4 */, "code": "a // b"}', {"times": 3, "code": "a // b"}),
        ('{"times": 3, # say "a", {b\n "code": "x"}', {"times": 3, "code": "x"}),
        ('{"times": 3 # of them, "code": "x"}', {"times": "3 # of them", "code": "x"}),
        ('{"times": 3 // of them, "code": "x"}', {"times": "3 // of them", "code": "x"}),
        ('{"code": "Oslo" (Norway), "note": "a b", "times": 3}', {"code": 'Oslo" (Norway)', "note": "a b", "times": 3}),
        ('{"code": "Oslo"., "times": 3}', {"code": 'Oslo".', "times": 3}),
        ('{"code": "d = {"times": 1, "b": 2}", "note": "x"}', {"code": 'd = {"times": 1, "b": 2}', "note": "x"}),
        ('{"times": 1,347, "code": "x"}', {"times": "1,347", "code": "x"}),
        ('{"all": [1,347], "times": -1,347.50}', {"all": [1, 347], "times": "-1,347.50"}),
        ('{"times": ~3, "all": [~3, ≈4]}', {"times": "~3", "all": ["~3", "≈4"]}),
        ('{"times" 1}', {"times": 1}),
        ('{"times": 1 "code": "x"}', {"times": 1, "code": "x"}),
        ('{"times" = 1, code => "x"}', {"times": 1, "code": "x"}),
        ('{true: 1, 2: "x"}', {"true": 1, "2": "x"}),
        ('{times": 1, code": "x"}', {"times": 1, "code": "x"}),
        ('{"code": 2026-11-29, "note": 12:30}', {"code": "2026-11-29", "note": "12:30"}),
        ('{"code": 1.2.3, "note": 5 days}', {"code": "1.2.3", "note": "5 days"}),
        ('{"code": https://x.org/?a=1, "times": 5}', {"code": "https://x.org/?a=1", "times": 5}),
        (r'{"note": "C:\users\me"}', {"note": r"C:\users\me"}),
        ('{"note": 50%}', {"note": "50%"}),
        (r'{"note": "\u00e9 \d \로", "times": 1}', {"note": r"é \d \로", "times": 1}),
        (r"""{'note': 'it\'s "a" \x41 \u12'}""", {"note": r'it\'s "a" A \u12'.replace("\\'", "'")}),
        (r'{"note": "x", "all": \n[1, 2]\n\n}', {"note": "x", "all": [1, 2]}),
        (r'{\n"times": 1\n}', {"times": 1}),
        ('{"code": """say "a"\n""", "times": 1}', {"code": 'say "a"\n', "times": 1}),
        ("{'code': '''it's\n'a''', 'times': 1}", {"code": "it's\n'a", "times": 1}),
    ],
)
def test_what_json_does_not_have_there_is_written_as_it_has_it(written: str, meant: dict[str, Any]) -> None:
    (name, arguments), second = read(written)
    assert (name, json.loads(arguments)) == ("run", meant)
    assert second == ("stop", SECOND)


@pytest.mark.parametrize("written", ['{"all": [1, .]}', '{"times": 3:}', '{"all": [], _ "times": 1}', '{"code": ...}'])
def test_what_has_no_meaning_is_handed_on_and_named(written: str) -> None:
    text = f'\n<deed>{{"name": "run", "arguments": {written}}}</deed>'
    found = read_all_ways(FORMAT, text, TOOLS, "<<assistant>>", "repair")
    assert [arguments for _, arguments in found.calls] == [written]
    assert "arguments that are no JSON" in found.recoveries


@pytest.mark.parametrize(
    "written",
    [
        '{"code": "x = {"a": "v", "b": 2}", "times": 1}',  # what ends the string may be what stands in it
        '{"code": "a"b}',
        '{"code": "x"; "times": 1}',
    ],
)
def test_what_cannot_be_told_stays_as_it_is_and_the_next_call_is_read(written: str) -> None:
    assert read(written) == [("run", written), ("stop", SECOND)]


def test_brackets_may_be_missing_behind_a_quote() -> None:
    """The mark that ends the call tells that the quote ended the string."""
    text = '\n<deed>{"name": "run", "arguments": {"code": "x"</deed>\n<deed>{"name": "stop", "arguments": {"times": 5}}</deed>'
    found = read_all_ways(FORMAT, text, TOOLS, "<<assistant>>", "repair")
    assert [arguments for _, arguments in found.calls] == ['{"code": "x"}', SECOND]


def test_without_repair_the_client_gets_what_was_written() -> None:
    written = '{"code": "print("hi")"}'
    assert read(written, "lenient")[0] == ("run", written)


@pytest.mark.parametrize("written", ['"{"code": ]}', '"{"code" []}'])
def test_what_is_no_json_within_a_text_is_named(written: str) -> None:
    """The arguments stand as JSON in a text, of which no quote is escaped."""
    text = f'\n<deed>{{"name": "run", "arguments": {written}}}</deed>'
    found = read_all_ways(FORMAT, text, TOOLS, "<<assistant>>", "repair")
    assert found.incomplete or "arguments that are no JSON" in found.recoveries


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r'''"{'code': 'x', 'times': 2}"''', {"code": "x", "times": 2}),
        (r'"{\"code\": \"x\", \"times\": 2,}"', {"code": "x", "times": 2}),
        (r'"{\"all\": [1 2], \"code\": \"a \"b\" c\"}"', {"all": [1, 2], "code": 'a "b" c'}),
        (r'"{code: x, times: 2}"', {"code": "x", "times": 2}),
        (r'"{\"times\": 2"', {"times": 2}),
        (r'"{\"all\": [1, 2"', {"all": [1, 2]}),
    ],
)
def test_what_is_almost_json_within_a_text_is_mended(written: str, meant: dict[str, Any]) -> None:
    (name, arguments), second = read(written)
    assert (name, json.loads(arguments), second) == ("run", meant, ("stop", SECOND))
    assert read(written, "lenient")[1] == ("stop", SECOND)


@pytest.mark.parametrize("begin", ['{"arguments": ', '{"input": ', '{\n  "with": '])
def test_arguments_may_stand_within_an_object(begin: str) -> None:
    """Its only key is no parameter, and what it holds has nothing but parameters."""
    for policy in ("repair", "lenient"):
        assert read(begin + '{"code": "x", "all": []}}', policy)[0] == ("run", '{"code": "x", "all": []}')
        for other in ('{"code": "x"}, "times": 1}', '{"code": "x", "and": 1}}', '{}}', '{"and": 1}}', '"x"}', '{"code": "x"}, ' + begin.strip('{') + '{"code": "y"}}'):
            assert read(begin + other, policy)[0] == ("run", begin + other)


@pytest.mark.parametrize("size", [3, 300, 600, 6000])
def test_what_is_json_within_a_text_is_not_named_however_much_it_is(size: int) -> None:
    found = read_all_ways(FORMAT, f'\n<deed>{{"name": "run", "arguments": {json.dumps(json.dumps({"all": [[1]] * size}))}}}</deed>', TOOLS)
    assert [(name, json.loads(arguments)) for name, arguments in found.calls] == [("run", {"all": [[1]] * size})]
    assert "arguments that are no JSON" not in found.recoveries


WORDS = st.lists(st.sampled_from(['"', "a", " ", ", ", ": ", "}", "{", "]", "(", ")", "\n", "\\", "</deed>", "é"]), max_size=12).map("".join)
VALUES = st.recursive(
    WORDS | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(WORDS, VALUES, max_size=3), st.sampled_from([None, 2]))
def test_valid_json_is_passed_on_to_the_letter(arguments: dict[str, Any], indent: int | None) -> None:
    written = json.dumps(arguments, indent=indent, ensure_ascii=False)
    assert read(written) == [("run", written), ("stop", SECOND)]


@pytest.mark.parametrize(("begin", "end"), [("/*", "*/"), ("//", "\n")])
def test_a_comment_ends_near_by(begin: str, end: str) -> None:
    """Each number looks for the end of one behind it: one without an end would cost the whole of the rest each time."""
    near, far = (f'{{"times": 1 {begin} {"x" * size}{end}, "code": "y"}}' for size in (900, 2000))
    assert json.loads(repair(near) or "null") == {"times": 1, "code": "y"}
    assert json.loads(repair(far) or "null") == {"times": f"1 {begin} {'x' * 2000}{end.strip()}", "code": "y"}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(['"', "a", " b", "c, ", "d: ", "(", ") ", "x = 1"]), max_size=10).map("".join))
def test_a_text_with_quotes_comes_back(text: str) -> None:
    """No quote in it is followed by what may follow the end of a string; one alone at its beginning or end were one that stands
    twice, and a key without quotes between two of them one of the object."""
    assume(text.count('"') != 1 or not (text.startswith('"') or text.endswith('"')))
    assume('" bd: "' not in text)
    (name, arguments), second = read(f'{{"code": "{text}", "times": 1}}')
    assert (name, json.loads(arguments)) == ("run", {"code": text, "times": 1})
    assert second == ("stop", SECOND)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["code", "times", "all"]), VALUES, min_size=1, max_size=3).map(json.dumps),
    st.lists(st.tuples(st.integers(1, 200), st.booleans(), st.sampled_from(["", *'{}[],:"0+.-=_', " ", "\n", "true", "None", "x y"]))),
)
def test_arguments_that_end_are_json_or_named(written: str, changes: list[tuple[int, bool, str]]) -> None:
    """However a sign or two are changed, lost or doubled."""
    for place, drop, sign in changes[:2]:
        at = place % len(written)
        written = written[:at] + sign + written[at + drop :]
    text = f'\n<deed>{{"name": "run", "arguments": {written}}}</deed>'
    found = read_all_ways(FORMAT, text, TOOLS, "<<assistant>>", Policy(repair=True))
    for number, (_, arguments) in enumerate(found.calls):
        assert number in found.incomplete or "arguments that are no JSON" in found.recoveries or isinstance(json.loads(arguments), dict)
