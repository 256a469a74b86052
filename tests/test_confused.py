"""What stands between fields where a model takes one sign, mark or word for another. The templates are invented."""

from __future__ import annotations

from typing import Any

import pytest
from streams import analyze, get_calls, read_all_ways
from test_code import ITEMS, VALUE
from test_slips import LISTED, NOTE, STATEMENTS, TAGS, THOUGHT, TOOLS, WRAPPER, read_turn

import chat_autoparser as ca

ARRAY = WRAPPER % (
    "{%- if m.tool_calls -%}<acts>[{%- for c in m.tool_calls -%}"
    '{"ref": "{{ c.id }}", "tool": "my.{{ c.function.name }}", "input": {{ c.function.arguments | tojson }}}'
    "{%- if not loop.last -%}, {% endif -%}{%- endfor -%}]</acts>{%- endif -%}"
)
"""All calls stand in one list, and their names behind a word."""

SYNTAX = WRAPPER % (
    "{%- if m.tool_calls %}\n<go>\n{%- for c in m.tool_calls %}\n{{ c.function.name }}(" + ITEMS + "{{ k }}="
    "{% if v is boolean %}{{ 'True' if v else 'False' }}{% else %}{{ v | tojson }}{% endif %}"
    "{% if not loop.last %}, {% endif %}{% endfor %})\n{%- endfor %}\n</go>{% endif -%}"
)
"""A line for each call."""

ROW = WRAPPER % (
    "{%- if m.tool_calls -%}<go>[{%- for c in m.tool_calls -%}{{ c.function.name }}(" + ITEMS + "{{ k }}={{ v | tojson }}"
    "{% if not loop.last %}, {% endif %}{% endfor %}){% if not loop.last %}, {% endif %}{%- endfor -%}]</go>{%- endif -%}"
)
"""Calls stand behind each other in one line."""

PAIRS = WRAPPER % (
    "{%- for c in m.tool_calls or [] -%}<act>{{ c.function.name }}" + ITEMS + "<k>{{ k }}</k><v>" + VALUE + "</v>{% endfor %}</act>"
    "{%- endfor -%}"
)
"""Keys and values have marks of their own."""

TYPED = WRAPPER % (
    "{%- for c in m.tool_calls or [] -%}<act {{ c.function.name }}>" + ITEMS + '<in name="{{ k }}" type="'
    "{{ 'string' if v is string else 'boolean' if v is boolean else 'number' if v is number else 'array' }}"
    '">' + VALUE + "</in>{% endfor %}</act>{%- endfor -%}"
)
"""A word in the mark of a value tells its type."""

TOKENS = WRAPPER % (
    "{%- for c in m.tool_calls or [] -%}<|go|>{{ c.function.name }}" + ITEMS + "<|k|>{{ k }}<|v|>" + VALUE + "{% endfor %}<|done|>"
    "{%- endfor -%}"
)
"""What ends a value is what follows it."""

RING: tuple[str, Any] = ("ring", {})


@pytest.mark.parametrize(
    ("template", "text", "calls"),
    [
        pytest.param(
            ARRAY,
            '<acts>[{"ref": "a", "tool": "my.pin", "input": {"note": "a b"}}}, {"ref": "b", "tool": "my.ring", "input": {}}]</acts>',
            [NOTE, RING],
            id="a bracket too many between calls",
        ),
        pytest.param(
            ARRAY,
            '<acts>{"ref": "a", "tool": "pin", "input": {"note": "a b"}}\n{"ref": "b", "tool": "ring"}</acts>',
            [NOTE, RING],
            id="a line for each call in place of a list, the last without arguments",
        ),
        pytest.param(
            ARRAY,
            '<acts>\n```json\n[{"name": "my.pin", "arguments": "{\\"note\\": \\"a b\\"}"}]\n```\n</acts>',
            [NOTE],
            id="other keys, with the word before the name",
        ),
        pytest.param(ROW, '<go>[pin(note="a b"); ring()]</go>', [NOTE, RING], id="a semicolon between calls"),
        pytest.param(
            SYNTAX, '\n<go>\n# both\npin(note="a b")\n\n// and\nring()\n</go>', [NOTE, RING], id="comments before the calls"
        ),
        pytest.param(LISTED, '<act>\n<act>\n{"name": "pin", "arguments": {"note": "a b"}}\n</act>', [NOTE], id="an opener twice"),
        pytest.param(
            LISTED, '<act>\n{{"name": "pin", "arguments": {"note": "a b"}}}\n</act>', [NOTE], id="braces as in a format string"
        ),
        pytest.param(
            PAIRS,
            "<act>pin<k>note</k><v>a b</v><k>count</v><v>3</v></act>",
            [("pin", {"note": "a b", "count": 3})],
            id="a key that ends as values do",
        ),
        pytest.param(
            TYPED,
            '<act pin><in name="note" type="str">a b</in><in name="count" type="int">3</in></act>',
            [("pin", {"note": "a b", "count": 3})],
            id="other words for types",
        ),
        pytest.param(
            TAGS, "<run pin><in count>3</run><run ring></run>", [("pin", {"count": 3}), RING], id="a number without its end"
        ),
        pytest.param(
            TOKENS, "<|go|>pin<|k|>count<|v|>3<|go|>ring<|done|>", [("pin", {"count": 3}), RING], id="a call begins behind a number"
        ),
    ],
)
def test_it_is_read(template: str, text: str, calls: list[tuple[str, Any]]) -> None:
    assert read_turn(template, text) == (None, calls)


def test_a_text_holds_what_a_number_cannot() -> None:
    """Where a text is wanted, the same marks are a part of it."""
    found = read_all_ways(analyze(TOKENS), "<|go|>pin<|k|>note<|v|>3<|go|>ring<|done|>", TOOLS, "<<assistant>>")
    assert get_calls(found) == [("pin", {"note": "3<|go|>ring"})]


def test_a_sign_that_nothing_follows_is_text() -> None:
    """Behind it another call has to begin, of a tool of the request."""
    text = '<act>\n{"name": "pin", "arguments": {"note": "a b"}}\n</act>}, as I said'
    found = read_all_ways(analyze(LISTED), text, TOOLS, "<<assistant>>")
    assert (found.content, len(found.calls)) == ("}, as I said", 1)


@pytest.mark.parametrize("mark", ["<|code|>", "<|x_y|>"])
def test_a_special_token_before_calls(mark: str) -> None:
    """Whatever it says, it is no text if nothing but it stands before a call; before prose it is."""
    form = ca.analyze(ROW.replace("<go>", "").replace("</go>", ""))
    found = read_all_ways(form, f'{mark}[pin(note="a b"), ring()]', TOOLS, "<<assistant>>")
    assert (found.content, [name for name, _ in found.calls]) == (None, ["pin", "ring"])
    for text in (f"{mark}pin is the tool to call.", f"Use {mark} for code."):
        assert read_all_ways(form, text, TOOLS, "<<assistant>>")[:3] == read_all_ways(form, text, [], "<<assistant>>")[:3]


CODE = 'Here it is:\n\n```python\n{indent}body = {{"name": "pin", "arguments": {{"note": note}}}}\n{indent}post(body)\n```{end}'


@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize("end", ["", "\nDone."])
def test_code_that_holds_what_a_call_looks_like(indent: str, end: str) -> None:
    """Amid a line of code no call begins that lacks a part."""
    text = CODE.format(indent=indent, end=end)
    for template in (LISTED, STATEMENTS, ARRAY):
        found = read_all_ways(analyze(template), text, TOOLS, "<<assistant>>")
        assert (found.content, found.calls) == (text, [])


def test_a_draft_in_a_fence_within_reasoning() -> None:
    """Behind which the thought goes on."""
    draft = 'I could write\n```\n<act>pin {"note": "a b"}</act>\n```\nbut what note?'
    found = read_all_ways(analyze(THOUGHT), f"<muse>{draft}</muse><<over>>", TOOLS, "<<assistant>>")
    assert (found.reasoning, found.content, found.calls) == (draft, None, [])


HEADED = """\
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{%- if m.reasoning_content -%}<|open|>me<|lane|>muse<|say|>{{ m.reasoning_content }}<|shut|>{%- endif -%}
{%- if m.content -%}<|open|>me<|lane|>talk<|say|>{{ m.content }}<|shut|>{%- endif -%}
{%- for c in m.tool_calls or [] -%}
<|open|>me for=tools.{{ c.function.name }}<|lane|>side<|say|>{{ c.function.arguments | tojson }}<|shut|>
{%- endfor -%}
{%- else -%}<|open|>{{ m.role }}<|say|>{{ m.content }}<|shut|>{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|open|>me{%- endif -%}
"""
"""Each part of a turn is a message with a header."""


@pytest.mark.parametrize(
    ("thought", "call"),
    [
        pytest.param("A pin.", '<|lane|>side for=tools.pin<|say|>{"note": "a b"}<|shut|>', id="no end before the call"),
        pytest.param('What "for=tools.pin" means.', "", id="spoken of"),
        pytest.param('Or <|lane|>side for=tools.other<|say|>{"note": "a b"}?', "", id="no tool of the request"),
    ],
)
def test_a_header_in_reasoning(thought: str, call: str) -> None:
    """One that names a tool of the request begins a message, though nothing has ended the one before."""
    end = call or "<|shut|><|open|>me<|lane|>talk<|say|>So it is.<|shut|>"
    found = read_all_ways(analyze(HEADED), f"<|lane|>muse<|say|>{thought}{end}", TOOLS, "<|open|>me")
    calls = [("pin", '{"note": "a b"}')] if call else []
    assert (found.reasoning, found.content, found.calls) == (thought, None if call else "So it is.", calls)
