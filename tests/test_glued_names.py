"""Names of calls behind which something is missing, or too much stands: what follows tells where they end."""

from __future__ import annotations

from typing import Any

import pytest
from streams import analyze, get_calls, make_tool, read_all_ways

TOOLS = [
    make_tool("send_mail", address="string", text="string", times="integer"),
    make_tool("send", text="string"),
    make_tool("list_all"),
]
FRAME = (
    "{%%- for m in messages %%}<|{{ m.role }}|>{{ m.content or '' }}{%% for c in m.tool_calls or [] %%}%s{%% endfor %%}<|over|>{%% endfor %%}"
    "{%%- if add_generation_prompt %%}<|assistant|>{%% endif %%}"
)
KEYED = FRAME % (
    "<use>{{ c.function.name }}{% for k, v in c.function.arguments.items() %}\n<key>{{ k }}</key>"
    "<val>{{ v if v is string else v | tojson }}</val>{% endfor %}</use>"
)
COUNTED = FRAME % (
    "<use>tools.{{ c.function.name }}:{{ loop.index0 }}<with>{{ c.function.arguments | tojson }}</use>"
)
LINES = FRAME % (
    "{{ '\\n' if loop.first and m.content }}use {{ c.function.name }}{% for k, v in c.function.arguments.items() %}"
    "{{ '\\n-' ~ k ~ (': ' ~ v if v is string else '= ' ~ v | tojson) }}{% endfor %}{{ '\\ndone\\n' }}"
)
"""A text ends with its line."""
NAMED = FRAME % "<use>{{ c.function.name }}<with>{{ c.function.arguments | tojson }}</use>"


def read(template: str, written: str) -> Any:
    return read_all_ways(analyze(template), written, TOOLS, "<|assistant|>")


@pytest.mark.parametrize("lead", ["", "\n"])
def test_a_key_may_be_glued_to_the_name(lead: str) -> None:
    found = read(KEYED, f"<use>send_mail{lead}text</key><val>Hi.</val>\n<key>times</key><val>2</val></use><|over|>")
    assert get_calls(found) == [("send_mail", {"text": "Hi.", "times": 2})]
    assert "beginning of an argument missing" in found.recoveries
    found = read(KEYED, f"<use>send{lead}text</key><val>Hi.</val></use>")
    assert get_calls(found) == [("send", {"text": "Hi."})]


@pytest.mark.parametrize("end", ["</val></use>", "</val>"])
def test_what_ends_values_may_stand_behind_a_name(end: str) -> None:
    found = read(KEYED, f"<use>list_all{end}<|over|>")
    assert (found.content, get_calls(found)) == (None, [("list_all", {})])


def test_the_sign_before_the_number_of_a_call_may_be_missing() -> None:
    assert get_calls(read(COUNTED, '<use>tools.send0<with>{"text": "Hi."}</use><|over|>')) == [("send", {"text": "Hi."})]


def test_a_whole_call_may_stand_behind_an_id_that_is_no_name() -> None:
    inner = '{"name": "send", "arguments": {"text": "Hi."}}'
    found = read(NAMED, f"<use>call_a1b2<with>{inner}</use><|over|>")
    assert (found.content, get_calls(found)) == (None, [("send", {"text": "Hi."})])
    other = '{"name": "buy", "arguments": {"text": "Hi."}}'
    assert read(NAMED, f"<use>call_a1b2<with>{other}</use><|over|>").calls == [("call_a1b2", other)]


def test_a_call_in_its_lines_ends_the_one_before_it() -> None:
    """Else the line were a part of the last text, and a key came twice."""
    found = read(LINES, "use send\n-text: Hi.\nuse send\n-text: Ho.\ndone\n<|over|>")
    assert get_calls(found) == [("send", {"text": "Hi."}), ("send", {"text": "Ho."})]


def test_text_behind_calls_is_none_of_a_value_that_does_not_end() -> None:
    """In a template that writes text behind calls, it tells as little as text does that a value ends, but nothing else follows."""
    source = FRAME.replace("{{ m.content or '' }}", "").replace("{%% endfor %%}<|over|>", "{%% endfor %%}{{ m.content or '' }}<|over|>") % (
        "<use|{{ c.function.name }}{% for k, v in c.function.arguments.items() %}{{ '|{' if loop.first else ',' }}{{ k }}:<'>{{ v }}<'>{% endfor %}}|use>"
    )
    found = read(source, "<use|send|{text:<'>Hi.}|use>It is sent.")
    assert (found.content, get_calls(found)) == ("It is sent.", [("send", {"text": "Hi."})])
