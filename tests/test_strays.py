"""Small things that models leave out or add where nothing of the template says so: each read alike in all splits."""

from __future__ import annotations

from typing import Any

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways

import chat_autoparser as ca

LETTERS = """\
{%- for m in messages -%}
From: {{ m.role }}
{% if m.role == 'assistant' -%}
{%- if m.content -%}
To: user

{{ m.content }}
*** sent ***
{% endif -%}
{%- for c in m.tool_calls or [] -%}
{%- if m.content or not loop.first -%}From: assistant
{% endif -%}
To: desk/{{ c.function.name }}
Number: {{ loop.index }}

{{ c.function.arguments | tojson }}
*** sent ***
{% endfor -%}
*** over ***
{% else -%}
{{ m.content }}
*** sent ***
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}From: assistant
{% endif -%}
"""

FLAGS = """\
{%- macro option(k, v) -%}
{%- if v is none %} ?{{ k }}
{%- elif v is boolean %} {{ '+' if v else '-' }}{{ k }}
{%- elif v is string %} --{{ k }} '{{ v.replace("'", "'\\\\''") }}'
{%- else %} --{{ k }}:='{{ v | tojson | replace("'", "'\\\\''") }}'
{%- endif -%}
{%- endmacro -%}
{%- for m in messages -%}
*{{ m.role }}*
{{ m.content or '' }}
{%- if m.tool_calls %}

(sh)
{% for c in m.tool_calls %}$ {{ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ option(k, v) }}{% endfor %}

{% endfor %}(/sh)
{%- endif %}

*done*
{% endfor -%}
{%- if add_generation_prompt %}*assistant*
{% endif -%}
"""

WORDS = """\
{%- macro option(k, v) -%}
{%- if v is boolean %} {{ 'with:' if v else 'without:' }}{{ k }}
{%- elif v is none %} clear:{{ k }}
{%- else %} {{ k }}:={{ v | tojson }}
{%- endif -%}
{%- endmacro -%}
{%- for m in messages -%}
«{{ m.role }}»{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
«do»{{ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ option(k, v) }}{% endfor %}«od»
{%- endfor -%}
«over»
{%- endfor -%}
{%- if add_generation_prompt -%}«assistant»{%- endif -%}
"""

NEGATED = (
    WORDS.replace("'with:' if v else 'without:'", "'--' if v else '--no-'")
    .replace(" clear:{{ k }}", " --{{ k }}=")
    .replace(" {{ k }}:=", " --{{ k }}=")
)

BARE = """\
{%- for m in messages -%}
[{{ m.role }}]{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
(*run*){{ c.function.name }} {{ c.function.arguments | tojson }}(*ran*)
{%- endfor -%}
[/over]
{%- endfor -%}
{%- if add_generation_prompt -%}[assistant]{%- endif -%}
"""

FIELDS = """\
{%- for m in messages -%}
[{{ m.role }}]{{ m.content or '' }}
{%- for c in m.tool_calls or [] -%}
<|call|>{{ c.function.name }}
{%- for k, v in c.function.arguments.items() -%}<|arg|>{{ k }}<|is|>{{ v | tojson }}{%- endfor -%}
{%- endfor -%}
[/over]
{%- endfor -%}
{%- if add_generation_prompt -%}[assistant]{%- endif -%}
"""


TOOLS = [make_tool("pin", note="string", count="integer", loud="boolean"), make_tool("ring")]


def read(template: str, text: str, tools: list[dict[str, Any]] = TOOLS) -> tuple[str, list[tuple[str, Any]]]:
    format = analyze(template)
    prompt = ca.load_renderer(template)([{"role": "user", "content": "Go."}], tools, True)
    found = read_all_ways(format, text, tools, prompt)
    return found.content or "", get_calls(found)


PIN = [("pin", {"note": "a b", "count": 3})]


@pytest.mark.parametrize(
    ("template", "text", "content", "calls"),
    [
        pytest.param(LETTERS, "From: assistant\nTo: user\n\nHello.\n*** sent ***\n*** over ***\n", "Hello.", [], id="prompt again"),
        pytest.param(
            LETTERS,
            "To: user\n\nI pin it.\n*** sent ***\nFrom: assistant\nTo: desk/pin\nNumber: 1\n\nnote: a b\ncount: 3\n*** sent ***\n*** over ***\n",
            "I pin it.",
            PIN,
            id="lines, not JSON, behind a header that counts",
        ),
        pytest.param(BARE, "It is done.(*ran*)", "It is done.", [], id="stray end of a call"),
        pytest.param(BARE, "It is done.\n(*ran*)[/over]", "It is done.", [], id="stray end of a call on a line"),
        pytest.param(BARE, "Calls end with (*ran*)", "Calls end with (*ran*)", [], id="an end that is spoken of"),
        pytest.param(BARE, "(*run*)dig it(*ran*)", "(*run*)dig it(*ran*)", [], id="an end whose beginning is there"),
        pytest.param(BARE, "(*run*)ring(*ran*)[/over]", "", [("ring", {})], id="no arguments"),
        pytest.param(
            BARE,
            '<tool>\n{"name": "pin", "arguments": {"note": "a b", "count": 3}}\n</tool>\n[/over]',
            "",
            PIN,
            id="another dialect before the end of the turn",
        ),
        pytest.param(
            FIELDS, '<|call|>pin{"note": "a b", "count": 3}[/over]', "", PIN, id="JSON, not fields, right behind the name"
        ),
        pytest.param(FIELDS, '<|call|>dig<|call|>pin<|arg|>note<|is|>"a"', "", [("dig", {}), ("pin", {"note": "a"})], id="no end"),
    ],
)
def test_what_strays_is_read(template: str, text: str, content: str, calls: list[tuple[str, Any]]) -> None:
    found, read_calls = read(template, text)
    assert (found.strip(), read_calls) == (content, calls)


def test_without_tools_an_end_of_calls_is_text() -> None:
    assert read(BARE, "It is done.(*ran*)", []) == ("It is done.(*ran*)", [])


@pytest.mark.parametrize(
    ("template", "text"),
    [
        pytest.param(FLAGS, "(sh)\n$ pin --note 'it'\\''s' +loud ?count\n$ pin -loud\n$ ring\n(/sh)", id="signs"),
        pytest.param(WORDS, '«do»pin note:="it\'s" with:loud clear:count«od»«do»pin without:loud«od»«do»ring«od»', id="words"),
        pytest.param(NEGATED, '«do»pin --note="it\'s" --loud --count=«od»«do»pin --no-loud«od»«do»ring«od»', id="negation"),
    ],
)
def test_what_stands_before_a_key_may_be_its_value(template: str, text: str) -> None:
    format = analyze(template)
    assert dict(format.verdict.parts)["tools"] == "proven", format.verdict
    assert read(template, text)[1] == [
        ("pin", {"note": "it's", "loud": True, "count": None}),
        ("pin", {"loud": False}),
        ("ring", {}),
    ]

COMMENTED = """\
{%- for m in messages -%}
<{{ m.role }}>{% if m.reasoning_content %}/* {{ m.reasoning_content }} */{% endif %}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}[[go]]{{ c.function.name }}[[with]]{{ c.function.arguments | tojson }}{% endfor -%}
<end>
{%- endfor -%}
{%- if add_generation_prompt %}<assistant>/* {% endif -%}
"""
"""The prompt opens a thought, and nothing ends a call."""


def test_signs_that_open_a_thought_open_it_again() -> None:
    """Where the prompt has opened it, too; a thought may begin with one of them."""
    format = analyze(COMMENTED)
    for written, thought in (("/* Hm. */So.", "Hm."), ("/Hm. */So.", "/Hm."), ("* Hm. */So.", "* Hm.")):
        found = read_all_ways(format, f"{written}<end>", [], "<assistant>/* ")
        assert ((found.reasoning or "").strip(), found.content) == (thought, "So."), written


LANES = """\
{%- for m in messages -%}
<<{{ m.role }}>>{% if m.reasoning_content %}<|lane|>musing
{{ m.reasoning_content }}<|lane_end|>{% endif %}{{ m.content or '' }}<<end>>
{%- endfor -%}
{%- if add_generation_prompt %}<<assistant>>{% endif -%}
"""
"""A thought begins with a mark and a line."""


@pytest.mark.parametrize("opened", ["<|lane|>musing\n", "<|lane|>\n", "musing\n"])
def test_half_of_what_opens_a_thought_opens_it(opened: str) -> None:
    found = read_all_ways(analyze(LANES), f"{opened}Hm.<|lane_end|>So.<<end>>", [], "<<assistant>>")
    assert (found.reasoning, found.content) == ("Hm.", "So.")


def test_half_of_what_opens_a_thought_is_no_answer_where_the_output_ends() -> None:
    for written in ("<|lane|>", "<|lane|>mus"):
        found = read_all_ways(analyze(LANES), written, [], "<<assistant>>")
        assert (found.reasoning, found.content) == (None, None), written


def test_a_bracket_alone_behind_the_last_call_is_no_answer() -> None:
    tools = [{"name": "pin", "parameters": {"properties": {"note": {"type": "string"}}}}]
    text = 'Hm. */[[go]]pin[[with]]{"note": "a"}}'
    for end in ("", "\n", "<end>"):
        found = read_all_ways(analyze(COMMENTED), text + end, tools, "<assistant>/* ")
        assert (found.content, found.calls) == (None, [("pin", '{"note": "a"}')]), end
    found = read_all_ways(analyze(COMMENTED), text + " is odd", tools, "<assistant>/* ")
    assert found.content == "} is odd"
