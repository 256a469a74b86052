"""Marks of calls that go wrong in ways that bug reports show of real models: around the call, at its end, and without any call. The
templates are invented."""

from __future__ import annotations

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways
from test_slips import WRAPPER

from chat_autoparser.recover import PolicyName

ADDRESSED = """\
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{%- if m.reasoning_content %}<|go|>assistant to=self<|says|>{{ m.reasoning_content }}<|next|>{% endif -%}
{%- for c in m.tool_calls or [] %}<|go|>assistant to={{ c.function.name }}<|says|><do:calls>
<do:call name="{{ c.function.name }}">
{% for k, v in c.function.arguments.items() %}<do:with name="{{ k }}">{{ v if v is string else v | tojson }}</do:with>
{% endfor %}</do:call>
</do:calls>{{ '<|done|>' if loop.last else '<|next|>' }}
{%- else %}<|go|>assistant to=user<|says|>{{ m.content }}<|done|>{% endfor -%}
{%- else %}<|go|>{{ m.role }}<|says|>{{ m.content }}<|done|>{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<|go|>assistant{% endif -%}
"""
"""The header names the tool, and so does the call behind it."""

BRACES = WRAPPER % (
    "{%- macro w(v) -%}{%- if v is mapping -%} { {%- for k, x in v.items() %}{{ k }}:{{ w(x) }}{{ ',' if not loop.last }}{% endfor -%} }"
    "{%- elif v is string -%}~{{ v }}~{%- elif v is iterable -%}[{%- for x in v %}{{ w(x) }}{{ ',' if not loop.last }}{% endfor -%}]"
    "{%- else -%}{{ v | tojson }}{%- endif -%}{%- endmacro -%}"
    "{%- for c in m.tool_calls or [] %}<|do|>{{ c.function.name }}{ {%- for k, v in c.function.arguments.items() %}{{ k }}:{{ w(v) }}"
    "{{ ',' if not loop.last }}{% endfor -%} }<|done|>{% endfor -%}"
)
"""Values in a notation of their own, with a bracket behind them."""

MARKED = WRAPPER % (
    "{%- if m.tool_calls %}{{ '\\n\\n' }}<¦AX¦calls>{% for c in m.tool_calls %}{{ '\\n' }}<¦AX¦call name=\"{{ c.function.name }}\">"
    "{% for k, v in c.function.arguments.items() %}{{ '\\n' }}<¦AX¦with name=\"{{ k }}\">{{ v if v is string else v | tojson }}</¦AX¦with>{% endfor %}"
    "{{ '\\n' }}</¦AX¦call>{% endfor %}{{ '\\n' }}</¦AX¦calls>{% endif -%}"
)
"""All marks begin with the same signs."""

KINDS = {"start": "string", "legs": "integer", "stops": "array"}
TOOLS = [make_tool("find_route", **KINDS)]
ROUTE = {"start": "Oslo", "legs": 2}
BODY = '<do:with name="start">Oslo</do:with>\n<do:with name="legs">2</do:with>\n</do:call>\n</do:calls>'


@pytest.mark.parametrize(
    "written",
    [
        f' to=do:calls<|says|><do:calls>\n<do:call name="find_route">\n{BODY}<|done|>',
        f' to=find<|says|><do:calls>\n<do:call name="find_route">\n{BODY}<|next|>',
        f' to=user<|says|><do:calls>\n<do:call name="find_route">\n{BODY}<|done|>',
        f' to=find_route<|says|><do:calls>\n<do:call name="find_route<|says|>">\n{BODY}<|done|>',
        f' to=find_route<|says|><do:calls>\n<do:call name="find_route<|says|>{BODY}<|done|>',
        f' to=find_route<|says|><do:calls>\n<do:call name="find_route">\n{BODY.replace("do:with", "do:arg")}<|done|>',
    ],
)
def test_a_call_that_names_its_tool_needs_no_right_header(written: str) -> None:
    format = analyze(ADDRESSED)
    assert format.verdict.proven
    found = read_all_ways(format, written, TOOLS, "<|go|>assistant")
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])


def test_a_call_that_a_sentence_in_reasoning_goes_on_behind_is_none() -> None:
    thought = f'Maybe <do:calls>\n<do:call name="find_route">\n{BODY} — no.'
    written = f" to=self<|says|>{thought}<|next|><|go|>assistant to=user<|says|>I will not.<|done|>"
    found = read_all_ways(analyze(ADDRESSED), written, TOOLS, "<|go|>assistant")
    assert (found.reasoning, found.content, found.calls) == (thought, "I will not.", [])


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("{start:~Oslo~,legs:2<|done|>", ROUTE),
        ("{stops:[~a~,{n:1}]<|done|>", {"stops": ["a", {"n": 1}]}),
        ("{legs:2,stops:[1,2]<|done|>", {"legs": 2, "stops": [1, 2]}),
        ("{legs:2,start:~Oslo~<|done|>", ROUTE),
        ("{legs:2,start:~Oslo~}<|done|>", ROUTE),
    ],
)
def test_the_bracket_behind_the_last_value_may_be_missing(written: str, arguments: dict[str, object]) -> None:
    found = read_all_ways(analyze(BRACES), f"<|do|>find_route{written}<<over>>", TOOLS)
    assert (found.content, get_calls(found), found.incomplete) == (None, [("find_route", arguments)], set())


SPACED = (
    '<¦AX¦ calls>\n<¦AX¦ call name="find_route">\n<¦AX¦ with name="start">Oslo</¦AX¦ with>\n<¦AX¦ with name="legs">2</¦AX¦ with>\n'
    "</¦AX¦ call>\n</¦AX¦ calls>"
)


@pytest.mark.parametrize("outer", ["calls", "tool_calls"])
@pytest.mark.parametrize("before", ["", "So.\n"])
def test_the_words_of_marks_may_stand_apart_from_their_signs(outer: str, before: str) -> None:
    format = analyze(MARKED)
    assert format.verdict.proven
    found = read_all_ways(format, before + SPACED.replace(" calls", f" {outer}"), TOOLS)
    assert ((found.content or "").strip(), get_calls(found)) == (before.strip(), [("find_route", ROUTE)])


@pytest.mark.parametrize(
    ("written", "content"),
    [
        ("Done.\n\n</¦AX¦with>", "Done."),
        ("Done.\n\n</¦AX¦with>\n</¦AX¦call>\n</¦AX¦calls>", "Done."),
        ("Done.\n</¦AX¦call>\n</¦AX¦calls>", "Done."),
        ("One.\n\n<¦AX¦calls></¦AX¦calls>\n\nTwo.", "One.\n\n\n\nTwo."),
        ("One.\n\n<¦AX¦calls>\n</¦AX¦calls>\nTwo.", "One.\n\n\nTwo."),
        ("Done.<¦AX¦ca", "Done."),
        ("Done.\n\n<¦AX¦calls>", "Done."),
    ],
)
def test_marks_around_nothing_are_no_text(written: str, content: str) -> None:
    found = read_all_ways(analyze(MARKED), written, TOOLS)
    assert ((found.content or "").strip(), found.calls) == (content, [])
    assert found.recoveries


@pytest.mark.parametrize(
    "written",
    ["It ends with </¦AX¦with>, as a rule.", "So <¦AX¦calls></¦AX¦calls> stands around calls.", "It begins with <¦AX¦ca", "`<¦AX¦calls></¦AX¦calls>`"],
)
def test_marks_that_a_sentence_speaks_of_are_text(written: str) -> None:
    found = read_all_ways(analyze(MARKED), written, TOOLS)
    assert (found.content, found.calls) == (written, [])


NAMED = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}{{ '\\n' }}<op:{{ c.function.name }}>{% for k, v in c.function.arguments.items() %}{{ '\\n' }}<arg={{ k }}>"
    "{{ '\\n' }}{{ v if v is string else v | tojson }}{{ '\\n' }}</arg>{% endfor %}{{ '\\n' }}</op>{% endfor -%}"
)
"""What opens a call and a value names it, what ends it does not."""

PAIRS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}<fn>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}<k>{{ k }}</k>"
    "<v>{{ v if v is string else v | tojson }}</v>{% endfor %}</fn>{% endfor -%}"
)

PARTS = """\
{%- macro part(kind) -%}<|in:{{ kind }}|>{%- endmacro -%}
{%- for m in messages -%}
<|who:{{ m.role }}|>
{%- if m.reasoning_content %}{{ part('think') }}{{ m.reasoning_content }}<|out|>{% endif -%}
{%- if m.content %}{{ part('say') }}{{ m.content }}<|out|>{% endif -%}
{%- for c in m.tool_calls or [] %}{{ part('act') }}{{ c.function.name }}<|with|>{{ c.function.arguments | tojson }}<|out|>{% endfor -%}
<|over|>
{%- endfor -%}
{%- if add_generation_prompt %}<|who:assistant|>{% endif -%}
"""


@pytest.mark.parametrize(
    "written",
    [
        "<op:find_route>\n<arg=start>\nOslo\n</arg=start>\n<arg=legs>\n2\n</arg=legs>\n</op:find_route>",
        "<op:find_route>\n<arg=start>\nOslo\n</arg>\n<arg=legs>\n2\n</arg>\n</op:find_route>",
        "op:find_route>\n<arg=start>\nOslo\n</arg>\n<arg=legs>\n2\n</arg>\n</op>",
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_marks_may_name_what_they_end_and_lack_their_first_sign(written: str, times: int) -> None:
    format = analyze(NAMED)
    assert format.verdict.proven
    found = read_all_ways(format, "\n".join([written] * times), TOOLS)
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)] * times)


@pytest.mark.parametrize(
    "text", ["An op:find_route> stands in the log.", "The word op:find_route is a label.", "op:find_route> is what it begins with."]
)
def test_the_rest_of_a_mark_in_a_sentence_is_text(text: str) -> None:
    found = read_all_ways(analyze(NAMED), text, TOOLS)
    assert (found.content, found.calls) == (text, [])


@pytest.mark.parametrize(
    "written",
    [
        "<fn>find_route<k>start<v>Oslo</v><k>legs</k><v>2</v></fn>",
        "<fn>find_route<k>start</v><v>Oslo</v><k>legs<v>2</v></fn>",
        "<fn>find_route<k>start</k><v>Oslo</v><k>legs</v><v>2</v></fn:find_route>",
    ],
)
def test_the_mark_behind_a_key_may_be_another_one_or_missing(written: str) -> None:
    found = read_all_ways(analyze(PAIRS), written, TOOLS)
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])


HEADED = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}⟦fn~{{ c.function.name }}⟧{% for k, v in c.function.arguments.items() %}[set {{ k }}]"
    "{{ v if v is string else v | tojson }}[/set]{% endfor %}⟦/fn⟧{% endfor -%}"
)
"""The same in other brackets, with the name in the first mark."""


@pytest.mark.parametrize(("template", "one", "two"), [(PAIRS, "<fn>1</fn>", "<fn>2</fn>"), (HEADED, "⟦fn~1⟧⟦/fn⟧", "⟦fn~2⟧⟦/fn⟧")])
def test_a_number_in_the_marks_of_calls_is_text_where_no_tool_is_called_so(template: str, one: str, two: str) -> None:
    for text in (f"<p>Water is wet.{one} Fire is hot.{two}</p>", one):
        found = read_all_ways(analyze(template), text, TOOLS)
        assert (found.content, found.calls) == (text, [])
    assert get_calls(read_all_ways(analyze(template), one, [make_tool("1")])) == [("1", {})]


@pytest.mark.parametrize("policy", ["lenient", "repair"])
def test_a_call_within_its_own_arguments_is_that_call(policy: PolicyName) -> None:
    format = analyze(PARTS)
    assert format.verdict.proven
    inner = '{"start": "Oslo", "legs": 2}'
    whole = f'{{"name": "find_route", "arguments": {inner}}}'
    found = read_all_ways(format, f"<|in:act|>find_route<|with|>{whole}<|out|><|over|>", TOOLS, policy=policy)
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])
    own = [make_tool("find_route")]
    own[0]["function"]["parameters"]["properties"] = {"name": {"type": "string"}, "arguments": {"type": "object"}}
    found = read_all_ways(format, f"<|in:act|>find_route<|with|>{whole}<|out|><|over|>", own, policy=policy)
    assert get_calls(found) == [("find_route", {"name": "find_route", "arguments": ROUTE})]
    other = whole.replace("find_route", "find_other")  # another call than the one it stands in: nothing says which is meant
    found = read_all_ways(format, f"<|in:act|>find_route<|with|>{other}<|out|><|over|>", TOOLS, policy=policy)
    assert get_calls(found) == [("find_route", {"name": "find_other", "arguments": ROUTE})]


@pytest.mark.parametrize("lead", ["", "<|who:assistant|>"])
@pytest.mark.parametrize("over", ["", "<|over|>", "<|over|><|over|>"])
def test_the_header_of_the_turn_may_come_again_behind_reasoning(lead: str, over: str) -> None:
    format = analyze(PARTS)
    found = read_all_ways(format, f"{lead}<|in:think|>So.<|out|><|who:assistant|><|in:say|>Yes.<|out|>{over}", TOOLS)
    assert (found.reasoning, found.content, found.calls) == ("So.", "Yes.", [])
    call = '<|in:act|>find_route<|with|>{"start": "Oslo", "legs": 2}<|out|>'
    found = read_all_ways(format, f"{lead}<|in:think|>So.<|out|><|who:assistant|>{call}{over}", TOOLS)
    assert (found.reasoning, found.content, get_calls(found)) == ("So.", None, [("find_route", ROUTE)])


@pytest.mark.parametrize("quotes", ["“%s”", "‘%s’", "«%s»", "„%s“"])
def test_the_quotes_of_typeset_text_stand_around_texts(quotes: str) -> None:
    format = analyze(PARTS)
    start, text, legs = (quotes % word for word in ("start", "O'Hare \"1\"", "legs"))
    written = f"{{{start}: {text}, {legs}: 2}}"
    found = read_all_ways(format, f"<|in:act|>find_route<|with|>{written}<|out|><|over|>", TOOLS, policy="repair")
    assert get_calls(found) == [("find_route", {"start": "O'Hare \"1\"", "legs": 2})]
    found = read_all_ways(analyze(BRACES), f"<|do|>find_route{{start:{quotes % 'Oslo, {2}'},legs:2}}<|done|>", TOOLS)
    assert get_calls(found) == [("find_route", {"start": "Oslo, {2}", "legs": 2})]


NOTES = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}{{ '\\n' }}⟪ {{ c.function.name }}{% for k, v in c.function.arguments.items() %} % {{ k }} {{ v | tojson }}"
    "{% endfor %} ⟫{% endfor -%}"
)
"""Nothing but white space stands between keys and values."""

RULED = """\
{%- macro lines(mark, text) -%}{{ mark ~ text | replace("\\n", "\\n" ~ mark) ~ "\\n" }}{%- endmacro -%}
{%- for m in messages -%}
@{{ m.role }}
{{ lines("200 ", m.content) if m.content -}}
{%- for c in m.tool_calls or [] -%}
303 tool://{{ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ "?" if loop.first else "&" }}{{ k }}={{ v | tojson }}{% endfor %}{{ "\n" }}
{%- endfor -%}
221 over
{% endfor -%}
{%- if add_generation_prompt %}@assistant
{% endif -%}
"""
"""Each line of an answer has a mark before it."""

ARROWS = WRAPPER % (
    "{%- for c in m.tool_calls or [] %}\nCALL {{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ ', ' if not loop.first }}{{ k }} => "
    "{% if v is string %}'{{ v | replace(\"'\", \"''\") }}'{% else %}{{ v | tojson }}{% endif %}{% endfor %});\n{%- endfor -%}"
)


@pytest.mark.parametrize(
    "written",
    [
        '\n⟪ find_route % start "Oslo" % legs 2\n⟪ find_route % start "Oslo" % legs 2 ⟫',
        '\n⟪ find_route % legs 2 % start "Oslo"\n⟪ find_route % start "Oslo" % legs 2 ⟫',
        '\n⟪ find_route % start: "Oslo" % legs: 2 ⟫\n⟪ find_route % start:= "Oslo" % legs:= 2 ⟫',
        '\n⟪ :find_route % start "Oslo" % legs 2 ⟫\n⟪ functions.find_route % start "Oslo" % legs 2 ⟫',
    ],
)
def test_signs_that_data_has_elsewhere_are_no_part_of_a_call(written: str) -> None:
    format = analyze(NOTES)
    assert format.verdict.proven
    found = read_all_ways(format, written, TOOLS)
    assert ((found.content or "").strip(), get_calls(found), found.incomplete) == ("", [("find_route", ROUTE)] * 2, set())


@pytest.mark.parametrize("sign", ["=>", " =", ":=", " : "])
def test_other_signs_between_keys_and_values(sign: str) -> None:
    found = read_all_ways(analyze(ARROWS), f"CALL find_route(start{sign} 'Oslo', legs{sign} 2);", TOOLS)
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])


def test_an_end_that_the_format_does_not_have_is_none_of_the_answer() -> None:
    format = analyze(PARTS.replace("{{ part('act') }}", "[DO]").replace("<|out|>{% endfor", "{% endfor"))
    assert format.verdict.proven
    call = '[DO]find_route<|with|>{"start": "Oslo", "legs": 2}'
    found = read_all_ways(format, f"{call}[/DO]<|over|>", TOOLS)
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])
    found = read_all_ways(format, f"{call}[/DO]{call}[/DO]<|over|>", TOOLS)
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)] * 2)
    text = "It ends with [/DO], they say."
    assert read_all_ways(format, f"<|in:say|>{text}<|out|><|over|>", TOOLS).content == text


@pytest.mark.parametrize("before", ["A line like\n200 ", "It says so.\n200 ", ""])
def test_what_stands_behind_the_mark_of_a_line_is_text(before: str) -> None:
    format = analyze(RULED)
    assert format.verdict.proven
    shown = '303 tool://find_route?start="Oslo"'
    found = read_all_ways(format, f"200 {before}{shown}\n200 asks.\n221 over\n", TOOLS, "@assistant\n")
    assert (found.content, found.calls) == (f"{before}{shown}\nasks.".replace("\n200 ", "\n"), [])
    found = read_all_ways(format, f"200 So.\n{shown}\n221 over\n", TOOLS, "@assistant\n")
    assert (found.content, get_calls(found)) == ("So.", [("find_route", {"start": "Oslo"})])
