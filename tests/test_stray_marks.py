"""Marks where nothing ends or begins, halves of marks, and what stands beside calls in an envelope. The templates are invented."""

from __future__ import annotations

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

TAGS = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{% if m.reasoning_content %}<muse>\n{{ m.reasoning_content }}\n</muse>\n{% endif %}"
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n<errand>\n<do={{ c.function.name }}>\n"
    "{{ c.function.arguments | tojson }}\n</do>\n</errand>{% endfor %}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)

TYPED = (
    "{%- macro put(k, v) -%}<p n=\"{{ k }}\"{% if v is string %} t=\"s\">{{ v }}{% elif v is mapping %} t=\"m\">{% for a, b in v.items() %}"
    "{{ put(a, b) }}{% endfor %}{% elif v is number and v is not boolean %} t=\"n\">{{ v }}{% elif v is none %} t=\"z\">{% else %} "
    "t=\"j\">{{ v | tojson }}{% endif %}"
    "</p>{%- endmacro -%}{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n"
    "<use fn=\"{{ c.function.name }}\">{% for k, v in c.function.arguments.items() %}{{ put(k, v) }}{% endfor %}</use>{% endfor %}"
    "<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""A letter tells of what type a value is."""

BLOCKS = (
    "{%- for m in messages -%}%%{{ m.role }}\n{% if m.reasoning_content %}%%muse\n{{ m.reasoning_content }}\n%%end\n{% endif %}"
    "{% if m.content %}%%text\n{{ m.content }}\n%%end\n{% endif %}{% for c in m.tool_calls or [] %}%%do {{ c.function.name }}\n"
    "{{ c.function.arguments | tojson }}\n%%end\n{% endfor %}%%over\n{% endfor -%}"
    "{%- if add_generation_prompt %}%%assistant\n{% endif -%}"
)
"""All marks begin with the same signs, and one ends all blocks."""

WRAPPED = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{% if m.reasoning_content %}<muse>\n{{ m.reasoning_content }}\n</muse>\n{% endif %}"
    "{% if m.content %}<tell>\n{{ m.content }}\n</tell>\n{% endif %}{% for c in m.tool_calls or [] %}<do={{ c.function.name }}>"
    "{{ c.function.arguments | tojson }}</do>\n{% endfor %}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)

TOOLS = [make_tool("find_route", start="string", legs="integer", via="object"), make_tool("list_trips")]
CALL = '\n<errand>\n<do=find_route>\n{"start": "Oslo"}\n</do>\n</errand>'
ROUTE = [("find_route", {"start": "Oslo"})]


def read(template: str, text: str, prompt: str = "<<assistant>>\n") -> Reading:
    return read_all_ways(analyze(template), text, TOOLS, prompt)


@pytest.mark.parametrize("marks", ["</errand>\n", "</do>\n</errand>\n", "\n</do>\n</errand>\n\n"])
def test_what_ends_calls_is_no_beginning_of_an_answer(marks: str) -> None:
    found = read(TAGS, f"{marks}All is well.<<over>>\n")
    assert ((found.content or "").strip(), found.recoveries) == ("All is well.", ["stray end of a call"])


@pytest.mark.parametrize("text", ["</errand> ends a call.", "So:\n</errand>\nThat ends it."])
def test_what_ends_calls_may_be_spoken_of(text: str) -> None:
    assert read(TAGS, f"{text}<<over>>\n").content == text


@pytest.mark.parametrize("end", ["<<over>>\n", " ", ""])
def test_what_begins_a_thought_behind_a_call_at_the_end_is_dropped(end: str) -> None:
    found = read(TAGS, f"{CALL}\n<muse>{end}")
    assert (found.reasoning, (found.content or "").strip(), get_calls(found)) == (None, "", ROUTE)


def test_a_key_is_no_shorter_where_its_type_is_missing() -> None:
    """The ``s`` of the key is none of what tells the type."""
    call = '\n<use fn="find_route"><p n="start">Oslo</p><p n="legs">3</p></use>'
    assert get_calls(read(TYPED, f"{call}<<over>>\n")) == [("find_route", {"start": "Oslo", "legs": 3})]


def test_an_object_may_be_json_behind_its_own_type() -> None:
    call = '\n<use fn="find_route"><p n="start" t="s">Oslo</p><p n="via" t="m">{"town": "Voss", "days": [1, 2]}</p></use>'
    via = {"town": "Voss", "days": [1, 2]}
    assert get_calls(read(TYPED, f"{call}<<over>>\n")) == [("find_route", {"start": "Oslo", "via": via})]


def test_signs_that_all_marks_begin_with_are_no_end_of_a_thought() -> None:
    """What follows the thought is no call that can be read: it arrives whole."""
    found = read(BLOCKS, "%%muse\nSo.\n%%end\n%%do something\nelse: 5\n%%end\n%%over\n", "%%assistant\n")
    assert ((found.reasoning or "").strip(), get_calls(found)) == ("So.", [])
    assert "%%do something" in (found.content or "")


def test_an_answer_has_its_mark_behind_a_thought_in_other_marks() -> None:
    found = read(WRAPPED, '<think>\nSo.\n</think>\n<tell>\nHere.\n</tell>\n<do=find_route>{"start": "Oslo"}</do>\n<<over>>\n')
    assert (found.reasoning, found.content, get_calls(found)) == ("So.", "Here.", ROUTE)


@pytest.mark.parametrize(
    "text",
    [
        '{"plan": "Look it up.", "calls": [{"tool": "find_route", "input": {"start": "Oslo"}}]}',
        '{"plan": "Look it up.", "name": "find_route", "arguments": {"start": "Oslo"}}',
    ],
)
def test_what_is_said_beside_a_call_in_its_envelope_is_an_answer(text: str) -> None:
    found = read(TAGS, f"{text}<<over>>\n")
    assert (found.content, get_calls(found)) == ("Look it up.", ROUTE)


def test_arguments_in_an_envelope_are_no_answer() -> None:
    text = '{"type": "function", "name": "find_route", "input": "{\\"start\\": \\"Oslo\\"}", "id": "call 1"}'
    found = read(TAGS, f"{text}<<over>>\n")
    assert (found.content, get_calls(found)) == (None, ROUTE)


CLOSED = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n<act={{ c.function.name }}>\n"
    "{% for k, v in c.function.arguments.items() %}<part={{ k }}>\n{{ v if v is string else v | tojson }}\n</part>\n{% endfor %}</act>"
    "{% endfor %}<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)

NAMED = (
    "{%- for m in messages -%}<|from|>{{ m.role }}{% if m.reasoning_content %}<|to|>self<|says|>{{ m.reasoning_content }}<|stop|>"
    "<|from|>{{ m.role }}{% endif %}{% if m.content or not m.tool_calls %}<|to|>all<|says|>{{ m.content or '' }}<|stop|>{% endif %}"
    "{% for c in m.tool_calls or [] %}{% if m.content or not loop.first %}<|from|>{{ m.role }}{% endif %}<|to|>tool.{{ c.function.name }}"
    "<|says|>{{ c.function.arguments | tojson }}<|stop|>{% endfor %}{% endfor -%}{%- if add_generation_prompt %}<|from|>assistant{% endif -%}"
)


def test_the_slash_of_what_ends_a_text_may_be_forgotten() -> None:
    call = "\n<act=find_route>\n<part=start>\nOslo\n<part>\n<part=goal>\nVoss, Hamar\n<part>\n</act>"
    tools = [make_tool("find_route", start="string", goal="string")]
    found = read_all_ways(analyze(CLOSED), f"{call}<<over>>\n", tools, "<<assistant>>\n")
    assert get_calls(found) == [("find_route", {"start": "Oslo", "goal": "Voss, Hamar"})]


def test_the_tool_of_a_request_in_a_header_is_the_one_that_is_called() -> None:
    found = read(NAMED, '<|to|>tool of all=find_route<|says|>{"start": "Oslo"}<|stop|>', "<|from|>assistant")
    assert get_calls(found) == ROUTE


@pytest.mark.parametrize("token", ["<|return|>", "<｜end▁of▁turn｜>", "<|endoftext|>\n"])
def test_a_special_token_with_which_an_output_ends_is_no_text(token: str) -> None:
    """Also one that the template does not have: a server that knows it leaves it out."""
    for template in (TAGS, BLOCKS):
        found = read_all_ways(analyze(template), f"It is so.{token}", None, None)
        assert (found.content or "").strip() == "It is so."
        assert found.recoveries[-1:] == ["mark of another format"]


@pytest.mark.parametrize(
    "text", ["It ends with `<|return|>`", "```\n<|return|>", "It ends with <|return|> there.", "<|return|>.", "a <|b", "<|/return|>"]
)
def test_a_special_token_that_is_spoken_of_is_text(text: str) -> None:
    assert read_all_ways(analyze(TAGS), text, None, None).content == text
