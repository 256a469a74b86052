"""Marks that a model mistypes, leaves out or has from elsewhere, and calls without any. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import ROUTE_TOOL, Reading, analyze, get_calls, read_all_ways

WRAPPER = """\
{%%- for m in messages -%%}
<<{{ m.role }}>>
%s
{{- m.content or "" }}
%s<<over>>
{%%- endfor -%%}
{%%- if add_generation_prompt %%}<<assistant>>{%% endif -%%}
"""

MUSE = "{%- if m.reasoning_content -%}<muse>\n{{ m.reasoning_content }}\n</muse>\n{%- endif -%}"

OBJECTS = "{%- for c in m.tool_calls or [] -%}<deed>{{ c.function | tojson }}</deed>{%- endfor -%}"

TAGS = (
    "{%- for c in m.tool_calls or [] %}\n<deed={{ c.function.name }}>\n{% for k, v in c.function.arguments.items() %}"
    "<detail={{ k }}>\n{{ v if v is string else v | tojson }}\n</detail>\n{% endfor %}</deed>\n{%- endfor -%}"
)

SYNTAX = (
    "{%- if m.tool_calls -%}[{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}"
    "{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]{%- endif -%}"
)

KEYED = (
    "{%- for c in m.tool_calls or [] -%}<deed>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    "<key>{{ k }}</key><val>{{ v if v is string else v | tojson }}</val>{% endfor %}</deed>{%- endfor -%}"
)

ROUTE = {"start": "Oslo", "goal": "Bergen", "legs": 3}


def read(thoughts: str, calls: str, text: str) -> Reading:
    return read_all_ways(analyze(WRAPPER % (thoughts, calls), bos_token="<s>", eos_token="</s>"), text, [ROUTE_TOOL])


@pytest.mark.parametrize("thoughts", ["", MUSE])
@pytest.mark.parametrize(("opening", "closing"), [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]")])
def test_reasoning_in_marks_of_another_format_is_reasoning(thoughts: str, opening: str, closing: str) -> None:
    found = read(thoughts, OBJECTS, f"{opening}\nTwo (or three) legs)\n{closing}\n\nIt is far.")
    assert found[:3] == ("Two (or three) legs)", "It is far.", [])


def test_reasoning_may_end_with_a_mark_of_another_format() -> None:
    found = read(MUSE, OBJECTS, '<muse>\nThree legs.\n</think>\n\n<deed>{"name": "find_route", "arguments": {"legs": 3}}</deed>')
    assert (found.reasoning, found.content, get_calls(found)) == ("Three legs.", None, [("find_route", {"legs": 3})])


@pytest.mark.parametrize(
    "text",
    ["I write <think> before I think.", "The mark </think> ends it.", "<i>think</i>", "<thinker>", "<reasoning>a</reasoning>b"],
)
def test_what_only_speaks_of_such_marks_is_text(text: str) -> None:
    assert read(MUSE, OBJECTS, text)[:3] == (None, text, [])
    found = read(MUSE, OBJECTS, f"<muse>\n{text}\n</muse>So.")
    assert found[:3] == (text, "So.", [])


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (
            TAGS,
            "\n<deed=find_route>\n<detail=start>\nOslo\n<detail=goal>\nBergen\n</detail>\n<detail=legs>\n3\n</detail>\n</deed>\n",
        ),
        (KEYED, "<deed>find_route<key>start</key><val>Oslo<key>goal</key><val>Bergen</val><key>legs</key><val>3</val></deed>"),
    ],
)
def test_a_text_without_its_end_ends_where_another_argument_begins(calls: str, text: str) -> None:
    found = read("", calls, text)
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])


@pytest.mark.parametrize("key", ["colour", "start"])
def test_what_is_no_argument_that_may_come_is_part_of_the_text(key: str) -> None:
    start = f"Oslo<key>{key}</key><val>red"
    found = read("", KEYED, f"<deed>find_route<key>start</key><val>{start}</val><key>legs</key><val>3</val></deed>")
    assert get_calls(found) == [("find_route", {"start": start, "legs": 3})]


@pytest.mark.parametrize("closing", ["</deeds>", "</dee>", "</deed=find_route>", "</deed name='find_route'>"])
@pytest.mark.parametrize("space", ["", "\n"])
def test_a_mistyped_end_of_a_call_is_no_text(closing: str, space: str) -> None:
    found = read("", OBJECTS, f'Go:<deed>{{"name": "find_route", "arguments": {{"legs": 3}}}}{space}{closing}')
    assert (found.content, get_calls(found), found.incomplete) == ("Go:", [("find_route", {"legs": 3})], set())


def test_a_mistyped_end_of_a_text_is_no_part_of_it() -> None:
    start, goal = "<detail=start>\nOslo\n</details>", "<detail=goal>\nBergen\n</detail>"
    found = read("", TAGS, f"\n<deed=find_route>\n{start}\n{goal}\n<detail=legs>\n3\n</detal>\n</deed>\n")
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])


def test_a_mark_in_a_text_that_is_only_like_its_end_is_text() -> None:
    start = "a </details> b\n</details>\nc </deed> d"
    found = read("", TAGS, f"\n<deed=find_route>\n<detail=start>\n{start}\n</detail>\n</deed>\n")
    assert get_calls(found) == [("find_route", {"start": start})]


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (SYNTAX, 'find_route(start="Oslo", goal="Bergen", legs=3)'),
        (OBJECTS, '[find_route(start="Oslo", goal="Bergen", legs=3)]<deeds>'),
        (KEYED, "find_route<key>start</key><val>Oslo</val><key>goal</key><val>Bergen</val><key>legs</key><val>3</val></deed>"),
    ],
)
def test_a_call_without_a_mark_before_it_is_one(calls: str, text: str) -> None:
    found = read("", calls, text)
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])


@pytest.mark.parametrize(
    "text",
    [
        'find_route(start="Oslo") is what I would call.',
        "find_route is a tool (a good one)",
        "find_route(start=...)",
        "find_route",
        "So: find_route(legs=3)",
        "find_router(legs=3)",
    ],
)
def test_a_sentence_that_begins_with_a_tool_is_text(text: str) -> None:
    assert read("", SYNTAX, text)[:3] == (None, text, [])


@pytest.mark.parametrize(("policy", "brackets"), [("lenient", ""), ("repair", "]}")])
def test_missing_brackets_before_the_end_of_a_call_are_added_where_json_is_wanted(policy: Any, brackets: str) -> None:
    calls = "{{ c.function.name }}<with>{{ c.function.arguments | tojson }}"
    form = analyze(WRAPPER % ("", "{%- for c in m.tool_calls or [] -%}<deed>" + calls + "</deed>{%- endfor -%}"))
    written = '{"legs": [3, 4'
    found = read_all_ways(form, f"<deed>find_route<with>{written}</deed>", [ROUTE_TOOL], policy=policy)
    assert found.calls == [("find_route", written + brackets)]
    assert bool(found.incomplete) == (not brackets)


def test_content_begins_as_behind_another_prompt() -> None:
    """A prompt closes reasoning, and no render shows content behind it."""
    template = (
        "{%- for m in messages -%}<<{{ m.role }}>>"
        "{% if m.reasoning_content %}<muse>{{ m.reasoning_content }}</muse>{% endif %}"
        "{% if m.role == 'assistant' %}<say>{{ m.content or '' }}</say>{% else %}{{ m.content or '' }}{% endif %}<<over>>{%- endfor -%}"
        "{%- if add_generation_prompt %}<<assistant>>{% if not think %}<muse></muse>{% endif %}{% endif -%}"
    )
    found = read_all_ways(analyze(template), "<say>Hello.</say>", None, "<<assistant>><muse></muse>")
    assert found[:3] == (None, "Hello.", [])


def test_layout_between_calls_is_theirs_where_nothing_ends_a_call() -> None:
    calls = (
        "{%- if m.tool_calls -%}<deeds>{% for c in m.tool_calls %}use {{ c.function.name }} with {{ c.function.arguments | tojson }}"
        "{{ '\\n' if not loop.last }}{% endfor %}</deeds>{%- endif -%}"
    )
    form = analyze(WRAPPER % ("", calls))
    text = '<deeds>use find_route with {"legs": 3}\nuse find_route with {"legs": 4}</deeds>'
    for policy in ("strict", "lenient"):
        found = read_all_ways(form, text, [ROUTE_TOOL], policy=policy)
        assert (found.content, get_calls(found)) == (None, [("find_route", {"legs": 3}), ("find_route", {"legs": 4})])


NAMED = "{%- for c in m.tool_calls or [] -%}[DEEDS]{{ c.function.name }}[WITH]{{ c.function.arguments | tojson }}{%- endfor -%}"

LINES = (
    "{%- if m.tool_calls %}{{ '[[deeds]]' }}{% for c in m.tool_calls %}{{ '\\n' ~ c.function.name }}("
    "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})"
    "{% endfor %}{{ '\\n[[/deeds]]' }}{%- endif -%}"
)

CHANNEL = "{%- if m.reasoning_content -%}<|lane>muse\n{{ m.reasoning_content }}<lane|>{%- endif -%}"


@pytest.mark.parametrize("mark", ["</function_call>", "</tool_calls>", "[/TOOL_CALLS]"])
def test_a_call_may_end_with_the_mark_of_another_format(mark: str) -> None:
    call = json.dumps({"name": "find_route", "arguments": ROUTE})
    found = read(MUSE, OBJECTS, f"Off.\n<deed>{call}\n{mark}")
    assert (found.content or "").strip() == "Off."
    assert get_calls(found) == [("find_route", ROUTE)]


@pytest.mark.parametrize("text", ["Off.\n</function_call>", "The mark </tool_call> ends it.", "</tool>"])
def test_without_a_call_before_it_such_a_mark_is_text(text: str) -> None:
    assert read(MUSE, OBJECTS, text)[:3] == (None, text, [])


def test_calls_in_tags_of_another_format_end_with_these() -> None:
    inner = '<invoke name="find_route">\n<parameter name="start">Oslo</parameter>\n<parameter name="legs">3</parameter>\n</invoke>'
    found = read(MUSE, TAGS, f"Off.\n\n<function_calls>\n{inner}\n</function_calls>")
    assert ((found.content or "").strip(), get_calls(found)) == ("Off.", [("find_route", {"start": "Oslo", "legs": 3})])


@pytest.mark.parametrize(
    "text",
    ["So one, and <muse> is a mark.", "```\n<muse>\nTwo.\n</muse>\n```\nSo two."],
)
def test_behind_the_beginning_of_an_answer_the_mark_of_reasoning_is_text(text: str) -> None:
    """An answer that shows what a model writes would be hidden else; but a mark with a line of its own begins another thought."""
    found = read(MUSE, OBJECTS, f"<muse>\nOne.\n</muse>{text}")
    assert (found.reasoning, found.content) == ("One.", text)


def test_reasoning_may_begin_with_the_last_word_of_its_mark() -> None:
    found = read(CHANNEL, OBJECTS, "muse\nThree legs.<lane|>So.")
    assert (found.reasoning, found.content) == ("Three legs.", "So.")


@pytest.mark.parametrize("text", ["muse about it\nand go on.", "mused\nlong", "a muse\n"])
def test_a_text_that_begins_with_that_word_is_text(text: str) -> None:
    assert read(CHANNEL, OBJECTS, text)[:3] == (None, text, [])


@pytest.mark.parametrize(("field", "ident"), [("[CALL_ID]a1B2c3", "a1B2c3"), ("<|turn|>7", None)])
def test_a_field_that_the_format_does_not_have_may_stand_behind_a_name(field: str, ident: str | None) -> None:
    found = read(MUSE, NAMED, f"[DEEDS]find_route{field}[WITH]{json.dumps(ROUTE)}")
    assert (found.content, get_calls(found)) == (None, [("find_route", ROUTE)])
    assert ident in (None, *found.ids)


def test_names_may_have_a_word_in_front_where_only_a_line_begins_a_call() -> None:
    text = '[[deeds]]\ntools.find_route(start="Oslo")\ntools.find_route(legs=3)\n[[/deeds]]'
    found = read(MUSE, LINES, text)
    assert (found.content, get_calls(found)) == (None, [("find_route", {"start": "Oslo"}), ("find_route", {"legs": 3})])


LEGS = '{"name": "find_route", "arguments": {"legs": 3}}'
OSLO = "<deed>find_route<key>start</key><val>Oslo"


@pytest.mark.parametrize(
    "closing", ["</val=start></deed=find_route>", "</val name='start'></deed name='find_route'>", "</vals></deeds>"]
)
def test_each_of_several_marks_may_be_mistyped(closing: str) -> None:
    found = read("", KEYED, OSLO + closing)
    assert (found.content, get_calls(found)) == (None, [("find_route", {"start": "Oslo"})])


@pytest.mark.parametrize("extra", ["}", "}}"])
def test_brackets_too_many_before_the_end_of_a_call_are_no_text(extra: str) -> None:
    found = read("", OBJECTS, f"<deed>{LEGS}{extra}</deed>")
    assert (found.content, get_calls(found)) == (None, [("find_route", {"legs": 3})])


def test_members_around_a_call_that_no_format_has_do_not_end_it() -> None:
    calls = "{%- if m.tool_calls -%}<deeds>[{% for c in m.tool_calls %}{{ c.function | tojson }}{{ ', ' if not loop.last }}{% endfor %}]"
    found = read("", f"{calls}</deeds>{{% endif -%}}", f'<deeds>[{LEGS[:-1]}, "id": "a-1"}}, {LEGS}]</deeds>')
    assert (found.content, get_calls(found)) == (None, 2 * [("find_route", {"legs": 3})])


@pytest.mark.parametrize("text", ["So.<<over>><<over>>", "So.<<over>>\n<<over>>", f"So.<deed>{LEGS}</deed><<over>><<over>>"])
def test_the_end_of_the_turn_may_stand_twice(text: str) -> None:
    found = read(MUSE, OBJECTS, text)
    assert (found.content, len(found.calls)) == ("So.", text.count("<deed>"))


def test_an_answer_may_follow_a_thought_that_has_ended_without_what_begins_it() -> None:
    template = (
        "{%- for m in messages -%}{% if m.reasoning_content %}<<assistant/muse>>{{ m.reasoning_content }}<<next>>{% endif %}"
        "<<{{ m.role }}>>{{ m.content or '' }}<<over>>{%- endfor -%}{%- if add_generation_prompt %}<<assistant{% endif -%}"
    )
    found = read_all_ways(analyze(template), "/muse>>Three legs.<<next>>So.<<over>>", None, "<<assistant")
    assert (found.reasoning, found.content) == ("Three legs.", "So.")


@pytest.mark.parametrize("word", ["but", "и"])
def test_a_call_amid_a_sentence_of_a_thought_is_not_made(word: str) -> None:
    thought = f"I could write\n<deed>{LEGS}</deed>\n{word} need not."
    assert read(MUSE, OBJECTS, f"<muse>\n{thought}\n</muse>So.")[:3] == (thought, "So.", [])


def test_a_call_behind_a_line_of_a_thought_is_made() -> None:
    found = read(MUSE, OBJECTS, f"<muse>\nI call it.\n<deed>{LEGS}</deed>\nSo I wait.\n</muse>")
    assert get_calls(found) == [("find_route", {"legs": 3})]


@pytest.mark.parametrize("end", range(1, len("</act>")))
def test_half_of_the_last_mark_that_ends_a_call_is_no_text(end: int) -> None:
    calls = TAGS.replace("\n<deed", "\n<act>\n<deed").replace("</deed>\n", "</deed>\n</act>")
    text = "Go.<act>\n<deed=find_route>\n<detail=start>\nOslo\n</detail>\n</deed>\n" + "</act>"[:end]
    found = read("", calls, text)
    assert (found.content, get_calls(found)) == ("Go.", [("find_route", {"start": "Oslo"})])


def test_a_fence_around_a_call_without_its_marks_is_dropped_whole() -> None:
    call = '{"name": "find_route", "arguments": {"legs": 3}}'
    found = read("", OBJECTS, f"Sure.\n\n```json\n{call}\n```")
    assert ((found.content or "").strip(), get_calls(found)) == ("Sure.", [("find_route", {"legs": 3})])


def test_code_behind_words_is_an_example_though_calls_stand_in_code() -> None:
    calls = (
        "{%- if m.tool_calls -%}<deeds>\n```python\n{% for c in m.tool_calls %}{{ c.function.name }}("
        "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})\n"
        "{% endfor %}```\n</deeds>{%- endif -%}"
    )
    call = "```python\nfind_route(legs=3)\n```"
    assert get_calls(read("", calls, f"<deeds>\n{call}\n</deeds>")) == [("find_route", {"legs": 3})]
    text = f"You can call it like this:\n\n{call}"
    assert read("", calls, text)[:3] == (None, text, [])


SPOKEN = """\
{%- for m in messages -%}
{%- if m.role == "assistant" -%}
{%- if m.reasoning_content -%}[[say]]kind=muse[[is]]{{ m.reasoning_content }}[[.]]{%- endif -%}
{%- if m.content -%}[[say]]kind=word[[is]]{{ m.content }}[[.]]{%- endif -%}
{%- for c in m.tool_calls or [] -%}[[say]]kind=deed for={{ c.function.name }}[[is]]{{ c.function.arguments | tojson }}[[.]]{%- endfor -%}
{%- else -%}[[say]]kind={{ m.role }}[[is]]{{ m.content }}[[.]]{%- endif -%}
{%- endfor -%}
"""


@pytest.mark.parametrize("half", ["kind=word?kind=word?", "kind=deed for=nobody[[say]]kind=word?"])
def test_a_message_of_half_a_header_says_nothing(half: str) -> None:
    form = analyze(SPOKEN, bos_token="<s>", eos_token="</s>")
    text = f"[[say]]{half}[[.]][[say]]kind=muse[[is]]Hm.[[.]][[say]]kind=word[[is]]Hello.[[.]]"
    found = read_all_ways(form, text, [ROUTE_TOOL])
    assert (found.reasoning, found.content, found.calls) == ("Hm.", "Hello.", [])


def test_a_sentence_about_a_mark_is_no_half_header() -> None:
    form = analyze(SPOKEN, bos_token="<s>", eos_token="</s>")
    found = read_all_ways(form, "[[say]]kind=word[[is]]Write [[say]] or so.[[.]]", [ROUTE_TOOL])
    assert found.content == "Write [[say]] or so."


BARE = (
    "{%- for c in m.tool_calls or [] -%}{{ {'name': c.function.name, 'parameters': c.function.arguments} | tojson }}{%- endfor -%}"
)


def test_a_bare_call_in_another_envelope_may_have_a_text_in_lines_of_their_own_behind_it() -> None:
    call = '{"type": "function", "name": "find_route", "parameters": {"start": "Oslo"}}'
    found = read("", BARE, f"{call}\n\nAnything else?\n<<over>>")
    assert (get_calls(found), (found.content or "").strip()) == ([("find_route", {"start": "Oslo"})], "Anything else?")
    shown = f"{call} is how I would write it."
    found = read("", BARE, f"{shown}\n<<over>>")
    assert (found.calls, (found.content or "").strip()) == ([], shown)


IDS = """\
{%- for c in m.tool_calls or [] -%}<|deed|>{{ c.id }}<|with|>{{ c.function.arguments | tojson }}<|done|>{%- endfor -%}
"""


@pytest.mark.parametrize(("written", "name"), [("toolsfind_route5", "find_route"), ("tools.my_find_route:5", "my_find_route")])
def test_an_id_carries_the_name_of_a_tool_without_the_signs_around_it(written: str, name: str) -> None:
    found = read("", IDS, f'<|deed|>{written}<|with|>{{"start": "Oslo"}}<|done|>\n<<over>>')
    assert get_calls(found) == [(name, {"start": "Oslo"})]


MARKED = """\
{%- for m in messages -%}<<{{ m.role }}>>
{%- for c in m.tool_calls or [] -%}<|do|>{{ c.function | tojson }}<|done|>{%- endfor -%}
{%- if m.content -%}<|say|>{{ m.content }}<|said|>{%- endif -%}<|over|>
{%- endfor -%}{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""


def test_content_may_stand_before_calls_in_the_marks_that_it_has_behind_them() -> None:
    form = analyze(MARKED, bos_token="<s>", eos_token="</s>")
    call = '<|do|>{"name": "find_route", "arguments": {"start": "Oslo"}}<|done|>'
    found = read_all_ways(form, f"<|say|>I look.<|said|>{call}<|over|>", [ROUTE_TOOL])
    assert (found.content, get_calls(found)) == ("I look.", [("find_route", {"start": "Oslo"})])


@pytest.mark.parametrize(("opens", "closes"), [("<|muse|>", "<|/muse|>"), ("[[muse]]", "[[/muse]]"), ("⟦muse⟧", "⟦/muse⟧")])
def test_the_image_of_what_opens_a_thought_ends_it(opens: str, closes: str) -> None:
    thoughts = f"{{% if m.reasoning_content %}}{opens}{{{{ m.reasoning_content }}}}{{% endif %}}{opens.replace('muse', 'word')}"
    text = f"{opens}It greets.{closes}Hello!\n<<over>>"
    found = read(thoughts, OBJECTS, text)
    assert (found.reasoning, (found.content or "").strip()) == ("It greets.", "Hello!")


BRACKETS = [("<", ">"), ("[", "]"), ("⟦", "⟧"), ("{{", "}}"), ("{%", "%}"), ("<<", ">>"), ("[[", "]]"), ("@@", "@@"), ("|", "|")]


@pytest.mark.parametrize(
    ("opens", "ends", "slip"),
    [
        (*pair, slip)
        for pair in BRACKETS
        for slip in ("/entrys", "/entry:legs", "/enty", "/entry key")
        if pair[0] != pair[1] or " " not in slip  # between two of the same signs a blank may as well be a text
    ],
)
def test_a_mistyped_mark_is_read_in_any_brackets(opens: str, ends: str, slip: str) -> None:
    calls = (
        "{%- for c in m.tool_calls or [] -%}(do {{ c.function.name }}){% for k, v in c.function.arguments.items() %}"
        "(key {{ k }}){{ v if v is string else v | tojson }}(/entry){% endfor %}(/do){%- endfor -%}"
    )
    for was in ("(do ", "(key ", "(/entry)", "(/do)"):
        new = was.replace("(", opens).replace(")", ends)
        calls = calls.replace(was, "{{ '" + new + "' }}")
    calls = calls.replace(".name }})", ".name }}{{ '" + ends + "' }}").replace("{{ k }})", "{{ k }}{{ '" + ends + "' }}")
    text = f"(do find_route)(key start)Oslo(/entry)(key legs)3({slip})(/do)".replace("(", opens).replace(")", ends)
    found = read("", calls, text)
    assert (found.content, get_calls(found), found.incomplete) == (None, [("find_route", {"start": "Oslo", "legs": 3})], set())


FORMS = (
    "{%- if m.tool_calls -%}(do{% for c in m.tool_calls %} ({{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    " :{{ k }} {{ v | tojson }}{% endfor %}){% endfor %}){%- endif -%}"
)


@pytest.mark.parametrize(("calls", "call"), [(FORMS, "(do (find_route :legs 3))"), (SYNTAX, "[find_route(legs=3)]")])
@pytest.mark.parametrize("rest", [", but need not", ". No need", " is what I would write"])
def test_a_call_without_a_mark_amid_a_sentence_of_a_thought_is_not_made(calls: str, call: str, rest: str) -> None:
    thought = f"I could run {call}{rest}."
    assert read(MUSE, calls, f"<muse>\n{thought}\n</muse>So.")[:3] == (thought, "So.", [])


WRAPPED_ANSWERS = (
    "{%- for m in messages -%}<|{{ m.role }}|>"
    "{% if m.reasoning_content %}[muse]{{ m.reasoning_content }}[/muse]{% endif %}"
    "{% if m.role == 'assistant' %}<say>{{ m.content or '' }}</say>{% else %}{{ m.content or '' }}{% endif %}<|over|>{%- endfor -%}"
    "{%- if add_generation_prompt %}<|assistant|>{% endif -%}"
)


@pytest.mark.parametrize("thought", ["", "[muse]So.[/muse]"])
@pytest.mark.parametrize("ends", ["<|over|>" * 3, "<|over|>\n<|over|>\n<|over|>\n<|over|>", "</say><|over|>" * 2])
@pytest.mark.parametrize("begins", ["<say>", "<say><say>", "<say>\n<say>"])
def test_what_begins_and_ends_an_answer_may_come_again(thought: str, begins: str, ends: str) -> None:
    found = read_all_ways(analyze(WRAPPED_ANSWERS), f"{thought}{begins}Well.</say>{ends}")
    assert (found.reasoning, found.content, found.calls) == ("So." if thought else None, "Well.", [])


@pytest.mark.parametrize("text", ["Use <say> here: <say>x</say>", "It ends with <|over|> or</say> so.", "<say", "a</say> b</say>"])
def test_what_begins_and_ends_answers_is_text_within_one(text: str) -> None:
    found = read_all_ways(analyze(WRAPPED_ANSWERS), f"<say>{text}.</say><|over|>")
    assert (found.content, found.recoveries) == (f"{text}.", [])
