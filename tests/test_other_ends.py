"""Values that a model ends with another mark than the template's: one with the name of the argument, or the one that ends keys."""

from __future__ import annotations

import re
from typing import Any

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways, render_turn

TOOLS = [make_tool("edit_file", path="string", text="string", line="integer", force="boolean", tags="array")]
TURN = (
    "{%- for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] %}CALL{% endfor %}<|over|>{% endfor %}"
    "{%- if add_generation_prompt %}<|assistant|>{% endif %}"
)
NAME, EACH = "{{ c.function.name }}", "{% for k, v in c.function.arguments.items() %}ITEM{% endfor %}"
VALUE = "{{ v if v is string else v | tojson }}"
FORMATS = {
    "own lines": f"\n<use={NAME}>\n{EACH}</use>".replace("ITEM", f"<arg={{{{ k }}}}>\n{VALUE}\n</arg>\n"),
    "attributes": f'\n<use name="{NAME}">\n{EACH}</use>'.replace("ITEM", f'<arg name="{{{{ k }}}}">{VALUE}</arg>\n'),
    "typed": f'\n<x:use tool="{NAME}">{EACH}\n</x:use>'.replace(
        "ITEM", "\n<x:arg key=\"{{ k }}\" kind=\"{{ 'text' if v is string else 'data' }}\">" + VALUE + "</x:arg>"
    ),
    "brackets": f"[USE]{NAME}\n{EACH}[/USE]".replace("ITEM", f"[ARG {{{{ k }}}}]{VALUE}[/ARG]\n"),
    "keys in marks": f"<|use|>{NAME}{EACH}<|/use|>".replace("ITEM", f"<|key|>{{{{ k }}}}<|/key|><|val|>{VALUE}<|/val|>"),
    "slash behind": f"<|use|>{NAME}{EACH}<|use/|>".replace("ITEM", f"<|arg {{{{ k }}}}|>{VALUE}<|arg/|>"),
    "braces": f"\n{{use {NAME}}}{EACH}\n{{/use}}".replace("ITEM", f"\n{{arg {{{{ k }}}}}}{VALUE}{{/arg}}"),
    "boxes": f"⟦use {NAME}⟧{EACH}⟦/use⟧".replace("ITEM", f"⟦arg {{{{ k }}}}⟧{VALUE}⟦/arg⟧"),
    "comments": f"<!-- use {NAME} -->{EACH}<!-- /use -->".replace("ITEM", f"<!-- arg {{{{ k }}}} -->{VALUE}<!-- /arg -->"),
    "words": f"[[USE {NAME}]]{EACH}[[END_USE]]".replace("ITEM", f"[[ARG {{{{ k }}}}]]{VALUE}[[END_ARG]]"),
    "commands": f"\\begin{{use}}[{NAME}]{EACH}\\end{{use}}".replace("ITEM", f"\n\\begin{{arg}}[{{{{ k }}}}]{VALUE}\\end{{arg}}\n"),
}
CLOSING = re.compile(r"(</|<\|/|<\|(?=arg/)|[\[{⟦]/|<!-- /|\[\[END_|\\end\{)(x:)?(arg|ARG|val)(?=[>\]}⟧/|]| -->)")
ARGUMENTS = (
    {"path": "a/b.py", "text": "if x:\n    <p>y</p>\n", "line": 4, "force": True},
    {"force": False, "tags": ["a", "b"], "line": 12, "path": "c.html", "text": "<b>text</b>"},
)


def write(name: str, arguments: dict[str, Any]) -> tuple[str, str, str]:
    source = TURN.replace("CALL", FORMATS[name])
    message = {"content": "Go.", "tool_calls": [make_call("edit_file", arguments)] * 2}
    return source, *render_turn(source, message, TOOLS)


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("name", FORMATS)
def test_the_name_of_the_argument_may_end_it(name: str, arguments: dict[str, Any]) -> None:
    source, prompt, text = write(name, arguments)
    keys = iter([*arguments] * 2)
    found = read_all_ways(analyze(source), CLOSING.sub(lambda mark: mark[1] + next(keys), text), TOOLS, prompt)
    assert (found.content, get_calls(found)) == ("Go.", [("edit_file", arguments)] * 2)
    assert set(found.recoveries) == {"value ended as another"}


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_what_ends_a_key_may_end_its_value(arguments: dict[str, Any]) -> None:
    source, prompt, text = write("keys in marks", arguments)
    found = read_all_ways(analyze(source), text.replace("<|/val|>", "<|/key|>"), TOOLS, prompt)
    assert (found.content, get_calls(found)) == ("Go.", [("edit_file", arguments)] * 2)
    assert set(found.recoveries) == {"value ended as another"}


@pytest.mark.parametrize("name", FORMATS)
def test_such_marks_are_text_within_a_value(name: str) -> None:
    text = "</text> [/text] <|/text|> </key> <|/key|> \n<text>a</text>"
    source, prompt, written = write(name, {"path": "a", "text": text, "line": 1})
    found = read_all_ways(analyze(source), written, TOOLS, prompt)
    assert (get_calls(found), found.recoveries) == ([("edit_file", {"path": "a", "text": text, "line": 1})] * 2, [])


@pytest.mark.parametrize("name", ["own lines", "attributes", "brackets"])
def test_half_of_what_ends_the_call_ends_it(name: str) -> None:
    """Where the output stops behind a value and what follows begins as nothing does but the end of the call, no argument is to come."""
    source, prompt, text = write(name, ARGUMENTS[0])
    close = re.search(r"(</use|\[/USE)[>\]]", text)
    assert close
    for size in range(1, len(close[0])):
        found = read_all_ways(analyze(source), text[: close.start() + size], TOOLS, prompt)
        whole = size > 1 and found.incomplete == set()
        assert get_calls(found) == [("edit_file", ARGUMENTS[0])] if whole else found.incomplete == {0}
        assert whole or size == 1
