"""What prompts add, what ends turns, and what switches make of both, derived from small templates."""

from __future__ import annotations

import pytest
from streams import read_all_ways

from chat_autoparser import analyze
from chat_autoparser.ask.renderer import load_renderer


def test_a_mark_that_ends_turns_begins_with_its_sign() -> None:
    """The sign that ends the mark before it is the first of the end of turn as well."""
    source = (
        "{%- for m in messages -%}@{{ m.role }}{ {%- if m.reasoning_content -%}@muse{{ '{' }}{{ m.reasoning_content }}}@esum{{ '\n' if m.content }}"
        "{%- endif -%}{%- if m.content -%}@say{{ '{' }}{{ m.content }}}@yas{%- endif -%}@over{{ '{\n' }}{%- endfor -%}{%- if add_generation_prompt -%}@assistant{ {%- endif -%}"
    )
    format = analyze(source)
    assert format.parse("@muse{Hm}@esum\n@say{Yes}@yas")["content"] == "Yes"


def test_a_prompt_with_more_before_it_is_no_state_of_its_own() -> None:
    """The template prints its instructions only where there are tools or an answer is to follow, so that some prompts are no
    continuation of what they are without that."""
    source = (
        "{%- if tools or add_generation_prompt %}<|from|>system<|says|>Be kind.<|done|>{% endif -%}"
        "{%- for m in messages -%}{%- if m.role == 'assistant' -%}"
        "{%- if m.reasoning_content %}<|from|>assistant to=self<|says|>{{ m.reasoning_content }}<|next|>{% endif -%}"
        "{%- for c in m.tool_calls or [] %}<|from|>assistant to={{ c.function.name }}<|says|>{{ c.function.arguments | tojson }}"
        "{{ '<|done|>' if loop.last else '<|next|>' }}{%- else %}<|from|>assistant to=user<|says|>{{ m.content }}<|done|>{% endfor -%}"
        "{%- else %}<|from|>{{ m.role }}<|says|>{{ m.content }}<|done|>{%- endif -%}{%- endfor -%}"
        "{%- if add_generation_prompt %}<|from|>assistant{% endif -%}"
    )
    format = analyze(source)
    assert format.verdict.proven
    prompt = "<|from|>system<|says|>Be kind.<|done|><|from|>user<|says|>Go.<|done|><|from|>assistant"
    found = read_all_ways(format, ' to=go<|says|>{"far": true}<|done|>', None, prompt)
    assert found.calls == [("go", '{"far": true}')]


def test_what_also_stands_before_further_fields_does_not_end_the_turn() -> None:
    """One closer for everything, then another end behind content than behind calls."""
    source = (
        "{%- for m in messages -%}◁{{ m.role }}▷{%- if m.content -%}◁say▷{{ m.content }}◁/x▷{%- endif -%}"
        "{%- for c in m.tool_calls or [] -%}◁do▷{{ c.function.name }}◁in▷{{ c.function.arguments | tojson }}◁/x▷◁/x▷{%- endfor -%}"
        "{{ '◁wait▷' if m.tool_calls else '◁done▷' }}{%- endfor -%}{%- if add_generation_prompt -%}◁assistant▷{%- endif -%}"
    )
    format = analyze(source)
    assert set(format.graph.stops) == {"◁done▷", "◁wait▷"}
    assert format.parse("◁say▷Ok◁/x▷")["content"] == "Ok"
    assert format.parse("◁do▷look◁in▷{}◁/x▷◁/x▷")["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}


def test_a_switch_is_known_by_what_is_made_of_it() -> None:
    """The template prints the switch, and compares what it has set to it."""
    source = (
        "{%- set effort = effort_level | default('some') -%}"
        "{%- for m in messages %}<|{{ m.role }}|>{%- if m.role == 'assistant' %}<|effort {{ effort }}|>{% endif -%}"
        "{%- if m.reasoning_content %}<|muse|>{{ m.reasoning_content }}{% endif -%}"
        "{%- if m.content %}<|say|>{{ m.content }}{% endif %}<|over|>{% endfor -%}"
        "{%- if add_generation_prompt %}<|assistant|><|effort {{ effort }}|>{{ '<|muse|>' if effort == 'most' }}{{ '' if effort == '' }}{% endif -%}"
    )
    format = analyze(source)
    read = format.parse("It is far.<|say|>Three days.<|over|>", prompt="<|user|>Go.<|over|><|assistant|><|effort most|><|muse|>")
    assert (read["reasoning_content"], read["content"]) == ("It is far.", "Three days.")
    assert {start.switches for start in format.graph.starts} >= {(), (("effort_level", "'most'"),)}


ECHOED = (
    "{%- set level = level if level is defined else 'medium' -%}{%- for m in messages -%}[{{ m.role }}]"
    "{%- if m.role == 'assistant' and level != 'off' -%}<muse depth=\"{{ level }}\">{{ m.reasoning_content or '' }}</muse>{%- endif -%}"
    "{{ m.content or '' }}[/]{%- endfor -%}"
    "{%- if add_generation_prompt -%}[assistant]{% if level != 'off' %}<muse depth=\"{{ level }}\">{% endif %}{%- endif -%}"
)


@pytest.mark.parametrize("level", ["medium", "low", "extra-high", "12"])
def test_a_value_that_a_switch_prints_into_the_prompt_may_be_another_one(level: str) -> None:
    """Also one that the template does not compare with anything."""
    format, render = analyze(ECHOED), load_renderer(ECHOED)
    prompt = render([{"role": "user", "content": "Hi"}], None, True, level=level)
    read = format.parse("Hm.</muse>Yes.[/]", prompt=prompt)
    assert (read["reasoning_content"], read["content"]) == ("Hm.", "Yes.")
    assert format.parse("Yes.[/]", prompt=render([{"role": "user", "content": "Hi"}], None, True, level="off"))["content"] == "Yes."


def test_what_ends_all_messages_is_no_header_though_a_prompt_without_one_ends_with_it() -> None:
    source = (
        "{%- for m in messages -%}{{ {'user': 'Q: ', 'assistant': 'A: '}.get(m.role, 'R: ') ~ m.content ~ '\\n<|done|>\\n' }}{%- endfor -%}"
    )
    found = analyze(source)
    assert found.graph.stops == ("<|done|>",)
    assert found.parse("A: Fine.\n<|done|>\n")["content"] == "Fine."
    assert {role.name: (role.start, role.end) for role in found.conversation.roles if role.name in ("user", "assistant")} == {
        "user": ("Q: ", "\n<|done|>\n"),
        "assistant": ("A: ", "\n<|done|>\n"),
    }


def test_a_block_that_a_prompt_leaves_empty_shows_all_that_opens_a_thought() -> None:
    source = (
        "{%- macro cut(text) -%}{% for part in text.split('<why|>') %}{{ part.split('<|why>')[0] }}{% endfor %}{%- endmacro -%}"
        "{%- for m in messages -%}<|{{ m.role }}|>{{ cut(m.content) }}<|end|>{%- endfor -%}"
        "{%- if add_generation_prompt -%}<|assistant|>{% if not enable_thinking %}<|why>inner\n<why|>{% endif %}{%- endif -%}"
    )
    found = analyze(source)
    for text in ("<|why>inner\nThey greet.<why|>Hello!<|end|>", "<|why>They greet.<why|>Hello!<|end|>"):
        read = found.parse(text, prompt="<|assistant|>")
        assert (read["reasoning_content"], read["content"]) == ("They greet.", "Hello!")


ALWAYS = (
    "{%- for m in messages -%}<{{ m.role }}>{{ '[muse]' if m.role == 'assistant' }}{{ m.reasoning_content or '' }}"
    "{{ '[/muse]' if m.role == 'assistant' }}{{ m.content or '' }}</{{ m.role }}>"
    "{%- if loop.first -%}{% for t in tools or [] %}<tool>{{ t | tojson }}</tool>{% endfor %}{%- endif -%}{%- endfor -%}"
    "<assistant>[muse]{{ '[/muse]' if enable_thinking is defined and not enable_thinking }}"
)
"""The prompt is printed whether it is asked for or not, and tools stand right before it."""


def test_a_prompt_that_is_always_printed_is_what_answered_conversations_end_with() -> None:
    found = analyze(ALWAYS)
    assert dict(found.verdict.parts) == {"reasoning": "proven", "content": "proven", "tools": "not established"}
    assert {start.prompt for start in found.graph.starts} == {"<assistant>[muse]", "<assistant>[muse][/muse]"}
    render = load_renderer(ALWAYS)
    for switches, answer in (({}, "Hm.[/muse]Hello!</assistant>"), ({"enable_thinking": False}, "Hello!</assistant>")):
        prompt = render([{"role": "user", "content": "Hi"}], [{"name": "now", "description": "Now."}], True, **switches)
        assert found.parse(answer, prompt=prompt)["content"] == "Hello!"


@pytest.mark.parametrize("first", ["", "<|open|>system\nBe kind.<|close|>\n"])
def test_what_ends_messages_is_no_part_of_a_prompt_that_is_always_printed(first: str) -> None:
    source = first + "{% for m in messages %}{{ '<|open|>' ~ m.role ~ '\n' ~ m.content ~ '<|close|>\n' }}{% endfor %}{{ '<|open|>assistant\n' }}"
    found = analyze(source)
    assert (found.graph.stops, [start.prompt for start in found.graph.starts]) == (("<|close|>",), ["<|open|>assistant\n"])
    assert found.parse("Fine.<|close|>\n", prompt="<|open|>user\nHi<|close|>\n<|open|>assistant\n")["content"] == "Fine."


def test_what_a_switch_alone_prints_behind_conversations_is_added_to_the_usual_prompt() -> None:
    source = (
        "{%- for m in messages -%}{%- if m.role == 'assistant' -%}"
        "{{ m.content.split('<answer>')[-1].strip('</answer>') if not loop.last else m.content }}<|end|>"
        "{%- else -%}{{ m.content }}<|asked|>{%- endif -%}{%- endfor -%}"
        "{{ '<think>\n\n</think>\n' if enable_thinking is defined and not enable_thinking }}"
    )
    found = analyze(source)
    read = found.parse("<think>\nHm.\n</think>\nHello!<|end|>", prompt="Hi<|asked|>")
    assert (read["reasoning_content"].strip(), read["content"].strip()) == ("Hm.", "Hello!")
    assert found.parse("Hello!<|end|>", prompt="Hi<|asked|><think>\n\n</think>\n")["content"] == "Hello!"
    assert found.graph.stops == ("<|end|>",)
