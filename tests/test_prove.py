"""The proof: it holds where a graph is whole, and finds what is wrong where it is not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from corpus import read_template
from test_derive import JSON_CALLS, REASONING, write

from chat_autoparser.analysis import analyze
from chat_autoparser.ask.budget import Budget
from chat_autoparser.ask.oracle import Oracle
from chat_autoparser.ask.question import Question
from chat_autoparser.ask.renderer import load_renderer
from chat_autoparser.ask.words import holds_word
from chat_autoparser.derive.driver import Derivation, derive
from chat_autoparser.format import Graph, TurnGraph, Verdict
from chat_autoparser.message import fold_deltas
from chat_autoparser.parse import StreamParser
from chat_autoparser.prove.cases import draw_cases
from chat_autoparser.prove.message import list_cuts
from chat_autoparser.prove.proof import Read, prove
from chat_autoparser.prove.search import search

Tools = Sequence[Mapping[str, Any]]


def analyse(source: str) -> tuple[Derivation, Oracle]:
    oracle = Oracle(load_renderer(source).within(Budget(seconds=60, renders=1_000_000)))  # a search draws as many as it can
    return derive(oracle), oracle


def make_reads(graph: TurnGraph) -> dict[str, Read]:
    """Reading the whole and by character; what only a recovery could read counts as misread."""

    def read(pieces: Sequence[str], tools: Tools | None, prompt: str) -> Mapping[str, Any]:
        parser = StreamParser(graph, tools, prompt)
        message = fold_deltas([*(delta for piece in pieces for delta in parser.feed(piece)), *parser.finish()])
        return message if not parser.recoveries else {}

    return {
        "whole": lambda text, tools, prompt: read([text], tools, prompt),
        "by character": lambda text, tools, prompt: read(text, tools, prompt),
    }


def check(source: str) -> Verdict:
    derivation, oracle = analyse(source)
    return prove(derivation, oracle, make_reads(derivation.graph))


def test_proven() -> None:
    verdict = check(write(REASONING, JSON_CALLS))
    assert verdict.counterexample is None
    assert dict(verdict.parts) == {"reasoning": "proven", "content": "proven", "tools": "proven"}
    assert verdict.checked == verdict.passed > 100


def test_absent() -> None:
    assert dict(check(write()).parts) == {"reasoning": "absent", "content": "proven", "tools": "absent"}


@pytest.mark.parametrize("source", ["reasoning", "arguments"])
def test_what_is_wrong_in_the_graph_is_found(source: str) -> None:
    derivation, oracle = analyse(write(REASONING, JSON_CALLS))
    turn = derivation.graph.turn
    edges = tuple(replace(edge, parts=("~" + edge.text,)) if edge.source.startswith(source) else edge for edge in turn.edges)
    graph = replace(derivation.graph, turn=Graph(turn.nodes, edges))
    verdict = prove(replace(derivation, graph=graph), oracle, make_reads(graph))
    assert not verdict.proven
    assert verdict.counterexample is not None


def test_what_is_printed_and_not_read_is_no_absence() -> None:
    derivation, oracle = analyse(write(REASONING))
    read = make_reads(derivation.graph)["whole"]

    def forget(text: str, tools: Tools | None, prompt: str) -> Mapping[str, Any]:
        return {**read(text, tools, prompt), "reasoning_content": None}

    verdict = prove(derivation, oracle, {"whole": forget})
    assert verdict.of("reasoning") == "not established"
    assert verdict.counterexample is not None
    assert json.loads(verdict.counterexample.expected)["reasoning_content"]


def test_structure_taken_for_content_is_not_excused() -> None:
    """A whole turn that is read as content renders to the same text, always."""
    derivation, oracle = analyse(write("", JSON_CALLS))
    verdict = prove(derivation, oracle, {"whole": lambda text, tools, prompt: {"content": text.removesuffix("<|end|>")}})
    assert verdict.of("tools") != "proven"


def test_texts_in_pieces_are_proven_too() -> None:
    derivation, oracle = analyse(write("", JSON_CALLS))
    reads = make_reads(derivation.graph)
    reads["by character"] = lambda text, tools, prompt: {"content": "something else"}
    verdict = prove(derivation, oracle, reads)
    assert not verdict.proven
    assert verdict.counterexample is not None
    assert "by character" in verdict.counterexample.aspect


def test_a_last_answer_that_is_to_be_gone_on_with_does_not_close_reasoning() -> None:
    """A template may put the last answer behind what its prompt opens: a model that begins there thinks all the same."""
    form = analyze(
        "{%- for m in messages -%}"
        "{%- if m.role == 'assistant' -%}[me]{{ '[plan]' if loop.last and not m.tool_calls }}"
        "{{ (m.content or '').split('[/plan]')[-1] }}"
        "{%- for c in m.tool_calls or [] -%}[do {{ c.function.name }}]{{ c.function.arguments | tojson }}[done]{%- endfor -%}"
        "{%- else -%}[{{ m.role }}]{{ m.content }}{%- endif -%}[end]{%- endfor -%}"
        "{%- if add_generation_prompt -%}[me]{{ '[plan]' if plan is not defined or plan else '[plan][/plan]' }}{%- endif -%}"
    )
    assert form.parse("Look first.[/plan]Done.", prompt="[me][plan]") == {
        "role": "assistant", "content": "Done.", "reasoning_content": "Look first.",
    }  # fmt: skip
    assert form.parse("Done.", prompt="[me][plan][/plan]")["content"] == "Done."
    assert dict(form.verdict.parts)["reasoning"] == "not established"
    assert dict(form.verdict.parts)["content"] == "proven"


def test_hidden_reasoning_is_never_called_proven() -> None:
    verdict = check(write("", "", "[think]"))
    assert verdict.of("reasoning") == "not established"
    assert not verdict.proven
    assert any("reasoning" in note for note in verdict.notes)


CUT = "m.content.split('[/mull]')[-1]"


@pytest.mark.parametrize(
    "content",
    [
        "{{ CUT }}",
        "{{ CUT if not loop.last and messages[loop.index0 + 1:] | selectattr('role', 'equalto', 'assistant') | list else m.content }}",
        "{{ '[mull][/mull]' + m.content.split('[/mull]', 1)[1] if mulling else m.content }}",
        "{{ m.content.split('[mull]')[0] + CUT if '[/mull]' in m.content else m.content }}",
        "{{ '' if mulling is undefined or mulling else '[mull][/mull]' }}{{ m.content }}",
    ],
    ids=["in all turns", "in earlier turns", "under a switch that wants it", "between two marks", "nothing but an empty block"],
)
def test_reasoning_that_no_turn_prints_is_read_and_not_proven(content: str) -> None:
    opened = "{%- if mulling is defined and not mulling -%}[mull][/mull]{%- endif -%}" if content.endswith("{{ m.content }}") else ""
    source = write("", JSON_CALLS, opened).replace("{{ m.content or '' }}", content.replace("CUT", CUT))
    derivation, oracle = analyse(source)
    reads = make_reads(derivation.graph)
    verdict = prove(derivation, oracle, reads)
    assert dict(verdict.parts) == {"reasoning": "not established", "content": "proven", "tools": "proven"}
    message = reads["whole"]("[mull]Hm.[/mull]Hello.", None, "<|assistant|>")
    assert (message["reasoning_content"], message["content"]) == ("Hm.", "Hello.")


def test_an_end_that_the_history_prints_alone_is_not_doubled() -> None:
    source = write("", JSON_CALLS, "{{ '[mull]' if mulling else '[/mull]' }}").replace("{{ m.content or '' }}", "[/mull]{{ CUT }}")
    derivation, _ = analyse(source.replace("CUT", CUT))
    leaving = [edge.text for edge in derivation.graph.turn.edges if edge.source.startswith("reasoning")]
    assert leaving
    assert {text.count("[/mull]") for text in leaving} == {1}


def test_a_header_opens_no_reasoning() -> None:
    """Not even where some turns of the history are printed without any."""
    renderer = load_renderer(read_template("tiiuae-Falcon3-7B-Instruct"), bos_token="<s>", eos_token="</s>")
    assert analyze(renderer).verdict.of("reasoning") == "absent"


def test_reasoning_in_blocks_is_what_the_template_writes_for_them() -> None:
    format = analyze(load_renderer(read_template("swiss-ai-Apertus-8B-Instruct-2509"), bos_token="<s>", eos_token="</s>"))
    assert format.verdict.of("reasoning") == "proven"
    message = format.parse("<|inner_prefix|>So it is.<|inner_suffix|>Four.<|assistant_end|>")
    assert (message["reasoning_content"], message["content"]) == ("So it is.", "Four.")


def test_a_text_that_stands_in_another_field_is_not_shown_as_reasoning() -> None:
    """Cases share no word between their fields, so what is found is the field itself."""
    derivation, _ = analyse(write("", JSON_CALLS))
    for case in draw_cases("proof", derivation.shape, derivation.calling, derivation.settings):
        texts = [text for text in (case.question.reasoning, case.question.content) if text]
        others = [*texts, *(call.arguments for call in case.question.calls)]
        assert not any(text.strip(".") in other for text in texts for other in others if other != text)
        assert len(set(texts)) == len(texts)


def test_why_no_call_is_known_is_told() -> None:
    calls = "{%- if m.tool_calls -%}{%- set _ = messages.append(1) -%}{%- endif -%}"
    verdict = check("{{- tools | tojson -}}" + write("", calls))
    assert verdict.of("tools") == "not established"
    assert any("refuses all turns with calls" in note and "'append'" in note for note in verdict.notes)
    verdict = check("{{- tools | tojson -}}" + write())
    assert "tools are shown to the model, and no call is ever printed" in verdict.notes


def test_cases_share_no_word_with_questions() -> None:
    derivation, _ = analyse(write(REASONING, JSON_CALLS))
    cases = list(draw_cases("any", derivation.shape, derivation.calling, derivation.settings))
    assert not any(holds_word(repr(case.question)) for case in cases)
    assert cases == list(draw_cases("any", derivation.shape, derivation.calling, derivation.settings))
    assert cases != list(draw_cases("other", derivation.shape, derivation.calling, derivation.settings))


def test_a_search_finds_what_the_cases_do_not_have_and_makes_it_small() -> None:
    """A reader that loses one sign, which no case of the proof is about, is found out by the shortest text with it."""
    derivation, oracle = analyse(write(REASONING, JSON_CALLS))
    read = make_reads(derivation.graph)["whole"]

    def lose(text: str, tools: Tools | None, prompt: str) -> Mapping[str, Any]:
        message = read(text, tools, prompt)
        return {**message, "content": (message.get("content") or "").replace("$", "") or None}

    _, found = search(oracle.renderer, derivation, {"whole": lose}, seconds=30)
    assert found is not None
    assert json.loads(found.expected)["content"] == "$"
    assert search(oracle.renderer, derivation, {"whole": read}, seconds=0.5)[1] is None


def test_what_only_a_recovery_reads_is_misread() -> None:
    derivation, oracle = analyse(write("", JSON_CALLS))
    read = make_reads(derivation.graph)["whole"]
    verdict = prove(derivation, oracle, {"whole": lambda *given: {**read(*given), "recoveries": ["any"]}})
    assert not verdict.proven
    assert verdict.counterexample is not None
    assert "recoveries" in json.loads(verdict.counterexample.got)


CALLS_FIRST = """\
{%- for m in messages -%}
{%- if m.role != "assistant" %}{{ "start said: " ~ m.content ~ " end said; " }}
{%- else %}
{%- for c in m.tool_calls or [] %}{{ "start call=" ~ c.function.name ~ ": " ~ c.function.arguments | tojson ~ " end call; " }}{% endfor %}
{%- if m.content %}{{ "start answer: " ~ m.content ~ " end answer; " }}{% endif %}{{ "start over:" }}{% endif %}
{%- endfor %}
"""


@pytest.mark.parametrize("end", [" end answer; start over:", " end answer; ", " end answer;"])
def test_a_turn_may_end_with_words_of_which_a_server_cuts_off_the_last(end: str) -> None:
    message = analyze(CALLS_FIRST).parse(f"start answer: The ferry is late.{end}", [], prompt="")
    assert message["content"] == "The ferry is late."


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("start answer: It is late. end answer; start over:", "start answer: It is late. end answer;"),
        ("<answer>|It is late.</answer>|start over: |\n", "<answer>|It is late.</answer>|"),
        ("<answer>It is late.</answer>[over]", "<answer>It is late.</answer>"),
    ],
)
def test_the_proof_ends_turns_before_their_last_mark(text: str, cut: str) -> None:
    cuts = list_cuts(text, analyse(CALLS_FIRST)[0].graph, Question(content="It is late."))
    assert cut in [text.rstrip() for text in cuts]


@pytest.mark.parametrize("end", [">>> over <<<", "(:over:)"])
def test_the_proof_cuts_no_mark(end: str) -> None:
    cuts = list_cuts(f"It is late.{end}", analyse(CALLS_FIRST)[0].graph, Question(content="It is late."))
    assert set(cuts) <= {f"It is late.{end}", "It is late.", f"It is late.{end.removesuffix('<<<')}"}


@pytest.mark.parametrize("mark", ["[NOW THE ANSWER]", "⟦ANSWER⟧", "=== ANSWER ===", "<answer-now>", "@@answer@@"])
def test_reasoning_of_which_prompt_and_instructions_speak_is_read(mark: str) -> None:
    template = (
        f"You think first, and give the answer after the mark {mark}.\n"
        "{% for m in messages %}<<{{ m.role }}>>{{ m.content }}<<over>>"
        "{% endfor %}{% if add_generation_prompt %}<<assistant>>Here is my reasoning:\n{% endif %}"
    )
    format = analyze(template)
    parser = format.parser(prompt="<<assistant>>Here is my reasoning:\n")
    deltas = [*parser.feed(f"Two legs.\n{mark}\nThree.<<over>>"), *parser.finish()]
    texts = {kind: "".join(delta.text for delta in deltas if delta.kind == kind).strip() for kind in ("reasoning", "content")}
    assert texts == {"reasoning": "Two legs.", "content": "Three."}
    assert dict(format.verdict.parts)["reasoning"] == "not established"
