"""What the proof asks beyond usual turns: what a source compares with, switches, systems, long conversations, and much of everything.
Each of these templates was once called proven, though a turn of it was misread. They are invented."""

from __future__ import annotations

import pytest
from streams import analyze

FRAME = (
    "{%%- for m in messages -%%}<<{{ m.role }}>>\n{%% if m.reasoning_content %%}<muse>{{ m.reasoning_content }}</muse>\n{%% endif %%}"
    "%s<<over>>\n{%% endfor -%%}{%%- if add_generation_prompt %%}<<assistant>>\n{%% endif -%%}"
)
CALL = "\n<act>{{ c.function.name }} {{ c.function.arguments | tojson }}</act>"
TAGS = "\n<use {{ c.function.name }}>{% for k, v in c.function.arguments.items() %}<{{ k }}>{{ v | tojson }}</{{ k }}>{% endfor %}</use>"


def write_calls(call: str) -> str:
    return FRAME % f"{{{{ m.content or '' }}}}{{% for c in m.tool_calls or [] %}}{call}{{% endfor %}}"


def choose(condition: str, other: str, usual: str = CALL) -> str:
    return write_calls(f"{{% if {condition} %}}{other}{{% else %}}{usual}{{% endif %}}")


def write_values(condition: str, other: str, usual: str = "{{ v | tojson }}") -> str:
    value = f"{{% if {condition} %}}{other}{{% else %}}{usual}{{% endif %}}"
    return write_calls(f"\n<use {{{{ c.function.name }}}}>{{% for k, v in c.function.arguments.items() %}}<{{{{ k }}}}>{value}</{{{{ k }}}}>{{% endfor %}}</use>")


def write_content(condition: str, other: str) -> str:
    return FRAME % f"{{% if {condition} %}}{other}{{% else %}}{{{{ m.content or '' }}}}{{% endif %}}{{% for c in m.tool_calls or [] %}}{CALL}{{% endfor %}}"


CODE = "\n<code>\n{{ c.function.arguments.code }}\n</code>"
NOTE = "[note]{{ m.content }}[/note]"

DOUBTED = {
    "a tool of one name is written as code": choose("c.function.name == 'shell'", CODE),
    "tools of some names are written otherwise": choose("c.function.name in ['lookup', 'browse']", TAGS),
    "tools whose names begin so are": choose("c.function.name.startswith('ext_')", TAGS),
    "names are exchanged": write_calls("\n<act>{{ c.function.name | replace('__', '/') }} {{ c.function.arguments | tojson }}</act>"),
    "an argument of one name is written as a fence": write_values("k == 'code'", "```\n{{ v }}\n```"),
    "texts that begin so have other marks": write_values("v is string and v.startswith('http')", "<link {{ v }}>"),
    "long texts have other marks": write_values("v is string and v | length > 120", "<long>{{ v }}</long>"),
    "texts of many lines have": write_values("v is string and v.count('\\n') > 6", "|\n{{ v }}\n|"),
    "large numbers have a letter behind them": write_values("v is integer and v > 2147483647", "{{ v }}n"),
    "the sixth call begins a batch": choose("loop.index > 5", "\n<more>{{ c.function.name }} {{ c.function.arguments | tojson }}</more>"),
    "long answers have marks": write_content("m.content and m.content | length > 200", NOTE),
    "answers behind a system have": write_content("messages[0].role == 'system' and m.role == 'assistant'", NOTE),
    "answers in long conversations have": write_content("loop.index > 4 and m.role == 'assistant' and m.content", NOTE),
}

SWITCHED = {
    "calls under a text": choose("notation == 'tags'", TAGS),
    "calls under a flag": choose("use_tags", TAGS),
    "what opens a thought": write_calls(CALL).replace("<muse>", "<muse effort={{ effort or 'some' }}>"),
}


@pytest.mark.parametrize("template", DOUBTED.values(), ids=DOUBTED)
def test_a_turn_that_is_written_otherwise_is_found(template: str) -> None:
    verdict = analyze(template).verdict
    assert not verdict.proven
    assert verdict.counterexample


@pytest.mark.parametrize("template", SWITCHED.values(), ids=SWITCHED)
def test_what_a_switch_writes_otherwise_is_told(template: str) -> None:
    format = analyze(template)
    assert not format.verdict.proven
    assert any("written otherwise" in note for note in format.verdict.notes)
    assert format.verdict.counterexample is None  # without the switch all is as it seems


def test_what_is_asked_for_proves_nothing_wrong_where_it_changes_nothing() -> None:
    template = choose("c.function.name in ['lookup', 'browse'] and use_tags is not defined", CALL)
    assert analyze(template).verdict.proven


def test_empty_lists_within_objects_are_read_where_lines_tell_how_deep_they_stand() -> None:
    template = write_calls(
        "{%- macro put(v, deep) -%}{%- if v is mapping and v -%}{% for k, x in v.items() %}{{ '\\n' ~ '  ' * deep }}{{ k }}:{{ put(x, deep + 1) }}"
        "{% endfor %}{%- elif v is iterable and v is not string and v -%}{% for x in v %}{{ '\\n' ~ '  ' * deep }}-{{ put(x, deep + 1) }}{% endfor %}"
        "{%- else %} {{ v | tojson }}{% endif -%}{%- endmacro -%}\n<use {{ c.function.name }}>{{ put(c.function.arguments, 1) }}\n</use>"
    )
    format = analyze(template)
    assert format.verdict.proven
    text = "\n<use f>\n  a:\n    b: []\n    c: {}\n  d:\n    - []\n    -\n      - 1\n</use><<over>>\n"
    (call,) = format.parse(text, prompt="<<assistant>>\n", policy="strict")["tool_calls"]
    assert call["function"]["arguments"] == '{"a": {"b": [], "c": {}}, "d": [[], [1]]}'
