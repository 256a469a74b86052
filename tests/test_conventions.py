"""Conventions on which engines differ, and what models write beside the script, over templates that are made up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import analyze, read_all_ways

from chat_autoparser.recover import Policy

TAGGED = """\
{%- for m in messages -%}<|{{ m.role }}|>
{%- if m.role == 'assistant' and m.reasoning_content %}<muse>{{ m.reasoning_content }}</muse>{% endif -%}
{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}
<act>
<run name="{{ c.function.name }}">
{%- for k, v in c.function.arguments.items() %}
<put key="{{ k }}">{{ v if v is string else v | tojson }}</put>
{%- endfor %}
</run>
</act>
{%- endfor -%}<|over|>
{%- endfor -%}{% if add_generation_prompt %}<|assistant|>{% endif %}"""

CALLED = """\
{%- macro val(v) -%}
{%- if v is string %}<|*|>{{ v }}<|*|>{% elif v is mapping %}{ {%- for k, w in v.items() %}{{ k }}:{{ val(w) }}{% if not loop.last %},{% endif %}{% endfor -%} }
{%- elif v is sequence %}[{% for w in v %}{{ val(w) }}{% if not loop.last %},{% endif %}{% endfor %}]{% else %}{{ v | tojson }}{% endif -%}
{%- endmacro -%}
{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
<|do|>{{ c.function.name }}{ {%- for k, v in c.function.arguments.items() %}{{ k }}:{{ val(v) }}
{%- if not loop.last %},{% endif %}{% endfor -%} }<|done|>
{%- endfor -%}<|over|>
{%- endfor -%}{% if add_generation_prompt %}<|assistant|>{% endif %}"""

TREE = """\
{%- macro val(v) -%}
{%- if v is mapping %}{% for k, w in v.items() %}#<{{ k }}>{{ val(w) }}#</{{ k }}>{% endfor %}
{%- elif v is sequence and v is not string %}{% for w in v %}#<item>{{ val(w) }}#</item>{% endfor %}
{%- elif v is string %}{{ v }}{% else %}{{ v | tojson }}{% endif -%}
{%- endmacro -%}
{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
#<act name="{{ c.function.name }}">{{ val(c.function.arguments) }}#</act>
{%- endfor -%}<|over|>
{%- endfor -%}{% if add_generation_prompt %}<|assistant|>{% endif %}"""

SPOKEN = """\
{%- if messages[0].role != 'system' %}<|system|>Put your thoughts between <thinking> and </thinking>.<|over|>{% endif -%}
{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}<|over|>{% endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""

PROPERTIES = {
    "place": {"type": "string"},
    "count": {"type": "integer"},
    "note": {"type": ["string", "null"]},
    "list": {"type": "array"},
    "any": {},
    "free": {"type": "object"},
}
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": PROPERTIES}}}
    for name in ("look", "send_card")
]
CALL = '\n<act>\n<run name="look">\n<put key="place">Oslo</put>\n</run>\n</act>'


def read(source: str, text: str, policy: Any = "lenient", tools: Any = TOOLS) -> tuple[str, str, list[tuple[str, Any]]]:
    """Read a text whole and by character, which must give the same: reasoning, content, and the calls."""
    found = read_all_ways(analyze(source), text, tools, policy=policy)
    return found.reasoning or "", found.content or "", found.calls


def read_call(source: str, text: str, policy: Any = "lenient") -> Any:
    """Read a text that is one call and nothing else; returns its arguments."""
    reasoning, content, calls = read(source, text, policy)
    assert (reasoning, content.strip(), len(calls)) == ("", "", 1)
    return json.loads(calls[0][1])


# Switches --------------------------------------------------------------------------------------------------------------------


def test_a_call_without_its_end_may_be_text() -> None:
    cut = CALL.partition("</put>")[0]
    assert read(TAGGED, f"So:{cut}", Policy(cut="text")) == ("", f"So:{cut}", [])
    _, content, calls = read(TAGGED, f"So:{CALL}{cut}", Policy(cut="text"))
    assert (content.replace("\n", ""), len(calls)) == (f"So:{cut}".replace("\n", ""), 1)
    assert read(TAGGED, CALL, Policy(cut="text"))[2] == read(TAGGED, CALL)[2]


def test_text_in_an_answer_with_calls_may_be_dropped() -> None:
    text = f"Before.{CALL}After."
    assert read(TAGGED, text, Policy(beside="drop"))[1].strip() == "Before."
    assert read(TAGGED, text, Policy(beside="none"))[1] == ""
    assert read(TAGGED, "Nothing but text.", Policy(beside="none"))[1] == "Nothing but text."
    assert len(read(TAGGED, text, Policy(beside="none"))[2]) == 1


def test_marks_of_calls_that_are_none_may_be_dropped() -> None:
    drop = Policy(markup="drop")
    assert read(TAGGED, "An opener is <act> and so on.", drop)[1] == "An opener is "
    assert read(TAGGED, f"Broken: <act>nothing</act>{CALL}Done.", drop)[1] == "Broken: Done."
    assert read(TAGGED, "An end</act> alone.", drop)[1] == "An end alone."
    assert read(TAGGED, "Cut <ac", drop)[1] == "Cut "
    assert read(TAGGED, "An opener is <act> and so on.")[1] == "An opener is <act> and so on."


def test_a_value_of_which_nothing_is_said_may_be_text() -> None:
    text = CALL.replace("place", "any").replace("Oslo", "[1, 2]")
    assert read_call(TAGGED, text) == {"any": [1, 2]}
    assert read_call(TAGGED, text, Policy(untyped="text")) == {"any": "[1, 2]"}
    assert read_call(TAGGED, text.replace("any", "list"), Policy(untyped="text")) == {"list": [1, 2]}
    assert read_call(CALLED, "<|do|>look{any:true}<|done|>", Policy(untyped="text")) == {"any": "true"}


def test_a_value_may_be_cast_to_what_the_schema_accepts() -> None:
    text = "<|do|>look{place:12,list:<|*|>[1]<|*|>,count:3}<|done|>"
    assert read_call(CALLED, text) == {"place": 12, "list": "[1]", "count": 3}
    assert read_call(CALLED, text, Policy(typed="schema")) == {"place": "12", "list": [1], "count": 3}


def test_arguments_within_an_argument_may_be_opened() -> None:
    text = CALL.replace("place", "input").replace("Oslo", '{"place": "Oslo"}')
    assert read_call(TAGGED, text) == {"input": {"place": "Oslo"}}
    assert read_call(TAGGED, text, Policy(wrapped="open")) == {"place": "Oslo"}
    other = text.replace('"place"', '"elsewhere"')
    assert read_call(TAGGED, other, Policy(wrapped="open")) == {"input": {"elsewhere": "Oslo"}}


@pytest.mark.parametrize("behind", ["of course", ""])
def test_a_mark_may_end_reasoning_without_a_call(behind: str) -> None:
    text = f"<muse>I wonder.<act>{behind}"
    assert read(TAGGED, text)[:2] == (text.removeprefix("<muse>"), "")
    assert read(TAGGED, text, Policy(interrupts="mark"))[:2] == ("I wonder.", behind and f"<act>{behind}")
    splitter = analyze(TAGGED).reasoning_splitter(TOOLS, policy=Policy(interrupts="mark"))
    pieces = [*(splitter.feed(char) for char in text), splitter.finish()]
    assert tuple("".join(piece[at] for piece in pieces) for at in (0, 1)) == ("I wonder.", f"<act>{behind}")


def test_reasoning_without_an_answer_may_be_the_answer() -> None:
    content = Policy(unanswered="content")
    assert read(TAGGED, "<muse>I wonder.")[:2] == ("I wonder.", "")
    assert read(TAGGED, "<muse>I wonder.", content)[:2] == ("", "I wonder.")
    assert read(TAGGED, "<muse>I wonder.</muse>Yes.", content)[:2] == ("I wonder.", "Yes.")
    assert read(TAGGED, f"<muse>I wonder.</muse>{CALL}", content)[0] == "I wonder."
    for text, expected in (("<muse>I wonder.", ("", "I wonder.")), ("<muse>I wonder.</muse>Yes.", ("I wonder.", "Yes."))):
        splitter = analyze(TAGGED).reasoning_splitter(TOOLS, policy=content)
        pieces = [*(splitter.feed(char) for char in text), splitter.finish()]
        assert tuple("".join(piece[at] for piece in pieces) for at in (0, 1)) == expected


# Recoveries ------------------------------------------------------------------------------------------------------------------


def test_white_space_in_a_tag_may_be_missing() -> None:
    assert read_call(TAGGED, CALL.replace("<run name", "<runname").replace("<put key", "<putkey")) == {"place": "Oslo"}
    unknown = CALL.replace("<run name", "<runname").replace("look", "elsewhere")
    assert read(TAGGED, unknown) == ("", unknown, [])


def test_the_rest_of_what_ends_a_call_may_come_late() -> None:
    text = CALL.replace("</run>\n</act>", "</run> And so on. </act>")
    assert read(TAGGED, text)[1].strip() == "And so on."
    assert read(TAGGED, f"{text} The end is </act>.")[1].split() == ["And", "so", "on.", "The", "end", "is", "</act>."]


def test_null_of_json_is_a_text_where_the_format_has_another_word_for_null() -> None:
    source = TAGGED.replace("v | tojson", "v | string")
    text = CALL.replace("place", "note")
    for policy in ("strict", "lenient"):
        assert read_call(source, text.replace("Oslo", "null"), policy) == {"note": "null"}
        assert read_call(source, text.replace("Oslo", "None"), policy) == {"note": None}


def test_a_list_may_be_escaped_twice() -> None:
    text = CALL.replace("place", "list").replace("Oslo", r"[{\"a\": \"b\"}]")
    assert read_call(TAGGED, text) == {"list": [{"a": "b"}]}


def test_keys_may_stand_in_the_quotes_of_strings() -> None:
    assert read_call(CALLED, "<|do|>look{<|*|>place<|*|>:<|*|>Oslo<|*|>,<|*|>count<|*|>:3}<|done|>") == {
        "place": "Oslo",
        "count": 3,
    }


def test_numbers_may_begin_with_zero_and_sets_are_lists() -> None:
    assert read_call(CALLED, "<|do|>look{count:07,any:5}<|done|>") == {"count": 7, "any": 5}


def test_signs_between_calls_are_layout() -> None:
    call = "<|do|>look{count:1}<|done|>"
    for sign in (";", ", ", " ; "):
        _, content, calls = read(CALLED, call + sign + call)
        assert (content, len(calls)) == ("", 2)
    assert read(CALLED, f"{call}; that is all")[1].strip() == "; that is all"


@pytest.mark.parametrize("value", [{"a": {"b": 1}}, {"a": [1, {"b": 2}]}, {"a": {"b": {"c": [[3]]}}}])
def test_lists_and_objects_that_begin_alike_are_told_apart(value: Any) -> None:
    def write(value: Any) -> str:
        if isinstance(value, dict):
            return "".join(f"#<{key}>{write(one)}#</{key}>" for key, one in value.items())
        return "".join(f"#<item>{write(one)}#</item>" for one in value) if isinstance(value, list) else json.dumps(value)

    assert read_call(TREE, f'#<act name="look">#<free>{write(value)}#</free>#</act>') == {"free": value}


def test_reasoning_that_a_template_only_names() -> None:
    assert read(SPOKEN, "<thinking>I wonder.</thinking>\n\nYes.", tools=[])[:2] == ("I wonder.", "Yes.")
    assert read(SPOKEN, "Yes, <thinking> is a mark.", tools=[])[:2] == ("", "Yes, <thinking> is a mark.")
