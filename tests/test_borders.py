"""Where a thought, an answer or a call begins or ends otherwise than its template writes it. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import ROUTE_TOOL, analyze, get_calls, read_all_ways

import chat_autoparser as ca

WRAPPER = """\
{%%- for m in messages -%%}
<<{{ m.role }}>>
%s
<<over>>
{%%- endfor -%%}
{%%- if add_generation_prompt %%}<<assistant>>{%% endif -%%}
"""

CALLS = "{% for c in m.tool_calls or [] %}[do {{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"

PAIRS = WRAPPER % (
    "{% if m.reasoning_content %}(muse|{{ m.reasoning_content }}|muse)\n{% endif %}"
    "{% if m.content %}(speak|{{ m.content }}|speak)\n{% endif %}" + CALLS
)
"""A word and a sign are the mark that ends a field."""

RULED = WRAPPER % (
    "{% if m.reasoning_content %}{{ m.reasoning_content }}\n+++\n{% endif %}"
    "{% if m.content %}+++ text\n{{ m.content }}\n+++\n{% endif %}" + CALLS
)
"""Signs in a line of their own end a thought."""

QUOTED = WRAPPER % (
    '{% if m.reasoning_content %}{"muse": {{ m.reasoning_content | tojson }}}\n{% endif %}'
    '{% if m.content %}{"speak": {{ m.content | tojson }}}\n{% endif %}' + CALLS
)
"""A thought cannot hold the quote that ends it."""

BARRED = WRAPPER % (
    "{% if m.reasoning_content %}#? {{ m.reasoning_content | replace('\n', '\n#? ') }}\n#!\n{% endif %}"
    "{% if m.content %}{{ m.content }}\n{% endif %}" + CALLS
)
"""Each line of a thought has a mark before it, behind which a blank stands."""

OPTIONS = WRAPPER % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '$ ' ~ c.function.name }}"
    "{% for k, v in c.function.arguments.items() %} {{ k }}"
    "{% if v is string %}='{{ v | replace(\"'\", \"'\\\\''\") }}'{% else %}:={{ v | tojson }}{% endif %}{% endfor %}{{ '\\n$.\\n' }}{% endfor %}"
)
"""What stands behind a key tells whether its value is a text."""

WORDED = WRAPPER % (
    "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<act {{ c.function.name }}>{% for k, v in c.function.arguments.items() %}"
    '<{{ k }}{% if v is boolean %} t="flag"{% elif v is number %} t="num"{% elif v is mapping or v is not string %} t="data"{% endif %}>'
    "{{ v if v is string else v | tojson }}</{{ k }}>{% endfor %}</act>{% endfor %}"
)
"""A word tells the type of a value, but of a text none does."""

ROUTE = [("find_route", {"start": "a b", "legs": 3})]


def read_turn(template: str, text: str) -> tuple[str | None, str | None, list[tuple[str, Any]]]:
    """Read an output of a template's behind its prompt in all ways: its reasoning, its content and its calls with their arguments."""
    prompt = ca.load_renderer(template)([{"role": "user", "content": "Go."}], [ROUTE_TOOL], True)
    found = read_all_ways(analyze(template), text, [ROUTE_TOOL], prompt)
    texts = (found.reasoning or "").strip() or None, (found.content or "").strip() or None
    return *texts, get_calls(found)


@pytest.mark.parametrize(
    ("template", "text", "reasoning", "content"),
    [
        pytest.param(PAIRS, "(muse|So it is.|muse)\nHello (again)!", "So it is.", "Hello (again)!", id="word and sign"),
        pytest.param(RULED, "So it is.\n+++\nHello!\n", "So it is.", "Hello!", id="line of signs"),
        pytest.param(QUOTED, '{"muse": "So \\"it\\" is."}\nHello "you"!\n', 'So "it" is.', 'Hello "you"!', id="quote"),
        pytest.param(BARRED, "#? So\n#?\n#? it is.\n#!\nHello!", "So\n\nit is.", "Hello!", id="line without its blank"),
    ],
)
def test_texts_meet_in_another_way(template: str, text: str, reasoning: str | None, content: str) -> None:
    """A mark that nothing else explains ends a thought where it stands, and what follows is the answer."""
    assert read_turn(template, text) == (reasoning, content, [])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\n$ find_route --start='a b' --legs:=3\n$.", id="dashes before keys"),
        pytest.param("\n$ find_route start='a b' legs=3\n$.", id="a number behind the sign for texts"),
        pytest.param('[TOOL_CALLS]find_route[ARGS]{"start": "a b", "legs": 3}', id="marks of another format"),
        pytest.param('<|tool_call|>functions.find_route:0<|sep|>{"start": "a b", "legs": 3}<|end_of_call|>', id="a name in an id"),
        pytest.param("<call>call:find_route{start:<q>a b<q>,legs:3}<call/>", id="a mark on both sides of a text"),
        pytest.param(
            '<|calls_begin|><|call_begin|>function<|call_sep|>find_route\n```json\n{"start": "a b", "legs": 3}\n```<|call_end|><|calls_end|>',
            id="marks around marks, and a fence",
        ),
    ],
)
def test_arguments_in_other_signs(text: str) -> None:
    """A call comes whole whatever signs stand around its fields, or none."""
    assert read_turn(OPTIONS, text) == (None, None, ROUTE)


def test_other_words_for_types() -> None:
    """A model writes the words that JSON Schema has for types, where the template has others, or none for a text."""
    text = '<act find_route><start t="string">a b</start><legs t="integer">3</legs></act>'
    assert read_turn(WORDED, text) == (None, None, ROUTE)
