"""Marks that are garbled, doubled, broken off or left out as bug reports show it. The templates are invented.

Each text is read whole, by character and in pieces, which must agree.
"""

from __future__ import annotations

import pytest
from streams import ROUTE_TOOL, Reading, analyze, get_calls, make_call, make_tool, read_all_ways, render_turn
from test_slips import LISTED, TAGS

from chat_autoparser.recover import Policy

TAGGED = """\
{%- for m in messages -%}
<|turn|>{{ m.role }}
{% if m.role == "assistant" %}{% if m.reasoning_content %}<muse>
{{ m.reasoning_content }}
</muse>

{% endif %}{% endif %}{{ m.content or "" }}
{%- for c in m.tool_calls or [] %}
<deed_of>
<act={{ c.function.name }}>
{% for k, v in c.function.arguments.items() %}<part={{ k }}>
{{ v if v is string else v | tojson }}
</part>
{% endfor %}</act>
</deed_of>
{%- endfor %}<|over|>
{% endfor -%}
{%- if add_generation_prompt %}<|turn|>assistant
{% endif -%}
"""

SQUARE = """\
{%- for m in messages -%}
[[im]]{{ m.role }}
{%- if m.reasoning_content %}[[muse]]{{ m.reasoning_content }}[[/im]][[im]]{{ m.role }}{% endif -%}
{%- if m.content or not m.tool_calls %}[[say]]{{ m.content or "" }}{% endif -%}
{%- for c in m.tool_calls or [] -%}
{%- if m.content or not loop.first %}[[/im]][[im]]{{ m.role }}{% endif -%}
[[deed]]
[[act=for:{{ c.function.name }}]]
{{ c.function.arguments | tojson }}
[[/act]]
{%- endfor -%}
[[/im]]
{%- endfor -%}
{%- if add_generation_prompt %}[[im]]assistant{% endif -%}
"""

CHANNELS = """\
{%- for m in messages -%}
<~begin~>turn of="{{ m.role }}"<~is~>
{%- if m.role == "assistant" -%}
<~begin~>muse<~is~>{{ m.reasoning_content or "" }}<~end~>muse<~is~><~begin~>word<~is~>{{ m.content or "" }}<~end~>word<~is~>
{%- for c in m.tool_calls or [] -%}
<~begin~>deed of="{{ c.function.name }}"<~is~>
{%- for k, v in c.function.arguments.items() -%}
<~begin~>part of="{{ k }}" as="{{ "text" if v is string else "json" }}"<~is~>{{ v if v is string else v | tojson }}<~end~>part<~is~>
{%- endfor -%}
<~end~>deed<~is~>
{%- endfor -%}
{%- else -%}{{ m.content }}{%- endif -%}
<~end~>turn<~is~>
{%- endfor -%}
{%- if add_generation_prompt %}<~begin~>turn of="assistant"<~is~><~begin~>muse<~is~>{% endif -%}
"""

SYNTAX = """\
{%- for m in messages -%}
<<{{ m.role }}>>{{ m.content or "" }}
{%- if m.tool_calls -%}<<deeds>>[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() -%}
{{ k }}={{ "'" ~ v ~ "'" if v is string else v | tojson }}{{ ", " if not loop.last }}
{%- endfor %}){{ ", " if not loop.last }}{% endfor %}]<</deeds>>{%- endif -%}
<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""

WRITE = make_tool("write_file", path="string", content="string")
PLACE = make_tool("place", start="string", spec="object")
MADE = [("find_route", {"start": "Oslo"})]


def read(template: str, text: str) -> Reading:
    return read_all_ways(analyze(template, eos_token="</s>"), text, [ROUTE_TOOL, WRITE, PLACE])


CALL = "<deed_of>\n<act=find_route>\n<part=start>\nOslo\n</part>\n</act>\n</deed_of>"


@pytest.mark.parametrize(
    "text",
    [
        "<deed_of>\n<act=find_route>\n<part=start>\nOslo\n</part\n</act>\n</deed_of>",
        "<deed_of>\n<act=find_route>\n<part=start>\nOslo\n</part>\n</part>\n</act>\n</deed_of>\n</deed_of>",
        "<deed_of>\n<act=find_route>\n<part=st<part=start>\nOslo\n</part>\n</act>\n</deed_of>",
        "<deed_of>\n<act=find_route>\n<act=find_route>\n<part=start>\nOslo\n</part>\n</act>\n</deed_of>",
        "<deed_of>\n<act=find_route>\n<part=start>\n<part=start>\nOslo\n</part>\n</act>\n</deed_of>",
        "<deed_of>\n<act=find_ro<act=find_route>\n<part=start>\nOslo\n</part>\n</act>\n</deed_of>",
        "<find_route>\n<part=start>\nOslo\n</part>\n</act>\n</deed_of>",
        "<act find_route>\n<part=start>\nOslo\n</part>\n</act>",
        "<part=find_route>\n<part=start>\nOslo\n</part>\n</act>",
        f"{CALL}\n<muse>\n",
        f"{CALL}\n<muse>\n</muse>\n\n",
    ],
)
def test_a_call_is_made_whose_marks_are_garbled(text: str) -> None:
    found = read(TAGGED, text)
    assert (found.content or "").strip() == ""
    assert get_calls(found) == MADE


@pytest.mark.parametrize("doubled", ["<~is~>", '" as="json"<~is~>'])
def test_what_stands_before_a_value_that_is_no_text_may_stand_there_twice(doubled: str) -> None:
    begun = '<~end~>muse<~is~><~begin~>word<~is~><~end~>word<~is~><~begin~>deed of="place"<~is~>'
    value = f'<~begin~>part of="spec" as="json"<~is~>{doubled}{{"x": 1}}<~end~>part<~is~>'
    found = read(CHANNELS, f"{begun}{value}<~end~>deed<~is~><~end~>turn<~is~>")
    assert get_calls(found) == [("place", {"spec": {"x": 1}})]


def test_a_text_may_begin_with_the_mark_before_it() -> None:
    begun = '<~end~>muse<~is~><~begin~>word<~is~><~end~>word<~is~><~begin~>deed of="write_file"<~is~>'
    value = '<~begin~>part of="content" as="text"<~is~><~is~>!<~end~>part<~is~>'
    found = read(CHANNELS, f"{begun}{value}<~end~>deed<~is~><~end~>turn<~is~>")
    assert get_calls(found) == [("write_file", {"content": "<~is~>!"})]


def test_a_text_may_end_with_what_would_end_it_if_it_holds_what_that_closes() -> None:
    """A strict reading: this is how the template writes such a text."""
    text = "<part>\n<x></x>\n</part>"
    written = f"<deed_of>\n<act=write_file>\n<part=content>\n{text}\n</part>\n</act>\n</deed_of><|over|>\n"
    assert get_calls(read(TAGGED, written)) == [("write_file", {"content": text})]


def test_what_ends_calls_may_stand_in_a_value_of_a_call_in_open_reasoning() -> None:
    text = "the mark </deed_of> alone"
    call = f"<deed_of>\n<act=write_file>\n<part=content>\n{text}\n</part>\n</act>\n</deed_of>"
    found = read(TAGGED, f"<muse>\nI write.\n{call}<|over|>\n")
    assert ((found.reasoning or "").strip(), get_calls(found)) == ("I write.", [("write_file", {"content": text})])


UPPER = "<DEED_OF>\n<ACT=find_route>\n<PART=start>\nOslo\n</PART>\n</ACT>\n</DEED_OF>"


def test_a_call_may_begin_in_other_letters_in_open_reasoning() -> None:
    found = read(TAGGED, f"<muse>\nI look.\n{UPPER}<|over|>\n")
    assert ((found.reasoning or "").strip(), get_calls(found)) == ("I look.", MADE)


ACT = '[[act=for:find_route]]\n{"start": "Oslo"}\n[[/act]]'


@pytest.mark.parametrize(
    "text",
    [
        f"[[say]]I look.[/im]][[im]]assistant[[deed]]\n{ACT}[[/im]]",
        f"[[say]]I look.[[/im]][[im]]assistant[[deed]]\n{ACT.replace('for:', 'for')}[[/im]]",
        f"[[say]]I look.[[/im]][[im]][[im]]assistant[[deed]]\n{ACT}[[/im]]",
    ],
)
def test_marks_in_brackets_are_known_amid_a_text(text: str) -> None:
    found = read(SQUARE, text)
    assert (found.content, get_calls(found)) == ("I look.", MADE)


@pytest.mark.parametrize("again", ["assistant", "[[im]]assistant"])
def test_what_the_prompt_ends_with_may_be_written_again(again: str) -> None:
    form = analyze(SQUARE, eos_token="</s>")
    text = f"{again}[[muse]]Two legs.[[/im]][[im]]assistant[[say]]Go.[[/im]]"
    found = read_all_ways(form, text, [ROUTE_TOOL], "[[im]]user[[say]]Go?[[/im]][[im]]assistant")
    assert found[:2] == ("Two legs.", "Go.")


def test_content_begins_where_its_channel_does_though_that_of_thoughts_is_open() -> None:
    form = analyze(CHANNELS, eos_token="</s>")
    prompt = '<~begin~>turn of="assistant"<~is~><~begin~>muse<~is~>'
    found = read_all_ways(form, "Two and two.<~begin~>word<~is~>Four.<~end~>word<~is~><~end~>turn<~is~>", [ROUTE_TOOL], prompt)
    assert found[:3] == ("Two and two.", "Four.", [])


def test_a_value_that_is_no_json_is_a_text_and_its_call_is_whole() -> None:
    form = analyze(CHANNELS, eos_token="</s>")
    prompt = '<~begin~>turn of="assistant"<~is~><~begin~>muse<~is~>'
    text = (
        '<~end~>muse<~is~><~begin~>word<~is~><~end~>word<~is~><~begin~>deed of="place"<~is~><~begin~>part of="spec" as="json"<~is~>'
        "{not json<~end~>part<~is~><~end~>deed<~is~><~end~>turn<~is~>"
    )
    found = read_all_ways(form, text, [PLACE], prompt)
    assert get_calls(found) == [("place", {"spec": "{not json"})]
    assert found.incomplete == set()


def test_half_of_a_mark_within_what_begins_a_call_is_no_answer() -> None:
    form = analyze(CHANNELS, eos_token="</s>")
    prompt = '<~begin~>turn of="assistant"<~is~><~begin~>muse<~is~>'
    found = read_all_ways(form, "<~end~>muse<~is~><~begin~>word<~is~>All done.<~begin~>", [ROUTE_TOOL], prompt)
    assert found[:3] == (None, "All done.", [])


@pytest.mark.parametrize(
    ("content", "written"),
    [
        ('<canvas id="game">\n</canvas>', '"<canvas id="game">\\n</canvas>"'),
        ('say "no", or not', '"say "no", or not"'),
        ('a "quoted" word', '"a \\"quoted\\" word"'),
    ],
)
def test_a_quote_that_nothing_follows_stands_within_its_string(content: str, written: str) -> None:
    found = read(SYNTAX, f'<<deeds>>[write_file(path="a.html", content={written})]<</deeds>>')
    assert (found.content, get_calls(found)) == (None, [("write_file", {"path": "a.html", "content": content})])
    first = read(SYNTAX, f'<<deeds>>[write_file(content={written}, path="a.html")]<</deeds>>')
    assert get_calls(first) == [("write_file", {"content": content, "path": "a.html"})]


def test_a_string_that_nothing_follows_ends_with_its_quote() -> None:
    found = read(SYNTAX, '<<deeds>>[write_file(path="a.html" and so on')
    assert [name for name, _ in found.calls] == ["write_file"]
    assert found.calls[0][1].startswith('{"path": "a.html"')


def test_a_name_may_stand_in_letters_of_programs() -> None:
    tools = [make_tool("find-route", start="string"), make_tool("get.file", path="string"), make_tool("get_file", path="string")]
    form = analyze(SYNTAX)
    found = read_all_ways(form, "<<deeds>>[find_route(start='Oslo'), get_file(path='a')]<</deeds>>", tools)
    assert get_calls(found) == [("find-route", {"start": "Oslo"}), ("get_file", {"path": "a"})]
    assert found.recoveries == ["name in other letters"]
    strict = read_all_ways(form, "<<deeds>>[find_route(start='Oslo')]<</deeds>>", tools, policy="strict")
    assert get_calls(strict) == MADE


@pytest.mark.parametrize("written", ["Book_Room", "bookRoom", "book-room", "`book_room`", "**book_room**", "@book_room", "BOOKROOM"])
@pytest.mark.parametrize("source", [LISTED, TAGS])
def test_a_name_may_stand_in_other_letters(source: str, written: str) -> None:
    tools = [make_tool("book_room", city="string"), make_tool("bookrooms", city="string"), make_tool("find_train", city="string")]
    prompt, text = render_turn(source, {"tool_calls": [make_call("book_room", {"city": "Oslo"})] * 2}, tools)
    found = read_all_ways(analyze(source), text.replace("book_room", written), tools, prompt)
    assert (found.content, get_calls(found)) == (None, [("book_room", {"city": "Oslo"})] * 2)
    assert found.recoveries == ["name in other letters"] * 2
    twice = [*tools, make_tool("bookRoom_", city="string")]  # then it may be the one or the other
    found = read_all_ways(analyze(source), text.replace("book_room", "BookRoom"), twice, prompt)
    assert [name for name, _ in found.calls] == ["BookRoom"] * 2


NESTED = """\
{%- for m in messages -%}
({{ m.role }}){{ m.content or "" }}
{%- for c in m.tool_calls or [] -%}
]<]x[>[<deed name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}]<]x[>[<{{ k }}>{{ v }}]<]x[>[</{{ k }}>
{%- endfor %}]<]x[>[</deed>
{%- endfor -%}
(over)
{%- endfor -%}
{%- if add_generation_prompt %}(assistant){% endif -%}
"""


def test_the_end_of_no_call_behind_an_answer_is_none_of_it() -> None:
    found = read(NESTED, "I have updated the file.]<]x[>[</deed>")
    assert found[:3] == (None, "I have updated the file.", [])


PARTS = """\
{%- for m in messages -%}
<{{ m.role }}>{{ m.content or "" }}
{%- for c in m.tool_calls or [] -%}
<act name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}<part name="{{ k }}">{{ v }}</part>{% endfor %}</act>
{%- endfor -%}
</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt %}<assistant>{% endif -%}
"""


def test_an_element_may_stand_around_the_arguments() -> None:
    text = '<act name="find_route"><arguments><part name="start">Oslo</part></arguments></act>'
    assert get_calls(read(PARTS, text)) == MADE


FLAT = """\
{%- for m in messages -%}
|{{ m.role }}|{{ m.content or "" }}
{%- for c in m.tool_calls or [] -%}
{"id": "{{ c.id }}", "deed": {"tool": "{{ c.function.name }}"{% for k, v in c.function.arguments.items() %}, "{{ k }}": {{ v | tojson }}
{%- endfor %}}}
{%- endfor -%}
|over|
{%- endfor -%}
{%- if add_generation_prompt %}|assistant|{% endif -%}
"""


def test_a_key_without_its_first_quote_is_one() -> None:
    found = read(FLAT, '{"id": "call_0abcdef", "deed": {"tool": "find_route", "start": "Oslo", legs": 3}}|over|')
    assert (found.content, get_calls(found)) == (None, [("find_route", {"start": "Oslo", "legs": 3})])


PAIRS = """\
{%- for m in messages -%}
---v3_{{ m.role }}---{{ m.content or "" }}
{%- for c in m.tool_calls or [] %}
---v3_call---
# {{ c.function.name }}
[{% for k, v in c.function.arguments.items() %}
  [
    "{{ k }}",
    {{ v | tojson }}
  ]{{ "," if not loop.last }}
{%- endfor %}
]
---/v3_call---
{%- endfor -%}
</s>
{%- endfor -%}
{%- if add_generation_prompt %}---v3_assistant---{% endif -%}
"""


@pytest.mark.parametrize("mark", ["---/v3_CALL---", "---/v3_cal---", "--/v3_call--"])
def test_a_mark_behind_brackets_and_lines_may_be_mistyped(mark: str) -> None:
    text = f'\n---v3_call---\n# find_route\n[\n  [\n    "start",\n    "Oslo"\n  ]\n]\n{mark}</s>'
    assert get_calls(read(PAIRS, text)) == MADE


CHANNEL = """\
{%- for m in messages -%}
<|of>{{ m.role }}
{% if m.reasoning_content %}<|room>muse
{{ m.reasoning_content }}<room|>{% endif -%}
{{ m.content or "" }}
{%- for c in m.tool_calls or [] -%}<|deed>{{ c.function.name }}{{ c.function.arguments | tojson }}<deed|>{%- endfor -%}
<of|>
{% endfor -%}
{%- if add_generation_prompt %}<|of>assistant
{% endif -%}
"""


def test_reasoning_may_begin_with_the_first_mark_alone() -> None:
    assert read(CHANNEL, "<|room>Two legs.<room|>Go.")[:3] == ("Two legs.", "Go.", [])


DRESSED = """\
{%- for m in messages -%}
<<{{ m.role }}>>
{%- set text = m.content or "" -%}
{%- if m.role == "assistant" and "<reply>" in text and not loop.last %}{% set text = text.split("<reply>")[-1].split("</reply>")[0].strip() %}
{%- endif -%}
{%- if m.reasoning_content %}<muse>{{ m.reasoning_content }}</muse>{% endif -%}
{{ text }}{% for c in m.tool_calls or [] %}<deed>{{ c.function | tojson }}</deed>{% endfor %}<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""


@pytest.mark.parametrize("written", ["<reply>\nIt is far.\n</reply><<over>>", "<reply>It is far.</reply>", "It is far.<<over>>"])
def test_what_a_template_takes_off_earlier_answers_is_none_of_them(written: str) -> None:
    form = analyze(DRESSED)
    found = read_all_ways(form, written, [ROUTE_TOOL], "<<assistant>>")
    assert found[:3] == (None, "It is far.", [])
    assert any("takes them off" in note for note in form.verdict.notes)
    call = '<deed>{"name": "find_route", "arguments": {"start": "Oslo"}}</deed>'
    assert get_calls(read_all_ways(form, f"<reply>\n{call}\n</reply><<over>>", [ROUTE_TOOL], "<<assistant>>")) == MADE
    assert read_all_ways(form, "<b>It is far.</b>", [], "<<assistant>>").content == "<b>It is far.</b>"


NO_CALLS = """\
{%- for m in messages -%}<<{{ m.role }}>>{{ m.content }}<<over>>{%- endfor -%}
{%- if tools %}Tools: {{ tools | tojson }}{% endif -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("<|call_start|>[find_route(start='Oslo')]<|call_end|>", None),
        ("So: <|call_start|>[find_route(start='Oslo')]<|call_end|> That is it.", "So:  That is it."),
        ("[CALLS_BEGIN]find_route{'start': 'Oslo'}[CALLS_END]", None),
    ],
)
def test_marks_of_another_format_are_closed_as_people_name_such_pairs(text: str, content: str | None) -> None:
    found = read_all_ways(analyze(NO_CALLS), text, [ROUTE_TOOL], "<<assistant>>")
    assert (" ".join((found.content or "").split()) or None) == (content and " ".join(content.split()))
    assert get_calls(found) == MADE


def test_a_name_alone_behind_a_mark_of_calls_is_a_call() -> None:
    tools = [make_tool("now"), ROUTE_TOOL]
    assert get_calls(read_all_ways(analyze(NO_CALLS), '<|tool_call|>[{"name": "now"}]', tools, "<<assistant>>")) == [("now", {})]
    assert read_all_ways(analyze(NO_CALLS), '[{"name": "now"}]', tools, "<<assistant>>").calls == []


def test_a_backslash_before_a_line_break_is_kept() -> None:
    calls = TAGGED.replace("{{ v if v is string else v | tojson }}", "{{ v | tojson }}")
    text = '<deed_of>\n<act=write_file>\n<part=content>\n"make \\\n  -j8"\n</part>\n</act>\n</deed_of><|over|>\n'
    assert get_calls(read(calls, text)) == [("write_file", {"content": "make \\\n  -j8"})]


@pytest.mark.parametrize("begun", ["<|room>", "<|room>muse\n", "<|room> \n"])
def test_a_thought_that_begins_at_the_end_is_none(begun: str) -> None:
    assert read(CHANNEL, f"Go.{begun}")[:3] == (None, "Go.", [])
    assert read(CHANNEL, f"Go.{begun}<of|>\n")[:3] == (None, "Go.", [])


ECHOED = """\
{%- for m in messages -%}
<<{{ m.role }}>>{{ m.content or "" }}
{%- if m.tool_calls %}<deeds>{% for c in m.tool_calls %}
<|begin @{{ c.function.name }}|>
{{ c.function.arguments | tojson }}
<|end @{{ c.function.name }}|>
{%- endfor %}
</deeds>{% endif -%}
<<over>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""


def test_what_is_left_of_an_end_with_a_name_is_no_other_call() -> None:
    found = read(ECHOED, '<deeds>\n<|begin @find_route|>\n{"start": "Oslo"}find_route|>\n</deeds><<over>>')
    assert get_calls(found) == MADE


@pytest.mark.parametrize("between", [",", ", ", ",\n  "])
def test_other_white_space_may_stand_behind_the_comma_between_calls(between: str) -> None:
    found = read(SYNTAX, f"<<deeds>>[find_route(start='Oslo'){between}find_route(start='Oslo')]<</deeds>>")
    assert (found.content, get_calls(found)) == (None, MADE * 2)


BRACED = """\
{%- for m in messages -%}
{{ m.role }} turn {
{%- if m.reasoning_content %} muse {{ m.reasoning_content | tojson }},{% endif -%}
{%- if m.content %} say {{ m.content | tojson }},{% endif -%}
{%- if m.tool_calls %} deeds {{ "{" }}{% for c in m.tool_calls %} { act {{ c.function.name }}, parts {
{%- for k, v in c.function.arguments.items() %} {{ k }} {{ v | tojson }}{{ "," if not loop.last }}{% endfor %} } }
{%- if not loop.last %},{% endif %}{% endfor %} }{% endif %} }<over>
{% endfor -%}
{%- if add_generation_prompt %}assistant turn {{ "{" }}{% endif -%}
"""


@pytest.mark.parametrize(
    "text",
    [
        ' muse "It is far.", deeds { { act find_route, parts { start "Oslo", legs 3 } } } }',
        '\n  muse "It is far.",\n  deeds {\n    {\n      act find_route,\n      parts {\n        start "Oslo",\n        legs 3\n      }\n    }\n  }\n}',
        ' muse "It is far.", deeds {\n { act find_route,\n   parts { start "Oslo"\n , legs 3\n } } } }',
    ],
)
def test_words_and_brackets_may_have_another_layout(text: str) -> None:
    found = read(BRACED, f"{text}<over>")
    assert found.reasoning == "It is far."
    assert (found.content or "").strip() == ""
    assert get_calls(found) == [("find_route", {"start": "Oslo", "legs": 3})]


LISTED = """\
{%- for m in messages -%}
= {{ m.role }}
{% if m.content %}{{ m.content }}
{% endif %}
{%- for c in m.tool_calls or [] -%}
== deed {{ c.function.name }}
{% for k, v in c.function.arguments.items() %}    {{ k }}  of  {{ v | tojson }}
{% endfor %}{% endfor -%}
== over
{% endfor -%}
{%- if add_generation_prompt %}= assistant
{% endif -%}
"""


@pytest.mark.parametrize("begun", ["\n  ", "\n\t", "\n      ", "\n"])
def test_the_lines_of_arguments_may_begin_otherwise(begun: str) -> None:
    found = read(LISTED, f'== deed find_route{begun}start  of  "Oslo"{begun}legs of 3\n== over\n')
    assert (found.content or "").strip() == ""
    assert get_calls(found) == [("find_route", {"start": "Oslo", "legs": 3})]


def test_a_mark_that_ends_no_call_is_text_behind_what_it_would_end() -> None:
    """The tool is none of the request."""
    text = "So:\n<act=fly>\n<part=to>\nOslo\n</part>\n</act>"
    found = read_all_ways(analyze(TAGGED, eos_token="</s>"), text, [ROUTE_TOOL], policy=Policy(unknown="text"))
    assert found.calls == []
    assert found.content == text
