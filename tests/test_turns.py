"""The judge itself: turns made from templates written here, and a stub parser that is right, or wrong in a known way."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import coverage
import peers
import pytest
import rivals
from conversations import QUESTION, Call, Fields
from judge import Delta, cut_pieces, find_fault, fold, is_same, read_ways
from rename import Renaming, rename
from splitting import find_common_end, find_common_start
from turns import BEGUN_ALIKE, PARTIAL_CALL, REWRITTEN_CONTENT, UNEXPLAINED, Turn, build_turns, list_turns, study_template

JSON_CALLS = """\
{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\\n' }}
{%- if m.reasoning_content %}{{ '<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}
{{- m.content }}
{%- for call in m.tool_calls or [] %}
{{- '\\n' if m.content or not loop.first else '' }}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

TAGGED_CALLS = """\
{%- for m in messages %}
{{- '[' + m.role + ']' + (m.content or '') }}
{%- for call in m.tool_calls or [] %}
{{- '<call ' + call.function.name + '>' }}
{%- for key, value in call.function.arguments.items() %}
{{- '<' + key + '>' }}{{ value | tojson if value is mapping or value is iterable and value is not string else value }}
{{- '</' + key + '>' }}
{%- endfor %}{{ '</call>' }}
{%- endfor %}
{{- '[end]' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '[assistant]' }}{% endif %}"""


def pick(turns: list[Turn], name: str) -> Turn:
    found = [turn for turn in turns if turn.name == name]
    assert found, f"no turn {name!r} among {[turn.name for turn in turns]}"
    return found[0]


@pytest.fixture(scope="module")
def json_turns() -> list[Turn]:
    return build_turns("json", JSON_CALLS)


@pytest.fixture(scope="module")
def tagged_turns() -> list[Turn]:
    return build_turns("tagged", TAGGED_CALLS)


# Where a turn starts and ends


def test_a_turn_is_what_follows_the_generation_prompt_up_to_the_end_of_turn(json_turns: list[Turn]) -> None:
    turn = pick(json_turns, "content, call")
    assert turn.exact
    assert turn.prompt.endswith(f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n")
    assert turn.text == (
        "It has forty-two stripes.\n<tool_call>\n"
        '{"name": "find_okapi", "arguments": {"habitat": "pen twelve", "limit": 3}}\n</tool_call>'
    )
    assert turn.expected == {
        "reasoning_content": None,
        "content": "It has forty-two stripes.",
        "tool_calls": [{"id": None, "name": "find_okapi", "arguments": {"habitat": "pen twelve", "limit": 3}}],
    }


def test_the_end_of_turn_is_left_on_in_turns_of_their_own(json_turns: list[Turn]) -> None:
    turn = pick(json_turns, "call, ended")
    assert turn.ended
    assert turn.text == pick(json_turns, "call").text + "<|im_end|>"


def test_reasoning_is_expected_where_it_is_printed(json_turns: list[Turn], tagged_turns: list[Turn]) -> None:
    turn = pick(json_turns, "reasoning, content")
    assert turn.text == "<think>\nThe keeper would know that.\n</think>\n\nIt has forty-two stripes."
    assert turn.expected["reasoning_content"] == "The keeper would know that."
    assert not any(turn.expected["reasoning_content"] for turn in tagged_turns)


def test_no_text_comes_twice(json_turns: list[Turn]) -> None:
    keys = [(turn.prompt, turn.text, turn.tools is None) for turn in json_turns]
    assert len(keys) == len(set(keys)) > 40


def test_hard_values_are_in_the_text_as_the_template_writes_them(json_turns: list[Turn]) -> None:
    for turn in json_turns:
        for call in turn.expected["tool_calls"]:
            assert json.dumps(call["arguments"], ensure_ascii=False) in turn.text


OPENED = JSON_CALLS.replace("'<|im_start|>assistant\\n'", "'<|im_start|>assistant\\n<think>\\n'")


def test_where_the_history_drops_what_the_prompt_opens_the_common_start_is_the_prompt() -> None:
    turns = build_turns("opened", OPENED)
    turn = pick(turns, "content")
    assert not turn.exact
    assert turn.prompt.endswith("<|im_start|>assistant\n")
    assert turn.text == "It has forty-two stripes."
    reasoned = pick(turns, "reasoning, content")
    assert reasoned.exact
    assert reasoned.text == "The keeper would know that.\n</think>\n\nIt has forty-two stripes."


def test_a_switch_that_makes_the_prompt_fit_is_found() -> None:
    switched = JSON_CALLS.replace(
        "{{ '<|im_start|>assistant\\n' }}",
        "{{ '<|im_start|>assistant\\n' if plain else '<|im_start|>assistant\\n<think>\\n' }}",
    )
    turn = pick(build_turns("switched", switched), "content")
    assert (turn.exact, turn.switches) == (True, {"plain": True})


def test_fields_that_are_not_printed_are_not_expected() -> None:
    silent = JSON_CALLS.replace("{{- m.content }}", "{% if not m.tool_calls %}{{- m.content }}{% endif %}")
    turns = build_turns("silent", silent)
    assert not [turn for turn in turns if turn.expected["content"] and turn.expected["tool_calls"]]
    assert pick(turns, "call").expected["tool_calls"]


def test_a_template_that_prints_no_answer_has_no_turns() -> None:
    guard = "Judge this.\n{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}\nIs it harmful?"
    assert build_turns("guard", guard) == []
    assert build_turns("deaf", "{{ bos_token }}Hello.") == []


def test_a_whole_turn_at_the_start_of_a_longer_one_ends_it() -> None:
    split = JSON_CALLS.replace("{{- '\\n' if m.content", "{{- '<|im_end|>\\n<|im_start|>assistant\\n' if m.content")
    turns = build_turns("split", split)
    assert not [turn for turn in turns if len(turn.expected["tool_calls"]) > 1]
    assert not [turn for turn in turns if turn.expected["content"] and turn.expected["tool_calls"]]


# How messages have to be given


@pytest.mark.parametrize(
    ("demand", "shown"),
    [
        ("{% if m.tool_calls and m.content is not none %}{{ raise_exception('no content') }}{% endif %}", True),
        ("{% for c in m.tool_calls or [] if c.id | length != 9 %}{{ raise_exception('id') }}{% endfor %}", True),
        ("{% if m.tool_calls and loop.last %}{{ raise_exception('a result is missing') }}{% endif %}", True),
        ("{% if m.content is string %}{{ raise_exception('no parts') }}{% endif %}", False),
        ("{% if messages[0].role != 'system' %}{{ raise_exception('no system message') }}{% endif %}", True),
    ],
)
def test_the_shape_that_a_template_demands_is_found(demand: str, shown: bool) -> None:
    turns = build_turns("demand", JSON_CALLS.replace("{{- m.content }}", "{{- m.content or '' }}" + demand))
    assert (len([turn for turn in turns if turn.expected["tool_calls"]]) > 20) is shown


def test_a_name_that_only_stands_in_the_id_is_found() -> None:
    by_id = JSON_CALLS.replace("call.function.name", "call.id")
    turn = pick(build_turns("by id", by_id), "call")
    assert turn.expected["tool_calls"][0]["id"] == "functions.find_okapi:0"
    assert '{"name": "functions.find_okapi:0"' in turn.text


def test_arguments_as_text_are_preferred_to_python() -> None:
    printed = JSON_CALLS.replace("call.function.arguments | tojson", "call.function.arguments | string")
    turn = pick(build_turns("printed", printed), "call")
    assert '"arguments": {"habitat": "pen twelve", "limit": 3}}' in turn.text


# What no reader could tell


def test_types_that_are_printed_alike_are_unreadable_where_the_schema_is_silent(tagged_turns: list[Turn]) -> None:
    unreadable = {turn.name for turn in tagged_turns if turn.unreadable == rivals.TYPES_ALIKE}
    assert {"call undeclared number", "call untold number", "call union numbers"} <= unreadable
    assert not unreadable & {"call", "call like numbers", "call booleans", "call undeclared text", "call unions"}


def test_escaped_and_typed_values_are_readable(json_turns: list[Turn]) -> None:
    assert [turn.name for turn in json_turns if turn.unreadable] == []


@pytest.mark.parametrize(
    ("change", "turn", "reason"),
    [
        (
            ("<think>\\n' + m.reasoning_content + '\\n</think>", "' + m.reasoning_content + '"),
            "reasoning, content",
            BEGUN_ALIKE,
        ),
        (('\'{"name": "\' + call.function.name + \'", ', "'{"), "call", PARTIAL_CALL),
        (("{{- m.content }}", "{{- m.content | replace('\\n\\n', '\\n') }}"), "content hard", REWRITTEN_CONTENT),
    ],
)
def test_what_a_template_drops_or_mixes_is_unreadable(change: tuple[str, str], turn: str, reason: str) -> None:
    source = JSON_CALLS.replace("<tool_call>\\n{", "<tool_call>\\n' + '{").replace(*change)
    assert source != JSON_CALLS
    assert pick(build_turns("mixed", source), turn).unreadable == reason


def test_content_that_looks_like_reasoning_is_unreadable() -> None:
    alike = JSON_CALLS.replace("<think>\\n", "<x>").replace("\\n</think>\\n\\n", "</x>")
    alike = alike.replace("{{- m.content }}", "{{- '<x>' + m.content + '</x>' if m.content else '' }}")
    turns = build_turns("alike", alike)
    assert pick(turns, "content").unreadable == rivals.ROLES_ALIKE
    assert pick(turns, "reasoning, content").unreadable is None


def test_content_after_what_only_the_prompt_opens_is_unreadable() -> None:
    opener = "{{ '<o></o>' if off else '<o>' }}"
    opened = (
        f"{{% for m in messages %}}[{{{{ m.role }}}}]{{% if loop.last and m.role == 'assistant' %}}{opener}{{% endif %}}"
        f"{{{{ m.content }}}}[end]{{% endfor %}}{{% if add_generation_prompt %}}[assistant]{opener}{{% endif %}}"
    )
    turns = build_turns("opened", opened)
    assert pick(turns, "content").unreadable == UNEXPLAINED
    assert [turn.unreadable for turn in turns if turn.switches] == [None]


def test_a_schema_decides_between_a_text_and_a_number() -> None:
    def render(fields: Fields) -> str:
        return str(fields.calls[0].arguments["habitat"])

    def find(arguments: dict[str, Any], kind: str) -> str | None:
        tool = {"function": {"name": "f", "parameters": {"properties": {"habitat": {"type": kind}}}}}
        return rivals.find_rival(render, Fields(calls=(Call("f", arguments),)), [tool])

    assert find({"habitat": "5"}, "string") is None
    assert find({"habitat": 5}, "integer") is None
    assert find({"habitat": "x"}, "integer") is None
    assert rivals.find_rival(render, Fields(calls=(Call("f", {"habitat": 5}),)), None) == rivals.TYPES_ALIKE
    assert rivals.find_rival(render, Fields(calls=(Call("f", {"habitat": "5"}),)), None) == rivals.TYPES_ALIKE
    assert rivals.find_rival(render, Fields(calls=(Call("f", {"habitat": "<"}),)), None) is None


def test_texts_are_not_cut_amid_a_marker() -> None:
    assert find_common_start("<assistant>\n<think>", "<assistant>\n<tool>") == len("<assistant>\n")
    assert find_common_start("same", "same") == 4
    assert find_common_end("X<|END_TEXT|><|STOP|>", "Y<|END_CALL|><|STOP|>") == "<|STOP|>"
    assert find_common_end("one", "two") == ""


# Reading and comparing


class StubDelta:
    def __init__(self, delta: dict[str, Any]) -> None:
        self.delta = delta

    def to_openai(self) -> dict[str, Any]:
        return self.delta


class StubParser:
    """Collects all and reads it at the end, as only somebody who knows this one template can."""

    def __init__(self, broken: str) -> None:
        self.text, self.broken = "", broken

    def feed(self, text: str, /) -> Iterable[Delta]:
        self.text += text
        return []

    def finish(self) -> Iterable[Delta]:
        text, message = self.text.removesuffix("<|im_end|>"), dict[str, Any]()
        if text.startswith("<think>"):
            message["reasoning_content"], _, text = text.removeprefix("<think>\n").partition("\n</think>\n\n")
        content, *calls = text.split("<tool_call>\n") if self.broken != "calls" else [text]
        yield StubDelta({**message, "content": content if self.broken != "strip" else content.upper()})
        for index, call in enumerate(calls):
            read = json.loads(call.partition("\n</tool_call>")[0])
            function = {"name": read["name"], "arguments": json.dumps(read["arguments"])}
            yield StubDelta({"tool_calls": [{"index": index, "id": f"call_{index}", "type": "function", "function": function}]})


class StubFormat:
    def __init__(self, broken: str = "") -> None:
        self.broken = broken

    def parser(self, *, tools: list[dict[str, Any]] | None, prompt: str | None) -> StubParser:
        return StubParser(self.broken)

    def parse(self, text: str, *, tools: list[dict[str, Any]] | None, prompt: str | None) -> dict[str, Any]:
        parser = self.parser(tools=tools, prompt=prompt)
        parser.feed(text)
        return fold(delta.to_openai() for delta in parser.finish())


def count_faults(turns: list[Turn], fmt: StubFormat) -> dict[str, int]:
    faults: dict[str, int] = {}
    for turn in turns:
        for way, read in read_ways(fmt, turn):
            fault = find_fault(turn.expected, read())
            faults[way] = faults.get(way, 0) + bool(fault)
    return faults


def test_a_parser_that_knows_the_template_has_no_fault(json_turns: list[Turn]) -> None:
    assert count_faults(json_turns, StubFormat()) == {"whole": 0, "by character": 0, "in pieces": 0}


@pytest.mark.parametrize("broken", ["calls", "strip"])
def test_a_parser_that_is_wrong_has_faults_in_every_way(json_turns: list[Turn], broken: str) -> None:
    assert min(count_faults(json_turns, StubFormat(broken)).values()) > 10


def test_pieces_add_up_and_depend_on_the_seed() -> None:
    text = "The keeper would know that. " * 20
    assert "".join(cut_pieces(text, 1)) == text
    assert list(cut_pieces(text, 1)) == list(cut_pieces(text, 1)) != list(cut_pieces(text, 2))


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (5, 5.0, True),
        (5, "5", False),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        (None, "null", False),
        ("", None, False),
        ([1, {"a": [True]}], [1.0, {"a": [True]}], True),
        ([1, {"a": [True]}], [1, {"a": [1]}], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_values_are_compared_with_their_types(one: Any, two: Any, same: bool) -> None:
    assert is_same(one, two) is is_same(two, one) is same


def make_call(name: str, arguments: str, given: str = "call_1") -> dict[str, Any]:
    return {"id": given, "type": "function", "function": {"name": name, "arguments": arguments}}


EXPECTED = {"reasoning_content": "R", "content": None, "tool_calls": [{"id": "i1", "name": "f", "arguments": {"a": 1}}]}


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ({"reasoning_content": " R\n", "content": "\n", "tool_calls": [make_call("f", '{"a":1}', "i1")]}, None),
        ({"reasoning_content": "r", "content": None, "tool_calls": [make_call("f", '{"a":1}', "i1")]}, "reasoning_content"),
        ({"reasoning_content": "R", "content": "x", "tool_calls": [make_call("f", '{"a":1}', "i1")]}, "content"),
        ({"reasoning_content": "R", "content": None, "tool_calls": []}, "number of calls"),
        ({"reasoning_content": "R", "content": None}, "number of calls"),
        ({"reasoning_content": "R", "tool_calls": [make_call("g", '{"a":1}', "i1")]}, "name"),
        ({"reasoning_content": "R", "tool_calls": [make_call("f", '{"a":1', "i1")]}, "arguments are no JSON"),
        ({"reasoning_content": "R", "tool_calls": [make_call("f", '{"a":"1"}', "i1")]}, "arguments"),
        ({"reasoning_content": "R", "tool_calls": [make_call("f", '{"a":1}', "i2")]}, "id"),
    ],
)
def test_each_fault_is_named(message: dict[str, Any], fault: str | None) -> None:
    assert find_fault(EXPECTED, message) == fault


def piece(index: int, **function: str) -> dict[str, Any]:
    start = {"id": f"c{index}", "type": "function"} if "name" in function else {}
    return {"tool_calls": [{"index": index, **start, "function": function}]}


def test_streamed_deltas_are_put_together() -> None:
    deltas = [
        {"reasoning_content": "a"},
        {"reasoning_content": "b"},
        {"content": "c"},
        piece(0, name="f", arguments=""),
        piece(0, arguments='{"a"'),
        piece(0, arguments=": 1}"),
        piece(1, name="g", arguments="{}"),
    ]
    assert fold(deltas) == {
        "reasoning_content": "ab",
        "content": "c",
        "tool_calls": [make_call("f", '{"a": 1}', "c0"), make_call("g", "{}", "c1")],
    }


@pytest.mark.parametrize(
    "deltas",
    [
        [piece(0, arguments="{}")],
        [piece(1, name="f")],
        [piece(0, name="f"), piece(0, name="f")],
        [piece(0, name="f"), piece(2, arguments="{}")],
        [{"text": "x"}],
    ],
)
def test_deltas_that_no_client_could_take_are_refused(deltas: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match=r"call|delta"):
        fold(deltas)


# Counting


def make_row(fault: str | None = None, **changes: Any) -> dict[str, Any]:
    row = {"turn": "call", "calls": 1, "ended": False, "unreadable": None, "faults": {"whole": fault} if fault else {}}
    return {**row, **changes}


def make_report(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    report: dict[str, Any] = {
        "template": "t",
        "turns": list(rows),
        "left_out": None,
        "silent": None,
        "seconds": 0.1,
        "proven": True,
    }
    return {**report, "words": {}, "kept": [], **changes}


def test_the_totals_count_readable_turns_and_templates_without_a_miss() -> None:
    totals = coverage.summarise(
        [
            make_report(make_row(), make_row(unreadable="why", fault="content")),
            make_report(make_row("arguments"), make_row(), make_row(calls=0), make_row(ended=True)),
            make_report(make_row(calls=0)),
            make_report(silent="a guard"),
            make_report(left_out="no word"),
        ]
    )
    assert (totals["templates"], totals["without turns"], totals["not renamed"]) == (5, {"a guard": 1}, 1)
    assert totals["measured"] == {"count": 3, "right": 2, "percent": 66.67}
    assert totals["with calls"] == {"count": 2, "right": 1, "percent": 50.0}
    assert totals["turns"] == {"count": 6, "right": 5, "percent": 83.33}
    assert totals["turns with calls"] == {"count": 4, "right": 3, "percent": 75.0}
    assert totals["turns with the end left on"] == {"count": 1, "right": 1, "percent": 100.0}
    assert totals["unreadable"] == {"why": 1}
    assert (totals["proven"], totals["false proofs"]) == (3, ["t"])


def test_the_totals_tell_what_nothing_could_prove_from_what_the_proof_doubts() -> None:
    rows = [{"proven": False, "doubted": False}, {"proven": False, "doubted": True}, {"proven": True, "doubted": False}]
    totals = coverage.summarise([make_report(make_row()) | row for row in rows])
    assert totals["right, not proven as no render shows a part"] == 1
    assert totals["right, but the proof found a counterexample"] == ["t"]


# Renaming


@pytest.mark.parametrize(("mode", "opener"), [("words", "<"), ("brackets", "⟦"), ("bare", "§")])
def test_markers_are_renamed_and_the_turns_stay_the_same(json_turns: list[Turn], mode: str, opener: str) -> None:
    study = study_template("json", JSON_CALLS)
    assert study is not None
    renamed = rename(study, JSON_CALLS, list_turns(study), mode)
    assert renamed.failure is None
    assert {"tool_call", "think", "im_start", "im_end", "name", "arguments"} <= set(renamed.words)
    assert "assistant" in renamed.kept, "it comes from the messages, too"
    assert [turn.expected for turn in renamed.turns] == [turn.expected for turn in json_turns]
    words = renamed.words
    call = pick(renamed.turns, "call")
    assert call.text.startswith(f"{opener}{words['tool_call']}")
    assert f'{{"{words["name"]}": "find_okapi", "{words["arguments"]}": {{"habitat": "pen twelve", "limit": 3}}}}' in call.text
    assert not any(old in call.text for old in ("tool_call", '"name"', '"arguments"'))
    assert "m.reasoning_content" in renamed.source
    if mode != "words":
        assert "<" not in call.text


def test_a_renamed_marker_is_renamed_wherever_it_is_looked_for() -> None:
    source = JSON_CALLS.replace("{{- m.content }}", "{{- m.content.split('</think>')[-1] }}")
    study = study_template("split", source)
    assert study is not None
    renamed = rename(study, source, list_turns(study), "words")
    assert renamed.failure is None
    assert f"split('</{renamed.words['think']}>')" in renamed.source


def test_what_is_compared_with_the_input_is_not_renamed() -> None:
    rewritten = Renaming("seed", {"tool", "x"}, "words").rewrite_source(
        "{% if m.role == 'tool' and 'tool' in m %}{{ '<tool>' }}x{{ m['tool'] }}{{ m.get('tool') }}{% endif %}{{ '\\x41\\n' }}"
    )
    assert rewritten.count("'tool'") == 4
    assert "<tool>" not in rewritten
    assert "}x{" not in rewritten
    assert "'\\x41\\n'" in rewritten


def test_white_space_around_blocks_survives_the_rewriting() -> None:
    source = "{{ key }}:{\n   {%- if a %}\n  b\n  {% endif -%}\n  }\n\n"
    assert Renaming("seed", set(), "words").rewrite_source(source) == source


def test_a_template_without_markers_cannot_be_renamed() -> None:
    source = "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
    source += "{% if add_generation_prompt %}assistant: {% endif %}"
    study = study_template("bare", source)
    assert study is not None
    renamed = rename(study, source, list_turns(study), "words")
    assert renamed.failure is not None


# The peers' expectations


def make_case(**changes: Any) -> dict[str, Any]:
    expect = {"content": "", "reasoning_content": "", "tool_calls": []}
    case: dict[str, Any] = {"peer": "llamacpp", "template": "", "input": "", "tools": [], "generation_prompt": ""}
    case |= {"reasoning_format": "auto", "continue_final_message": "none", "is_partial": False, "json_schema": None}
    case |= {
        "messages": [{"role": "user", "content": "Hey"}],
        "format_note": "",
        "note": "",
        "family": "",
        "expect_basis": "",
    }
    return {**case, **changes, "expect": {**expect, **changes.get("expect", {})}}


def test_a_prefill_is_put_before_what_was_read() -> None:
    case = make_case(
        continue_final_message="content",
        messages=[{"role": "assistant", "content": "Hello, ", "reasoning_content": "I'm thinking"}],
        expect={"content": "Hello, world!", "reasoning_content": "I'm thinking"},
    )
    assert peers.find_fault(case, {"content": "world!"}) is None
    assert peers.find_fault(case, {"content": "Hello, world!"}) == "content"
    assert peers.find_fault(case, {"reasoning_content": "world!"}) == "reasoning_content"


def test_reasoning_kept_in_the_content_is_compared_joined() -> None:
    case = make_case(reasoning_format="none", expect={"content": "[T]I'm\nthinking[/T]Hello"})
    assert peers.find_fault(case, {"content": "[T]I'm\nthinking[/T]Hello"}) is None
    assert peers.find_fault(case, {"reasoning_content": "I'm\nthinking", "content": "Hello"}) is None
    assert peers.find_fault(case, {"reasoning_content": "I'm", "content": "Hello"}) is not None
    assert peers.find_fault(case, {"reasoning_content": "other", "content": "Hello"}) is not None


def test_of_an_unfinished_call_the_beginnings_are_compared() -> None:
    case = make_case(is_partial=True, expect={"tool_calls": [{"name": "f", "arguments": '{"a": ', "id": ""}]})
    assert peers.find_fault(case, {"tool_calls": [make_call("f", "{")]}) is None
    assert peers.find_fault(case, {"tool_calls": [make_call("f", '{"b')]}) == "arguments"
    assert peers.find_fault(case, {}) == "number of calls"


def test_what_a_peer_leaves_open_is_not_looked_at() -> None:
    case = make_case(expect={"content": None, "reasoning_content": None, "tool_calls": None})
    assert peers.find_fault(case, {"content": "x", "reasoning_content": "y", "tool_calls": [make_call("f", "")]}) is None


@pytest.mark.parametrize(
    ("case", "convention"),
    [
        (
            make_case(reasoning_format="none", generation_prompt="<a>\n<t>\n", input="x</t>y", expect={"content": "<t>\nx</t>y"}),
            "tag",
        ),
        (make_case(reasoning_format="none", generation_prompt="<a>\n<t>\n", input="y", expect={"content": "y"}), None),
        (
            make_case(generation_prompt="<a>\nSteps:\n", input="x", expect={"reasoning_content": "Steps:\nx"}),
            "words that stand",
        ),
        (make_case(json_schema={}, input="```json\n1\n```", expect={"content": "1"}), None),
        (make_case(json_schema={"const": 1}, input="```json\n1\n```", expect={"content": "1"}), "fence"),
        (make_case(input="<m>hi<to=x>print(1)", expect={"content": "hi"}), "dropped"),
        (make_case(input="<m>hi<m>print(1)", expect={"content": "hiprint(1)"}), None),
    ],
)
def test_conventions_are_told_by_the_case(case: dict[str, Any], convention: str | None) -> None:
    found = next((name for name, rule in peers.LEFT_OUT["llamacpp"][:4] if rule(case)), None)
    assert (found is None) if convention is None else (found is not None and convention in found)
