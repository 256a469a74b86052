"""Arguments in JSON in which one bracket is missing, stands twice, or is another one, wherever it is: the call that was meant, or its
arguments as they were written; and JSON that is no call."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from streams import Reading, analyze, get_calls, make_call, make_tool, read, read_all_ways, render_turn

TURN = (
    "{%- for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
    "{%- for c in m.tool_calls or [] %}CALL{% endfor %}<|over|>{% endfor %}"
    "{%- if add_generation_prompt %}<|assistant|>{% endif %}"
)
NAME, ARGUMENTS = "{{ c.function.name }}", "{{ c.function.arguments | tojson }}"
ITEMS = "{% for k, v in c.function.arguments.items() %}ITEM{% endfor %}"
FORMATS = {
    "object": f'\n<call>{{"name": "{NAME}", "arguments": {ARGUMENTS}}}</call>',
    "marks": f"<|call|>{NAME}<|args|>{ARGUMENTS}<|done|>",
    "lines": f"\n>>{NAME}\n{ARGUMENTS}",
    "string": f'\n<call>{{"name": "{NAME}", "arguments": {ARGUMENTS.replace("}}", "| tojson }}")}}}</call>',
    "tags": f"\n<use={NAME}>\n{ITEMS}</use>".replace(
        "ITEM", "<arg={{ k }}>{{ v if v is string else v | tojson }}</arg>{{ '\\n' }}"
    ),
    "program": f"\n[{NAME}({ITEMS})]".replace("ITEM", "{{ k }}={{ v | tojson }}{% if not loop.last %}, {% endif %}"),
}
ROOM = {"type": "object", "properties": {"kind": {"type": "string"}, "beds": {"type": "integer"}, "extras": {"type": "array"}}}
TOOLS = [
    make_tool("other", x="string"),
    {
        "type": "function",
        "function": {
            "name": "book",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "guest": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "rooms": {"type": "array", "items": ROOM},
                    "late": {"type": "boolean"},
                },
            },
        },
    },
]
GIVEN: list[dict[str, Any]] = [
    {
        "city": "Oslo",
        "guest": {"name": "Ann", "age": 41},
        "tags": ["red", "blue"],
        "rooms": [{"kind": "single", "beds": 1, "extras": ["tv", "sea"]}, {"kind": "double", "beds": 2, "extras": []}],
        "late": True,
    },
    {"rooms": [{"kind": "single", "beds": 1}], "guest": {"name": "Ann", "age": 41}},
]
OTHERS = {"[": "{", "{": "[", "]": "}", "}": "]"}
MEANT = {"object": 95, "marks": 95, "lines": 95, "string": 80, "tags": 98, "program": 75}
"""So many of a hundred are the call that was meant, at least; of the others, brackets around the arguments are most."""


def list_slips(text: str, shown: dict[str, Any]) -> Iterator[str]:
    """List a written call with one bracket of its arguments left out, doubled, or turned into another one."""
    begin = text.index("{", text.index(next(iter(shown))) - 4)
    for found in re.finditer(r"[\[\]{}]", text):
        if begin < found.start() <= text.rindex("}"):
            for sign in ("", 2 * found[0], OTHERS[found[0]]):
                yield text[: found.start()] + sign + text[found.end() :]


def write(name: str, given: dict[str, Any]) -> tuple[str, str, str]:
    source = TURN.replace("CALL", FORMATS[name])
    return source, *render_turn(source, {"content": "Go.", "tool_calls": [make_call("book", given)]}, TOOLS)


def tell(found: Reading, given: dict[str, Any]) -> str:
    """Tell what became of a call: it is what was meant, or its arguments are no JSON, as they were written, or it is another one."""
    try:
        meant = (found.content, get_calls(found)) == ("Go.", [("book", given)])
    except ValueError:
        return "written"
    return "meant" if meant else "other"


@pytest.mark.parametrize("name", FORMATS)
def test_a_call_with_one_bracket_wrong_is_the_call_that_was_meant(name: str) -> None:
    found = Counter[str]()
    for given in GIVEN:
        source, prompt, text = write(name, given)
        form = analyze(source)
        found.update(tell(read(form, [slip], TOOLS, prompt, "repair"), given) for slip in list_slips(text, given))
    assert found["meant"] * 100 >= MEANT[name] * found.total() > 0, found


@pytest.mark.parametrize("name", FORMATS)
def test_such_a_call_comes_alike_however_it_is_split(name: str) -> None:
    source, prompt, text = write(name, GIVEN[1])
    form = analyze(source)
    for slip in list_slips(text, GIVEN[1]):
        read_all_ways(form, slip, TOOLS, prompt, "repair")


@pytest.mark.parametrize(
    "given",
    [
        {"guest": {"name": "Ann", "late": True}, "city": "Oslo"},
        {"tags": "red", "rooms": {"kind": "single"}, "guest": ["Ann", 41]},
        {"tags": [["red"]], "late": [True], "rooms": [["kind", "single"], {"beds": 1, "tags": ["red"]}]},
        {"city": "Oslo", "more": {"city": "Bergen", "tags": []}},
    ],
)
@pytest.mark.parametrize("name", ["object", "marks", "lines", "string"])
def test_json_that_the_schema_would_have_otherwise_comes_as_it_was_written(name: str, given: dict[str, Any]) -> None:
    source, prompt, text = write(name, given)
    found = read_all_ways(analyze(source), text, TOOLS, prompt, "repair")
    assert (found.calls, found.recoveries) == ([("book", json.dumps(given))], [])


def test_only_brackets_in_doubt_hold_arguments_back() -> None:
    """What a schema wants is handed on while it is written, short strings in lists and what ends the arguments but for the next sign."""
    source, prompt, text = write("marks", GIVEN[0])
    form = analyze(source)
    place = text.index('"late"')
    assert '"late"' not in read(form, [text[:place]], TOOLS, prompt, "repair").calls[0][1]
    parser = form.parser(tools=TOOLS, prompt=prompt, policy="repair")
    handed = "".join(delta.text for sign in text[:place] for delta in parser.feed(sign) if delta.kind == "tool_call")
    assert handed == json.dumps(GIVEN[0])[: json.dumps(GIVEN[0]).index(', "late"')]


@pytest.mark.parametrize(
    ("key", "written", "meant"),
    [
        ("tags", '"red", "blue"', ["red", "blue"]),
        ("tags", "'red', 'blue']", ["red", "blue"]),
        ("tags", '```json\n["red", "blue"]\n```', ["red", "blue"]),
        ("rooms", '{"kind": "single", "beds": 1}', [{"kind": "single", "beds": 1}]),
        ("rooms", '{"kind": "single"}, {"beds": 2}', [{"kind": "single"}, {"beds": 2}]),
        ("guest", 'name: "Ann", age: 41', {"name": "Ann", "age": 41}),
        ("guest", '```\n{"name": "Ann"}\n```', {"name": "Ann"}),
        ("guest", '{"name": "Ann", "age":', '{"name": "Ann", "age":'),
        ("tags", "red, blue", "red, blue"),
        ("tags", "range(1, 3)", "range(1, 3)"),
        ("city", '"red", "blue"', '"red", "blue"'),
    ],
)
def test_a_value_of_its_own_may_lack_its_brackets(key: str, written: str, meant: Any) -> None:
    """Where the schema wants a list or an object, and what is written is all that it wants with them."""
    source, prompt, text = write("tags", {key: "VALUE", "late": True})
    found = read_all_ways(analyze(source), text.replace("VALUE", written), TOOLS, prompt, "repair")
    assert get_calls(found) == [("book", {key: meant, "late": True})]


@pytest.mark.parametrize(
    "text",
    [
        'I could run {"name": "other", "arguments": {"x": "a"}} for you.',
        'My instructions list <tools>[{"name": "other", "description": "Does what others do"}]</tools> once.',
        '[{"name": "other", "description": "Does what others do"}]',
    ],
)
def test_json_that_is_no_call_is_text(text: str) -> None:
    """What stands between the words of a sentence, and what describes a tool."""
    source = TURN.replace("CALL", '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}')
    source = source.replace("{{ m.content or '' }}", "{% if not m.tool_calls %}{{ m.content or '' }}{% endif %}")
    found = read_all_ways(analyze(source), text + "<|over|>", TOOLS, "<|assistant|>", "repair")
    assert (found.content, found.calls) == (text, [])
