"""Models that begin their turn again, repeat what the prompt has written, or write calls and values in ways beside the format's.

The templates are invented.
"""

from __future__ import annotations

from typing import Any

import pytest
from streams import Reading, analyze, get_calls, make_call, make_tool, read_all_ways, render_turn

from chat_autoparser.recover import Policy, PolicyName

FRAME = (
    "{%- for m in messages -%}{{ '<|who:' + m.role + '|>' }}{% if m.reasoning_content %}<|muse|>{{ m.reasoning_content }}<|mused|>"
    "{% endif %}{{ m.content or '' }}{% for c in m.tool_calls or [] %}CALL{% endfor %}<|over|>\n{% endfor -%}"
    "{%- if add_generation_prompt %}<|who:assistant|>{% endif -%}"
)
TAGGED = FRAME.replace(
    "CALL",
    "<|act|>{{ c.function.name }}\n{% for k, v in c.function.arguments.items() %}<{{ k }}>{{ v if v is string else v | tojson }}"
    "</{{ k }}>\n{% endfor %}<|/act|>",
)
SPELT = FRAME.replace(
    "CALL",
    '<|OX|act name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}<|OX|of name="{{ k }}">'
    "{{ v if v is string else v | tojson }}</|OX|of>{% endfor %}</|OX|act>",
)
QUOTED = FRAME.replace(
    "CALL",
    "<|act|>{{ c.function.name }}{{ '{' }}{% for k, v in c.function.arguments.items() %}{{ k }}:{{ '<|q|>' ~ v ~ '<|q|>' if v is string "
    "else v | tojson }}{{ ',' if not loop.last }}{% endfor %}{{ '}' }}<|/act|>",
)
ENVELOPE = FRAME.replace(
    "CALL", '<act>{"id": {{ c.id | tojson }}, "do": {{ c.function.name | tojson }}, "with": {{ c.function.arguments | tojson }}}</act>'
)
AMID = (
    "{%- for m in messages -%}{% if m.role == 'assistant' %}{% if m.reasoning_content %}⟪self.muse⟫{{ m.reasoning_content }}⟪end⟫\n{% endif %}"
    "{% if m.content %}⟪self.say⟫{{ m.content }}⟪end⟫\n{% endif %}⟪stop⟫\n{% else %}⟪{{ m.role }}⟫{{ m.content }}⟪end⟫\n{% endif %}"
    "{% endfor -%}{%- if add_generation_prompt %}⟪self.{% endif -%}"
)
"""The prompt ends amid a mark."""
OBJECT = (
    "{%- for m in messages -%}{{ '<' + m.role + '>' }}{% if m.role == 'assistant' %}{{ '{' }}"
    '{% if m.reasoning_content %}"muse": {{ m.reasoning_content | tojson }}, {% endif %}"say": {{ (m.content or "") | tojson }}}'
    "{% else %}{{ m.content }}{% endif %}\n{% endfor -%}{%- if add_generation_prompt %}<assistant>{{ '{' }}{% endif -%}"
)
"""The prompt writes the bracket that begins the turn."""
TOOLS = [make_tool("look_up", place="string", days="integer", open="boolean"), make_tool("now")]
NOW = '<|act|>now\n<|/act|>'
AGAIN = "<|over|>\n<|who:assistant|>"


def read(template: str, text: str, policy: Policy | PolicyName = "repair", prompt: str = "<|who:assistant|>") -> Reading:
    return read_all_ways(analyze(template), text, TOOLS, prompt, policy)


@pytest.mark.parametrize(
    ("text", "reasoning", "content", "calls"),
    [
        (f"Let me look.{AGAIN}{NOW}<|over|>", None, "Let me look.", [("now", {})]),
        (f"<|muse|>So.<|mused|>{AGAIN}{NOW}<|over|>", "So.", None, [("now", {})]),
        (f"<|muse|>So.<|mused|>{AGAIN}All is well.<|over|>", "So.", "All is well.", []),
        (f"<|muse|>So.{AGAIN}All is well.<|over|>", "So.", "All is well.", []),
        (f"<|muse|>{AGAIN}All is well.<|over|>", None, "All is well.", []),
        (f"{NOW}{AGAIN}{NOW}<|over|>\n", None, None, [("now", {}), ("now", {})]),
    ],
)
def test_a_call_or_a_first_answer_in_another_turn_of_the_model_is_its_own(
    text: str, reasoning: str | None, content: str | None, calls: list[Any]
) -> None:
    found = read(TAGGED, text)
    assert (found.reasoning, found.content, get_calls(found)) == (reasoning, content, calls)
    assert "another turn of the model" in found.recoveries


def test_another_answer_in_such_a_turn_goes_with_it_as_messages_of_others_do() -> None:
    text = f"All is well.{AGAIN}Is it?<|over|>\n"
    assert read(TAGGED, text).content == "All is well."
    assert read(TAGGED, text, Policy(overrun="text")).content == f"All is well.{AGAIN}Is it?"
    assert read(TAGGED, text, "strict").content == f"All is well.{AGAIN}Is it?"


def test_what_only_shows_a_turn_is_text() -> None:
    text = f"Turns look so:\n```\nHi{AGAIN}Hello\n```\nThat is all."
    assert read(TAGGED, text).content == text


@pytest.mark.parametrize(
    ("template", "prompt", "text", "reasoning", "content"),
    [
        (AMID, "⟪self.", "self.muse⟫So.⟪end⟫\n⟪self.say⟫Hello.⟪end⟫\n⟪stop⟫\n", "So.", "Hello."),
        (AMID, "⟪self.", "⟪self.say⟫Hello.⟪end⟫\n⟪stop⟫\n", None, "Hello."),
        (OBJECT, "<assistant>{", '{"say": "Hello."}\n', None, "Hello."),
        (OBJECT, "<assistant>{", '{"muse": "So.", "say": "Hello."}\n', "So.", "Hello."),
    ],
)
def test_what_the_prompt_has_written_last_may_be_repeated(
    template: str, prompt: str, text: str, reasoning: str | None, content: str
) -> None:
    found = read(template, text, prompt=prompt)
    assert (found.reasoning, found.content, found.recoveries) == (reasoning, content, ["header doubled"])


@pytest.mark.parametrize("written", ['<act><of name="x">1</of></act>', '<of name="x">1</of> and <of name="y">2</of>'])
def test_what_ends_a_value_in_another_spelling_is_its_own_if_that_holds_what_it_ends(written: str) -> None:
    prompt, text = render_turn(SPELT, {"tool_calls": [make_call("look_up", {"place": written, "days": 2})]}, TOOLS)
    assert get_calls(read(SPELT, text, prompt=prompt)) == [("look_up", {"place": written, "days": 2})]


def test_it_ends_another_value() -> None:
    text = '<|OX|act name="look_up"><|OX|of name="place">Ulm</of><|OX|of name="days">2</|OX|of></|OX|act><|over|>'
    assert get_calls(read(SPELT, text)) == [("look_up", {"place": "Ulm", "days": 2})]


@pytest.mark.parametrize("end", ["<|/act|><|over|>", "<|over|>"])
def test_a_value_of_another_type_may_stand_in_the_quotes_of_texts(end: str) -> None:
    text = "<|act|>look_up{place:<|q|>Ulm, or so<|q|>,open:<|q|>true<|q|>,days:<|q|>5<|q|>}" + end
    assert get_calls(read(QUOTED, text)) == [("look_up", {"place": "Ulm, or so", "open": True, "days": 5})]
    assert get_calls(read(QUOTED, text, "lenient")) == [("look_up", {"place": "Ulm, or so", "open": "true", "days": "5"})]


@pytest.mark.parametrize("beside", ['"id": "c7", ', '"type": "function", ', ""])
def test_arguments_may_stand_beside_the_name_and_an_id(beside: str) -> None:
    text = f'<act>{{{beside}"do": "look_up", "place": "Ulm", "days": 2}}</act><|over|>'
    assert get_calls(read(ENVELOPE, text)) == [("look_up", {"place": "Ulm", "days": 2})]


@pytest.mark.parametrize("key", ['<param name="{}">', '<parameter={}>'])
def test_parameters_behind_the_name_of_a_tool_are_those_of_its_call(key: str) -> None:
    close = f"</{key[1:].split()[0].split('=')[0]}>"
    text = f"<|act|>look_up\n{key.format('place')}Ulm{close}\n{key.format('days')}2{close}\n<|/act|><|over|>"
    assert get_calls(read(TAGGED, text)) == [("look_up", {"place": "Ulm", "days": 2})]


def test_of_a_stop_with_several_marks_the_first_may_stand_twice() -> None:
    template = (
        "{%- for m in messages -%}{% if m.role == 'user' %}<|ask|>{{ m.content }}{% elif m.role == 'tool' %}<|seen|><fact>{{ m.content }}"
        "</fact>{% else %}<|tell|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}<act>{{ c.function.name }} "
        "{{ c.function.arguments | tojson }}</act>{% endfor %}{% endif %}{% endfor -%}{%- if add_generation_prompt %}<|tell|>{% endif -%}"
    )
    found = read(template, '<act>look_up {"place": "Ulm"}</act><|seen|><|seen|>', prompt="<|tell|>")
    assert (found.content, get_calls(found)) == (None, [("look_up", {"place": "Ulm"})])


ALIKE = (
    "{%- macro put(v) -%}{% if v is string %}{{ v }}{% elif v is sequence %}{% for i in v %}%|<item>{{ put(i) }}%|</item>{% endfor %}"
    "{% else %}{{ v | tojson }}{% endif %}{%- endmacro -%}"
) + FRAME.replace(
    "CALL",
    '%|<do name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}%|<{{ k }}>{{ put(v) }}%|</{{ k }}>{% endfor %}'
    "%|</do>",
)
"""All marks begin alike, also those of items."""


@pytest.mark.parametrize("policy", ["strict", "lenient", "repair"])
@pytest.mark.parametrize("arguments", [{"place": ""}, {"place": "", "days": 2}, {"place": "x", "open": True}])
def test_a_text_of_nothing_is_no_list_whose_items_begin_as_its_end_does(policy: PolicyName, arguments: dict[str, Any]) -> None:
    prompt, text = render_turn(ALIKE, {"tool_calls": [make_call("look_up", arguments)]}, TOOLS)
    assert get_calls(read(ALIKE, text, policy, prompt)) == [("look_up", arguments)]
