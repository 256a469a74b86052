"""An id that a model leaves out, with the word or the marks that tell what it is or without it, is no reason to lose a call."""

from __future__ import annotations

import pytest
from streams import analyze, get_calls, make_call, make_tool, read_all_ways, render_turn

from chat_autoparser.recover import PolicyName

SEPARATED = "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %}"
TOOLS = [make_tool("get_weather", ["city"], city="string", days="integer"), make_tool("list_rooms")]
FIELDS = "{% for k, v in c.function.arguments.items() %}@{% endfor %}"
CALLS = {
    "behind a hash": "[[do:NAME#ID]]JSON[[/do]]",
    "behind a mark at the end": "[USE]NAME[WITH]JSON[AS]ID[GO]",
    "behind a blank": "⟦do ID⟧NAME\nJSON\n⟦/do⟧",
    "in tags": "<do><name>NAME</name>\n<id>ID</id>\n<args>JSON</args></do>",
    "an attribute": '<do name="NAME" id="ID">JSON</do>',
    "in brackets": "### Use `NAME` (ID)\n" + FIELDS.replace("@", "- **{{ k }}**: {{ v | tojson }}\n") + "###\n",
    "a word": "\n(do NAME ID" + FIELDS.replace("@", " ({{ k }} {{ v | tojson }})") + ")",
    "a line": '[[do]]\nname = "NAME"\nid = "ID"\n' + FIELDS.replace("@", "args.{{ k }} = {{ v | tojson }}\n") + "[[od]]",
    "in JSON": '<do>{"name": "NAME", "id": "ID", "arguments": JSON}</do>',
    "at the end of JSON": '<do>{"name": "NAME", "arguments": JSON, "id": "ID"}</do>',
    "behind arguments": '$ NAME JSON &ID\n',
    "before the name": "⟦ID: NAME⟧ JSON ⟦/⟧",
    "in a comment": "…$ NAME" + FIELDS.replace("@", " --{{ k }}={{ v | tojson }}") + " & # ID\n…exit 0\n",
    "in a comment behind brackets": "<|py|>\n…NAME(" + SEPARATED + ")  # ID\n…<|/py|>",
    "in a comment of a program": "[run]\n…NAME(" + SEPARATED + "); // ID\n…[/run]",
    "in a comment behind JSON": "begin\n…NAME JSON ; id ID\n…end",
}
LEFT_OUT = {
    "behind a hash": ["#ID"],
    "behind a mark at the end": ["[AS]ID", "ID"],
    "behind a blank": [" ID"],
    "in tags": ["<id>ID</id>\n", "ID"],
    "an attribute": [' id="ID"', "ID"],
    "in brackets": [" (ID)", "ID"],
    "a word": [" ID", "ID"],
    "a line": ['id = "ID"\n', "ID"],
    "in JSON": ['"id": "ID", ', "ID"],
    "at the end of JSON": [', "id": "ID"', "ID"],
    "behind arguments": [" &ID"],
    "before the name": ["ID: "],
    "in a comment": [" & # ID"],
    "in a comment behind brackets": ["  # ID"],
    "in a comment of a program": ["; // ID"],
    "in a comment behind JSON": [" ; id ID"],
}
ARGUMENTS = {"city": "Oslo", "days": 3}
CALL = "get_weather", ARGUMENTS


def write(calls: str) -> str:
    before, call, behind = calls.split("…") if "…" in calls else ("", calls, "")
    return (
        "{%- for m in messages -%}<|{{ m.role }}|>{{ m.content or '' }}{% if m.tool_calls %}"
        + before.replace("\n", "{{ '\\n' }}")
        + "{% for c in m.tool_calls %}"
        + call.replace("NAME", "{{ c.function.name }}").replace("ID", "{{ c.id }}").replace("JSON", "{{ c.function.arguments | tojson }}")
        + "{% endfor %}"
        + behind
        + "{% endif %}<|end|>{%- endfor -%}{%- if add_generation_prompt %}<|assistant|>{% endif -%}"
    )


@pytest.mark.parametrize(("name", "left_out"), [(name, text) for name, texts in LEFT_OUT.items() for text in texts])
def test_a_call_without_its_id_is_one(name: str, left_out: str) -> None:
    source = write(CALLS[name])
    format = analyze(source)
    assert format.verdict.proven, format.verdict.counterexample
    call = {**make_call("get_weather", ARGUMENTS), "id": "ID"}
    for content, number in (("", 1), ("", 2), ("Let me see.", 1), ("Let me see.", 2)):
        written = render_turn(source, {"content": content, "tool_calls": [call] * number}, TOOLS)[1]
        assert written.count(left_out) == number
        found = read_all_ways(format, written.replace(left_out, ""), TOOLS, "<|assistant|>")
        assert (found.content or "").strip() == content
        assert get_calls(found) == [("get_weather", ARGUMENTS)] * number


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("left_out", [True, False])
def test_calls_without_ids_are_read_as_the_template_writes_them(name: str, left_out: bool) -> None:
    """Nothing is relaxed there, and nothing is lost of calls that have ids."""
    calls = CALLS[name]
    for text in LEFT_OUT[name][:1] if left_out else ():
        calls = calls.replace(text, "{{ '" + text.replace("ID", "' ~ c.id ~ '") + "' if c.id }}")
    source = write(calls)
    format = analyze(source)
    assert format.verdict.proven, format.verdict.counterexample
    for ids in ([], ["a1b2c3d4e"], [None, None], ["a1b2c3d4e", "f5g6h7i8j"], [None, None, None]):
        made = [{key: value for key, value in {**make_call(*CALL), "id": each}.items() if value} for each in ids]
        for content in ("", "Let me see."):
            written = render_turn(source, {"content": content, "tool_calls": made}, TOOLS)[1]
            found = read_all_ways(format, written, TOOLS, "<|assistant|>", policy="strict")
            assert ((found.content or "").strip(), get_calls(found)) == (content, [CALL] * len(ids))
            assert all(given in (None, read) for given, read in zip(ids, found.ids, strict=True))


@pytest.mark.parametrize("policy", ["strict", "repair"])
@pytest.mark.parametrize("name", ["in JSON", "at the end of JSON", "an attribute"])
def test_an_id_in_quotes_may_have_brackets(name: str, policy: PolicyName) -> None:
    source, ids = write(CALLS[name]), ["c[0]", "c]}1"]
    made = [{**make_call(*CALL), "id": each} for each in ids]
    written = render_turn(source, {"content": "", "tool_calls": made}, TOOLS)[1]
    found = read_all_ways(analyze(source), written, TOOLS, "<|assistant|>", policy)
    assert (found.content or "", get_calls(found), found.ids, found.recoveries) == ("", [CALL] * 2, ids, [])


def test_what_ends_all_calls_may_be_missing_behind_an_id_that_no_mark_ends() -> None:
    source = write(CALLS["in a comment behind brackets"])
    call = {**make_call("get_weather", ARGUMENTS), "id": "ID"}
    written = render_turn(source, {"content": "", "tool_calls": [call, call]}, TOOLS)[1]
    found = read_all_ways(analyze(source), written.replace("<|/py|>", ""), TOOLS, "<|assistant|>")
    assert (found.content, get_calls(found), found.ids) == (None, [("get_weather", ARGUMENTS)] * 2, ["ID"] * 2)


@pytest.mark.parametrize(
    ("written", "named"),
    [("$ list_rooms\nexit 0\n", ["field of a call missing"]), ("$ list_rooms & # a1\nexit 0\n", [])],
)
def test_what_was_left_out_before_the_end_of_the_turn_is_noted(written: str, named: list[str]) -> None:
    parser = analyze(write(CALLS["in a comment"])).parser(TOOLS, "<|assistant|>")
    parser.feed(f"{written}<|end|>")
    parser.finish()
    assert (parser.calls_seen, [name for name, _ in parser.recoveries]) == (1, named)


def test_the_mark_before_an_id_ends_no_call_where_the_id_follows() -> None:
    table = "\n| TOOL | NAME |\n|---|---|\n| ref | ID |\n" + FIELDS.replace("@", "| .{{ k }} | {{ v | tojson }} |\n")
    source = "{%- for m in messages -%}<<{{ m.role }}>>{{ m.content or '' }}CALLS\n==end==\n{%- endfor -%}"
    calls = f"{{% for c in m.tool_calls or [] %}}{table}{{% endfor %}}".replace("NAME", "{{ c.function.name }}").replace("ID", "{{ c.id }}")
    text = '\n| TOOL | get_weather |\n|---|---|\n| ref | t1 |\n| city | "Oslo" |\n| days | 3 |\n\n==end==\n'
    found = read_all_ways(analyze(source.replace("CALLS", calls)), text, TOOLS, "<<assistant>>")
    assert ((found.content or "").strip(), get_calls(found)) == ("", [("get_weather", {"city": "Oslo", "days": 3})])
