"""Turns made from templates written here, read by a stub parser that is right, or wrong in a known way; and renamed templates."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
import rivals
from conversations import QUESTION, Call, Fields
from judge import Delta, cut_pieces, find_fault, fold, read_ways
from rename import Renaming, rename
from splitting import find_common_end, find_common_start
from study import BEGUN_ALIKE, PARTIAL_CALL, UNEXPLAINED, study_template
from turns import REWRITTEN_CONTENT, Turn, build_turns, list_turns

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


# Reading


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
