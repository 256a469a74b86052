"""Marks of a format in part: without the word of their family where they close, with other brackets, with blanks; and messages and
thoughts that begin once more. The templates are invented."""

from __future__ import annotations

import pytest
from streams import Reading, analyze, get_calls, make_tool, read_all_ways

FAMILY = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% if m.tool_calls %}\n<:ox:calls>{% for c in m.tool_calls %}"
    "{{ '\\n' }}<:ox:use name=\"{{ c.function.name }}\">{% for k, v in c.function.arguments.items() %}{{ '\\n' }}"
    "<:ox:give key=\"{{ k }}\">{{ v if v is string else v | tojson }}</:ox:give>{% endfor %}{{ '\\n' }}</:ox:use>{% endfor %}"
    "{{ '\\n' }}</:ox:calls>{% endif %}<<over>>\n{% endfor -%}{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""All marks have a word of their family."""

BEFORE = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% if m.tool_calls %}]<]ox[>[<calls>{% for c in m.tool_calls %}{{ '\n' }}]<]ox[>[<use "
    "name=\"{{ c.function.name }}\">{% for k, v in c.function.arguments.items() %}]<]ox[>[<{{ k }}>{{ v if v is string else v | tojson }}"
    "]<]ox[>[</{{ k }}>{% endfor %}]<]ox[>[</use>{% endfor %}{{ '\n' }}]<]ox[>[</calls>{% endif %}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)
"""A mark stands before all others."""

QUOTED = (
    "{%- for m in messages -%}⟨{{ m.role }}⟩\n{% if m.role == 'assistant' and loop.last %}{{ '⟨muse⟩\\n' }}"
    "{{ m.reasoning_content or '' }}{{ '\\n⟨/muse⟩\\n' }}{% endif %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\\n' }}"
    "⟨use {{ c.function.name }}⟩{ {%- for k, v in c.function.arguments.items() %}{{ k }}: {% if v is string %}«{{ v }}»{% else %}"
    "{{ v | tojson }}{% endif %}{% if not loop.last %}, {% endif %}{% endfor -%} }⟨/use⟩{% endfor %}⟨over⟩\n{% endfor -%}"
    "{%- if add_generation_prompt %}⟨assistant⟩\n⟨muse⟩\n{% endif -%}"
)
"""Brackets and quotes that ASCII does not have; the prompt opens the thought."""

JOINED = (
    "{%- for m in messages -%}<｜{{ m.role }}｜>{{ m.content or '' }}{% if m.tool_calls %}<｜all▁calls▁begin｜>{% for c in m.tool_calls %}"
    "<｜call▁begin｜>job<｜call▁of｜>{{ c.function.name }}{{ '\n' }}{{ c.function.arguments | tojson }}{{ '\n' }}<｜call▁end｜>{% endfor %}<｜all▁calls▁end｜>"
    "{% endif %}<｜over｜>{% endfor -%}{%- if add_generation_prompt %}<｜assistant｜>{% endif -%}"
)
"""A sign joins the words of a mark."""

PARTED = (
    "{%- for m in messages -%}{% if m.reasoning_content %}<|begin|>{{ m.role }}<|muse|>{{ m.reasoning_content }}<|end|>{% endif %}"
    "{% if m.tool_calls %}<|begin|>{{ m.role }}<|calls|>{% for c in m.tool_calls %}<|call|>{{ c.function.name }}<|with|>"
    "{{ c.function.arguments | tojson }}<|done|>{% endfor %}<|go|>{% else %}<|begin|>{{ m.role }}<|text|>{{ m.content }}<|end|>"
    "{% endif %}{% endfor -%}{%- if add_generation_prompt %}<|begin|>assistant{% endif -%}"
)
"""Each part of a turn is a message of its own; an answer does not stand beside calls."""

ADDRESSED = (
    "{%- for m in messages -%}{% if m.role == 'assistant' %}{% if m.reasoning_content %}=> self\n{{ m.reasoning_content }}\n{% endif %}"
    "{% if m.content %}=> user\n{{ m.content }}\n{% endif %}{% for c in m.tool_calls or [] %}=> {{ c.function.name }}\n"
    "{{ c.function.arguments | tojson }}\n{% endfor %}<|over|>\n{% else %}<|{{ m.role }}|>\n{{ m.content }}\n{% endif %}{% endfor -%}"
    "{%- if add_generation_prompt %}=> {% endif -%}"
)
"""Parts of a turn are addressed; the prompt has written the sign before the first address."""

ENVELOPE = (
    "{%- for m in messages -%}<|{{ m.role }}|>{% if m.role == 'tool' %}{{ m.content | tojson }}{% elif m.tool_calls %}"
    '{% for c in m.tool_calls %}{"name": {{ c.function.name | tojson }}, "with": {{ c.function.arguments | tojson }}}{% endfor %}'
    "{% else %}{{ m.content }}{% endif %}<|over|>{% endfor -%}{%- if add_generation_prompt %}<|assistant|>{% endif -%}"
)
"""What a tool returns is a string of JSON."""

DOUBLE = (
    "{%- for m in messages -%}<<{{ m.role }}>>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}[[use {{ c.function.name }}]]"
    "{{ c.function.arguments | tojson }}[[/use]]{% endfor %}<<over>>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<<assistant>>\n{% endif -%}"
)

TOOLS = [make_tool("find_route", start="string", legs="integer"), make_tool("list_trips")]
ROUTE = ("find_route", {"start": "Oslo", "legs": 2})
PROMPT = "<<assistant>>\n"


def read(template: str, text: str, prompt: str = PROMPT) -> Reading:
    return read_all_ways(analyze(template), text, TOOLS, prompt)


def test_what_closes_may_lack_the_word_of_a_family() -> None:
    text = '\n<:ox:calls>\n<:ox:use name="find_route">\n<:ox:give key="start">Oslo</give>\n<:ox:give key="legs">2</give>\n</use>\n</calls>'
    found = read(FAMILY, f"So.{text[1:]}<<over>>\n")
    assert (found.content, get_calls(found)) == ("So.", [ROUTE])


def test_what_closes_may_lack_the_mark_before_all_others() -> None:
    text = ']<]ox[>[<calls>\n]<]ox[>[<use name="find_route">]<]ox[>[<start>Oslo</start>]<]ox[>[<legs>2</legs></use>\n</calls>'
    found = read(BEFORE, f"So.{text}<<over>>\n")
    assert (found.content, get_calls(found)) == ("So.", [ROUTE])


def test_quotes_stay_where_brackets_are_those_of_ascii() -> None:
    found = read(QUOTED, "So.\n⟨/muse⟩\n<use find_route>{legs: 2, start: «Oslo»}</use>⟨over⟩", "⟨assistant⟩\n⟨muse⟩\n")
    assert (found.reasoning, (found.content or "").strip(), get_calls(found)) == ("So.", "", [("find_route", {"legs": 2, "start": "Oslo"})])


def test_blanks_part_the_words_of_a_mark() -> None:
    text = '<｜all calls begin｜><｜call begin｜>job<｜call of｜>find_route\n{"start": "Oslo", "legs": 2}\n<｜call end｜><｜all calls end｜><｜over｜>'
    found = read(JOINED, text, "<｜assistant｜>")
    assert ((found.content or ""), get_calls(found)) == ("", [ROUTE])


def test_a_second_thought_stands_amid_an_answer() -> None:
    text = "First.\n⟨/muse⟩\nThat is so.\n⟨muse⟩\nIs it?\n⟨/muse⟩\nIt is.⟨over⟩"
    found = read(QUOTED, text, "⟨assistant⟩\n⟨muse⟩\n")
    assert (found.reasoning, found.content) == ("First.\n\nIs it?", "That is so.\nIt is.")


@pytest.mark.parametrize("said", ["It begins with ⟨muse⟩ as a rule.", "So:\n```\n⟨muse⟩\nIs it?\n```\nis a thought."])
def test_what_begins_thoughts_may_be_spoken_of(said: str) -> None:
    found = read(QUOTED, f"First.\n⟨/muse⟩\n{said}⟨over⟩", "⟨assistant⟩\n⟨muse⟩\n")
    assert (found.reasoning, found.content) == ("First.", said)


def test_an_answer_is_a_message_before_that_of_calls() -> None:
    text = '<|muse|>So.<|end|><|begin|>assistant<|text|>I look.<|end|><|begin|>assistant<|calls|><|call|>find_route<|with|>{"start": "Oslo", '
    found = read(PARTED, f'{text}"legs": 2}}<|done|><|go|>', "<|begin|>assistant")
    assert (found.reasoning, found.content, get_calls(found)) == ("So.", "I look.", [ROUTE])


def test_the_sign_that_the_prompt_has_written_comes_again() -> None:
    found = read(ADDRESSED, '=> self\nSo.\n=> find_route\n{"start": "Oslo", "legs": 2}\n<|over|>\n', "=> ")
    assert ((found.reasoning or "").strip(), found.content, get_calls(found)) == ("So.", None, [ROUTE])


@pytest.mark.parametrize("before", ["", "I look.\n\n"])
def test_what_a_tool_would_return_is_no_part_of_a_turn(before: str) -> None:
    """Its message begins with the quote of a string."""
    text = '{"name": "find_route", "with": {"start": "Oslo", "legs": 2}}<|over|><|tool|>{"ways": 3}<|over|>'
    found = read(ENVELOPE, before + text, "<|assistant|>")
    assert ((found.content or "").strip(), get_calls(found)) == (before.strip(), [ROUTE])


def test_a_bracket_too_many_stands_before_a_mark_that_begins_with_one() -> None:
    found = read(DOUBLE, '[[use find_route]]{"start": "Oslo", "legs": 2}}[[/use]]<<over>>\n')
    assert ((found.content or "").strip(), get_calls(found)) == ("", [ROUTE])
