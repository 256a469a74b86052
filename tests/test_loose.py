"""Freedoms that models take with the text around fields: headers, numbers, layout, notation. The templates are invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}}}
    for name in ("look", "send_card", "look up")
]

MESSAGES = """\
{%- for m in messages -%}
{%- if m.role != 'assistant' -%}<|begin|>{{ m.role }}<|text|>{{ m.content }}<|stop|>
{%- else -%}
{%- if m.reasoning_content -%}<|begin|>me<|lane|>plan<|text|>{{ m.reasoning_content }}<|stop|>{%- endif -%}
{%- for c in m.tool_calls or [] -%}
<|begin|>me at=tools.{{ c.function.name }}<|lane|>act json<|text|>{{ c.function.arguments | tojson }}<|go|>
{%- endfor -%}
{%- if m.content -%}<|begin|>me<|lane|>say<|text|>{{ m.content }}<|done|>{%- endif -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|begin|>me{%- endif -%}
"""

COUNTED = """\
{%- for m in messages -%}
<{{ m.role }}>{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
[[act {"call_id": "{{ loop.index0 }}", "fn": "{{ c.function.name }}", "in": {{ c.function.arguments | tojson }}}]]
{%- endfor -%}
</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""

PYTHON = """\
{%- for m in messages -%}
<{{ m.role }}>{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
<do {{ c.function.name }}>{% for k, v in c.function.arguments | items %}<in {{ k }}>{{ v }}</in>{% endfor %}</do>
{%- endfor -%}
</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""

TYPED = """\
{%- for m in messages -%}
<{{ m.role }}>{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
<do {{ c.function.name }}>{% for k, v in c.function.arguments | items %}@{{ k }}LEFT{{ v if v is string else v | tojson }}RIGHT{% endfor %}</do>
{%- endfor -%}
</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""

THINKING = """\
{%- for m in messages -%}
<{{ m.role }}>
{%- if m.role == 'assistant' and m.reasoning_content and not quiet %}<muse>{{ m.reasoning_content }}</muse>{% endif -%}
{{ m.content }}</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt %}<assistant>{{ '<muse></muse>' if quiet else '' }}{% endif -%}
"""

RUNS = """\
{%- for m in messages -%}
<{{ m.role }}>{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
{{ '\\n@@' }}{{ c.function.name }}{% for k, v in c.function.arguments | items %} {{ k }}=~~~{{ v }}~~~{% endfor %}
{%- endfor -%}
</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
"""


def read(source: str, text: str, prompt: str | None = None) -> list[Any]:
    """Return reasoning, content and calls."""
    reading = read_all_ways(analyze(source), text, TOOLS, prompt)
    calls = get_calls(reading)
    return [reading.reasoning or "", reading.content or "", calls]


@pytest.mark.parametrize(
    "header",
    [
        " at=tools.look<|lane|>act json<|text|>",
        " at=tools.look<|lane|>plan<|text|>",
        "<|lane|>act at=tools.look<|text|>",
        "<|lane|>plan at=look <|kind|>json<|text|>",
        " at=tools.look<|lane|>act <|kind|>json<|text|>",
    ],
)
def test_parts_of_a_header_stand_in_any_order(header: str) -> None:
    assert read(MESSAGES, header + '{"a": 1}<|go|>') == ["", "", [("look", {"a": 1})]]
    behind = "<|lane|>plan<|text|>Well {}<|stop|><|begin|>me" + header + '{"a": 1}'
    assert read(MESSAGES, behind) == ["Well {}", "", [("look", {"a": 1})]]


def test_what_begins_a_further_message_may_be_left_out() -> None:
    """What ends the one before it tells where it begins."""
    thought, call = "<|lane|>plan<|text|>Well.<|stop|>", '{"a": 1}<|go|>'
    assert read(MESSAGES, thought + "<|lane|>act at=tools.look<|text|>" + call) == ["Well.", "", [("look", {"a": 1})]]
    assert read(MESSAGES, thought + "<|lane|>say<|text|>Yes.<|done|>") == ["Well.", "Yes.", []]
    assert read(MESSAGES, thought + "<|begin|>me at= tools.look<|lane|>act json<|text|>" + call) == ["Well.", "", [("look", {"a": 1})]]


def test_the_end_of_another_message_may_stand_behind_a_call() -> None:
    call = ' at=tools.look<|lane|>act json<|text|>{"a": 1}'
    for behind in ("<|go|>", "<|stop|>", "}<|go|>"):
        assert read(MESSAGES, call + behind) == ["", "", [("look", {"a": 1})]]


@pytest.mark.parametrize("name", ["look.x", "look:1", "look-all", "look_upon"])
def test_a_tool_in_a_header_is_not_one_whose_name_it_begins_with(name: str) -> None:
    header = f" at=tools.{name} <|kind|>json<|lane|>act<|text|>"
    assert read(MESSAGES, header + '{"a": 1}<|go|>') == ["", "", [(name, {"a": 1})]]


def test_a_tool_in_a_header_may_have_a_name_of_two_words() -> None:
    assert read(MESSAGES, ' at=tools.look up <|kind|>json<|lane|>act<|text|>{"a": 1}<|go|>') == ["", "", [("look up", {"a": 1})]]


@pytest.mark.parametrize("end", ["<|stop|>", "<|stop|><|begin|>me", "<|done|>"])
def test_what_ends_a_message_is_no_text_where_no_other_follows(end: str) -> None:
    assert read(MESSAGES, f"<|lane|>say<|text|>Hi.{end}") == ["", "Hi.", []]
    assert read(MESSAGES, "<|lane|>say<|text|>Hi.<|stop|> There.") == ["", "Hi.<|stop|> There.", []]


@pytest.mark.parametrize(
    "header", ["<|lane|>say <|kind|>text<|text|>", "<|lane|>plan at=me<|lane|>say<|text|>", "<|lane|>odd<|text|>"]
)
def test_the_last_word_of_a_header_tells_what_follows(header: str) -> None:
    assert read(MESSAGES, header + "Hi.<|done|>") == ["", "Hi.", []]
    assert read(MESSAGES, header.replace("say", "plan").replace("odd", "plan") + "Hm.") == ["Hm.", "", []]


def test_what_looks_like_a_header_and_has_no_end_is_text() -> None:
    text = "<|lane|>" + "say " * 100
    assert read(MESSAGES, text)[1].strip() == text.strip()


def test_numbers_that_stand_as_ids_are_ids() -> None:
    text = '[[act {"call_id": "0", "fn": "look", "in": {}}]][[act {"call_id": "1", "fn": "look", "in": {}}]]'
    message = analyze(COUNTED).parse(text, tools=TOOLS)
    assert [call["id"] for call in message["tool_calls"]] == ["0", "1"]


@pytest.mark.parametrize("value", ['[{"k": "v \'1\'", "on": true}, null]', "[{'k': \"v '1'\", 'on': True}, None]"])
def test_values_are_read_as_json_where_the_template_writes_another_notation(value: str) -> None:
    text = f"<do look><in a>{value}</in><in b>7</in></do>"
    wanted = {"a": [{"k": "v '1'", "on": True}, None], "b": 7}
    assert read(PYTHON, text) == ["", "", [("look", wanted)]]


def test_what_was_held_of_a_value_is_handed_on_where_the_output_is_cut() -> None:
    parser = analyze(PYTHON).parser(tools=TOOLS)
    deltas = [*parser.feed('<do look><in a>[{"k": "v", "on": tr'), *parser.finish()]
    assert "".join(d.text for d in deltas if d.kind == "tool_call") == '{"a": [{"k": "v", "on": tr'
    assert parser.incomplete_calls


def test_a_header_that_is_written_again_is_no_text() -> None:
    assert read(THINKING, "<assistant><muse>Hm.</muse>Hi.") == ["Hm.", "Hi.", []]
    assert read(THINKING, "<assistant>Hi.") == ["", "Hi.", []]


def test_a_prompt_that_closes_reasoning_leaves_content() -> None:
    prompt = "<user>Hi</user><assistant><muse></muse>"
    assert read(THINKING, "Hi.", prompt=prompt) == ["", "Hi.", []]


def test_white_space_at_the_end_of_a_prompt_is_not_written_by_the_model() -> None:
    assert read(THINKING, "there.", prompt="<user>Hi</user><assistant>Hello ") == ["", "there.", []]


def test_marks_of_reasoning_behind_an_answer_are_no_text() -> None:
    for stray in ("</muse>", "<muse></muse>", "<muse>\n</muse></muse>"):
        assert read(THINKING, "<muse>Hm.</muse>Hi." + stray) == ["Hm.", "Hi.", []]
    assert read(THINKING, "A </muse> is a mark.") == ["", "A </muse> is a mark.", []]


@pytest.mark.parametrize("value", ["~", "a ~b~", "~~ and ~~", "plain"])
def test_a_text_may_end_with_the_sign_of_which_its_end_is_a_run(value: str) -> None:
    text = f"\n@@look a=~~~{value}~~~ b=~~~x~~~\n@@look b=~~~{value}~~~"
    assert read(RUNS, text) == ["", "", [("look", {"a": value, "b": "x"}), ("look", {"b": value})]]


def test_a_number_with_an_exponent_may_come_in_pieces() -> None:
    text = "[1, -2.5, 1e-07, 2.5E+3]"
    assert read(PYTHON, f"<do look><in a>{text}</in></do>") == ["", "", [("look", {"a": json.loads(text)})]]
    assert read(COUNTED, f'[[act {{"call_id": "0", "fn": "look", "in": {{"a": {text}}}}}]]')[2] == [("look", {"a": json.loads(text)})]


@pytest.mark.parametrize(
    ("left", "bare", "right"), [(":{}|", "|", "||"), (' as="{}">', '">', "</in>"), ("/{}=", "=", ";;\n")], ids=["word", "attribute", "path"]
)
def test_the_schema_tells_the_type_that_a_model_does_not(left: str, bare: str, right: str) -> None:
    """Each key may miss the word for its type; the value is then what the parameter's type wants."""
    source = TYPED.replace("LEFT", left.format("{{ 'text' if v is string else 'data' }}")).replace("RIGHT", right)
    written = {"a": ("text", "12"), "b": ("data", "12"), "c": ("data", "[1]")}
    tools = [make_tool("look", a="string", b="integer", c="array")]
    for missing in ("", "a", "b", "c", "ab", "abc"):
        fields = (f"@{key}{bare if key in missing else left.format(word)}{text}{right}" for key, (word, text) in written.items())
        found = read_all_ways(analyze(source), f"<do look>{''.join(fields)}</do>", tools, "<assistant>")
        assert get_calls(found) == [("look", {"a": "12", "b": 12, "c": [1]})], missing


ANSWERED = """\
{%- for m in messages -%}
<{{ m.role }}>
{%- if m.reasoning_content %}<plan>{{ m.reasoning_content }}</plan>{% endif -%}
{%- if m.content %}<|say|>{{ m.content }}{% endif -%}
</{{ m.role }}>
{%- endfor -%}
{%- if add_generation_prompt %}<assistant>{% endif -%}
"""


def test_the_mark_of_content_ends_reasoning_behind_a_sentence() -> None:
    assert read(ANSWERED, "<plan>It is late.<|say|>Good night.") == ["It is late.", "Good night.", []]
    assert read(ANSWERED, "<plan>It is late\n<|say|>Good night.") == ["It is late", "Good night.", []]
    thought = "An answer begins with <|say|> here, or `<|say|>`."
    assert read(ANSWERED, f"<plan>{thought}</plan><|say|>Yes.") == [thought, "Yes.", []]
