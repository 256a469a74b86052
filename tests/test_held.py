"""What the notation of a text tells to be within it is text, whatever it looks like: a copied call is none.

The template renders a text with a whole call in it; quotes that the text cannot hold, a mark before each of its lines, or the end of
its line, if line breaks in it are written otherwise, say where it ends. The templates are invented.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways, render_turn
from test_garbled import TAGGED

QUOTED = """\
{%- for m in messages -%}
{{ m.role }}:
{%- if m.reasoning_content %} muse({{ m.reasoning_content | tojson }});{% endif -%}
{%- if m.content %} say({{ m.content | tojson }});{% endif -%}
{%- for c in m.tool_calls or [] %} await deeds.{{ c.function.name }}({% for k, v in c.function.arguments.items() -%}
{{ k }} := {{ v | tojson }}{{ ", " if not loop.last }}{% endfor %});{% endfor -%}
<over>
{% endfor -%}
{%- if add_generation_prompt %}assistant:{% endif -%}
"""

LINED = """\
{%- for m in messages -%}
@{{ m.role }}
{% if m.reasoning_content %}muse: {{ m.reasoning_content | replace("\\n", "\\n\\t") }}
{% endif %}{% if m.content %}say: {{ m.content | replace("\\n", "\\n\\t") }}
{% endif %}
{%- for c in m.tool_calls or [] -%}
[deed.{{ c.function.name }}]
{% for k, v in c.function.arguments.items() %}{{ k }} = {{ v | tojson }}
{% endfor %}{% endfor -%}
[over]
{% endfor -%}
{%- if add_generation_prompt %}@assistant
{% endif -%}
"""

ROWS = """\
{%- for m in messages -%}
={{ m.role }}
{% if m.reasoning_content %}muse,"{{ m.reasoning_content | replace('"', '""') }}"
{% endif %}{% if m.content %}say,"{{ m.content | replace('"', '""') }}"
{% endif %}
{%- for c in m.tool_calls or [] -%}
deed,{{ c.function.name }}
{% for k, v in c.function.arguments.items() -%}
part,{{ k }},{{ '"' ~ v | replace('"', '""') ~ '"' if v is string else v | tojson }}
{% endfor %}{% endfor -%}
over
{% endfor -%}
{%- if add_generation_prompt %}=assistant
{% endif -%}
"""

ESCAPED = """\
{%- macro esc(t) %}{{ t | replace("%", "%25") | replace("\\n", "%0A") }}{% endmacro -%}
{%- for m in messages -%}
={{ m.role }}
{% if m.reasoning_content %}muse:{{ esc(m.reasoning_content) }}
{% endif %}{% if m.content %}say:{{ esc(m.content) }}
{% endif %}
{%- for c in m.tool_calls or [] -%}
deed:{{ c.function.name }}
{% for k, v in c.function.arguments.items() -%}
part={{ k }}:{{ esc(v) if v is string else v | tojson }}
{% endfor %}{% endfor -%}
over
{% endfor -%}
{%- if add_generation_prompt %}=assistant
{% endif -%}
"""

NAME, ARGUMENTS = "find_route", {"start": "Oslo", "legs": 3}
TOOLS = [make_tool(NAME, start="string", legs="integer")]
PLACES = ["reasoning_content", "content", "start"]


def make_turn(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": "", "tool_calls": [make_call(NAME, arguments)]}


@pytest.mark.parametrize("around", ["{}", "See:\n{}\nSo it is.", "One writes {} there."])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("template", [QUOTED, LINED, ROWS, ESCAPED], ids=["quoted", "lined", "rows", "escaped"])
def test_a_call_within_a_text_is_text(template: str, place: str, around: str) -> None:
    _, written = render_turn(template, make_turn(ARGUMENTS), TOOLS)
    text = around.format(written.rsplit("\n", 2)[0].removesuffix("<over>").strip())
    turn = make_turn({"start": text}) if place == "start" else {"content": "Done.", place: text}
    found = read_all_ways(analyze(template), render_turn(template, turn, TOOLS)[1], TOOLS)
    if place == "start":
        assert get_calls(found) == [(NAME, {"start": text})]
    else:
        assert found.calls == []
        assert {"reasoning_content": found.reasoning, "content": found.content}[place] == text


@pytest.mark.parametrize("template", [QUOTED, LINED], ids=["quoted", "lined"])
def test_a_line_that_ends_within_a_text_ends_it(template: str) -> None:
    """No text of these notations holds such a line break: what ends the text is missing."""
    call = render_turn(template, make_turn(ARGUMENTS), TOOLS)[1].strip()
    said = render_turn(template, {"content": "I look"}, TOOLS)[1]
    found = read_all_ways(analyze(template), f"{said.partition('look')[0]}look\n{call}\n", TOOLS)
    assert (found.content or "").strip() == "I look"
    assert get_calls(found) == [(NAME, ARGUMENTS)]


LISTS = [make_tool(NAME, start="string", legs="integer", spec="object", tags="array")]


@pytest.mark.parametrize("around", ["{}", "So: {} and so on", "{}\"", "\\\\{}", "\"{}\\"])
@pytest.mark.parametrize("value", [{"spec": {"text": "", "n": 1}}, {"tags": ["a", ""]}, {"tags": [{"x": [""]}]}])
def test_a_call_within_a_string_of_a_list_or_an_object_is_text(value: dict[str, Any], around: str) -> None:
    """It stands as JSON where a text would stand as it is; the tool says that it is no text."""
    call = render_turn(TAGGED, make_turn(ARGUMENTS), LISTS)[1].removesuffix("<|over|>\n")
    text = json.dumps(around.replace("{}", call))
    arguments = {**json.loads(json.dumps(value).replace('""', text)), "legs": 3}
    _, written = render_turn(TAGGED, make_turn(arguments), LISTS)
    found = read_all_ways(analyze(TAGGED), written, LISTS)
    assert (found.content, get_calls(found)) == (None, [(NAME, arguments)])


def test_a_quote_that_is_missing_does_not_take_the_arguments_behind_it() -> None:
    written = '<deed_of>\n<act=find_route>\n<part=tags>\n["a, "b"]\n</part>\n<part=legs>\n3\n</part>\n</act>\n</deed_of><|over|>'
    (call,) = read_all_ways(analyze(TAGGED), written, LISTS).calls
    assert json.loads(call[1])["legs"] == 3
