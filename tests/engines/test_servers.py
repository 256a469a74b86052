"""What official clients get from a server with our parsers, for templates of every shape.

The server's API, renderer, detokenizer and parser calls are the engine's own; what is generated is scripted. Expected
messages come from the fields that a template has rendered. The same tests serve every engine.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("openai", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")
pytest.importorskip("anthropic", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")

import openai
from cases import FEW, TEMPLATES, Case, count_calls, list_needles
from conversations import JsonObject
from engines import MODEL
from judge import find_fault
from served import Served, both, serve_subject, ways
from splitting import find_common_start

from chat_autoparser.show.command import main

if TYPE_CHECKING:
    from engines import Engine


def make_param(shape: str, markers: str) -> Any:
    """A parameter of the fixture `served`; marked `more` where a quick run can do without it."""
    few = shape in FEW and markers == "special"
    return pytest.param((shape, markers), id=f"{shape}, {markers}", marks=() if few else pytest.mark.more)


SPECIAL = [make_param(shape, "special") for shape in TEMPLATES]
# What markers are made of, vLLM's plugin tests try with every shape, without a server; each of these costs one.
SPELLED = [make_param(shape, "plain") for shape in FEW] + [make_param(shape, "added") for shape in FEW[:2]]

templates = pytest.mark.parametrize("served", SPECIAL, indirect=True)


def find_faults(served: Served, cases: list[Case], endpoint: str, stream: bool) -> list[str]:
    if endpoint not in served.engine.endpoints:
        pytest.skip(f"this version of {served.engine.name} cannot be told there what to generate")
    faults = {case.name: served.find_fault(case, endpoint, stream=stream) for case in cases}
    return [f"{name}: {fault}" for name, fault in faults.items() if fault]


def find_case(served: Served, *names: str) -> Case:
    case = served.subject.find(*names)
    return case or pytest.skip(f"the template prints none of: {', '.join(names)}")


def take_meaning(message: JsonObject) -> list[Any]:
    """What streaming and not must agree in: all but made up ids, and the spaces of JSON, which an endpoint may rewrite."""
    calls = [(call["function"]["name"], read_json(call["function"]["arguments"])) for call in message["tool_calls"]]
    return [message["reasoning_content"] or None, message["content"] or None, calls]


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def show(message: JsonObject) -> str:
    """All text of a message, as it is read and not as JSON escapes it."""
    functions = [call["function"] for call in message["tool_calls"]]
    texts = [message["reasoning_content"] or "", message["content"] or ""]
    texts += [f"{function['name']} {show_json(function['arguments'])}" for function in functions]
    return "\n".join(map(str, texts))


def show_json(text: str) -> str:
    found = read_json(text)
    return text if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


# What the template renders


@templates
@ways
def test_rendered_fields_come_back(served: Served, endpoint: str, stream: bool) -> None:
    assert find_faults(served, served.list_cases(endpoint), endpoint, stream) == []


@templates
@pytest.mark.parametrize("burst", [3, 10_000])
def test_steps_of_many_tokens(served: Served, burst: int) -> None:
    cases = [replace(case, burst=burst) for case in served.list_cases("chat")]
    assert find_faults(served, cases, "chat", True) == []


@templates
@pytest.mark.parametrize("endpoint", ["responses", "messages"])
def test_whole_outputs_in_one_step(served: Served, endpoint: str) -> None:
    cases = [replace(case, burst=10_000) for case in served.list_cases(endpoint)]
    assert find_faults(served, cases, endpoint, True) == []


@pytest.mark.parametrize("served", SPELLED, indirect=True)
def test_markers_that_are_no_special_tokens(served: Served) -> None:
    assert find_faults(served, served.list_cases("chat"), "chat", True) == []


@templates
def test_arguments_stream(served: Served) -> None:
    """A long argument arrives in many pieces, not when it has ended."""
    case = find_case(served, "call lines", "call")
    given = case.expected["tool_calls"][0]["id"]
    if given and case.text.index(given) > case.text.index("first line"):
        pytest.skip("the call's id stands behind its arguments, and has to be sent first")
    kinds = served.ask(case, stream=True).kinds
    assert kinds.count("tool_calls") >= 3, kinds


# What a request says beside messages and tools


@templates
@both
def test_without_tools_nothing_is_lost(served: Served, stream: bool) -> None:
    case = find_case(served, "reasoning, content, call", "content, call", "call")
    for given in (replace(case, tools=None), replace(case, options={"tool_choice": "none"})):
        reply = served.ask(given, stream=stream)
        assert not reply.message["tool_calls"]
        assert (reply.message["reasoning_content"] or "").strip() == (case.expected["reasoning_content"] or "").strip()
        text = show(reply.message)
        assert [word for word in list_needles(case.expected) if word not in text] == []
        assert reply.finish == "stop"


@templates
@both
def test_every_choice_is_parsed(served: Served, stream: bool) -> None:
    case = replace(find_case(served, "reasoning, call", "call", "content"), options={"n": 2})
    one, two = served.ask_choices(case, stream=stream)
    assert take_meaning(one.message) == take_meaning(two.message)
    assert served.find_fault(case, stream=stream) is None


@templates
@both
def test_reasoning_can_be_left_out(served: Served, stream: bool) -> None:
    if not served.engine.silencer:
        pytest.skip(f"{served.engine.name} has no such field")
    case = find_case(served, "reasoning, content, call", "reasoning, content")
    silent = replace(case, options=served.engine.silencer, expected={**case.expected, "reasoning_content": None})
    assert served.find_fault(silent, stream=stream) is None


@templates
@both
def test_only_one_call_is_wanted(served: Served, stream: bool) -> None:
    case = find_case(served, "two calls")
    first = {**case.expected, "tool_calls": case.expected["tool_calls"][:1]}
    both_calls = replace(case, options={"parallel_tool_calls": False}, expected=first, bound=False)
    assert served.find_fault(both_calls, stream=stream) is None


@templates
@both
def test_a_call_is_required(served: Served, stream: bool) -> None:
    case = find_case(served, "reasoning, call", "call")
    assert served.find_fault(replace(case, options={"tool_choice": "required"}), stream=stream) is None


@templates
@both
def test_a_call_is_named(served: Served, stream: bool) -> None:
    case = find_case(served, "reasoning, call", "call")
    named = {"type": "function", "function": {"name": case.expected["tool_calls"][0]["name"]}}
    reply = served.ask(replace(case, options={"tool_choice": named}), stream=stream)
    assert find_fault(case.expected, reply.message) is None
    assert reply.finish in ("stop", "tool_calls")  # engines differ


@templates
@both
def test_tools_are_strict(served: Served, stream: bool) -> None:
    case = find_case(served, "reasoning, call", "call")
    assert case.tools is not None
    tools = [{**tool, "function": {**tool["function"], "strict": True}} for tool in case.tools]
    assert served.find_fault(replace(case, tools=tools), stream=stream) is None


@templates
@both
def test_reasoning_tokens_are_counted(served: Served, stream: bool) -> None:
    case = find_case(served, "reasoning, content hard", "reasoning, content, two calls")
    tokens = served.ask(case, stream=stream).reasoning_tokens
    expected = served.count_tokens(case.expected["reasoning_content"])
    assert tokens is not None
    assert expected <= tokens <= expected + 10  # markers and their layout


@templates
@both
def test_a_begun_answer_is_continued(served: Served, stream: bool) -> None:
    case = find_case(served, "content")
    begun, rest = "It has forty-two", " stripes, all of them brown."
    messages = [*case.messages, {"role": "assistant", "content": begun}]
    options = {"add_generation_prompt": False, "continue_final_message": True}
    message: JsonObject = {"reasoning_content": None, "content": rest, "tool_calls": []}
    continued = replace(case, messages=messages, text=rest, expected=message, options=options)
    assert served.find_fault(continued, stream=stream) is None


@pytest.mark.parametrize("served", [make_param("headers of messages", "special")], indirect=True)
def test_an_effort_reaches_the_template(served: Served) -> None:
    """The template writes the word into the prompt; the three are of different lengths."""
    case = find_case(served, "content")
    client = openai.OpenAI(base_url=f"{served.server.url}/v1", api_key="none", max_retries=0)
    lengths = {}
    for effort in ("low", "medium", "high"):
        extra = served.engine.script(case.text)
        answer: Any = client.chat.completions.create(model=MODEL, messages=case.messages, reasoning_effort=effort, extra_body=extra)
        assert answer.usage is not None
        lengths[effort] = answer.usage.prompt_tokens
        assert answer.choices[0].message.content == case.expected["content"]
    tokens = {effort: served.count_tokens(f"Reasoning: {effort}\n") for effort in lengths}
    assert [lengths[effort] - lengths["low"] for effort in lengths] == [tokens[effort] - tokens["low"] for effort in tokens]


def test_a_stored_certificate_is_taken_instead_of_an_analysis(engine: Engine, tmp_path: Path) -> None:
    """What is read is what it says, and the log says that it was taken."""
    with serve_subject(engine, "tagged arguments", "special", tmp_path, prepare=certify) as served:
        case = find_case(served, "content, call", "call")
        assert served.find_fault(case, stream=True) is None
        log = served.server.log.read_text("utf-8", "replace")
        assert "certified in chat_autoparser.json" in log
        assert "chat_autoparser.json is not used" not in log


def certify(model: Path) -> None:
    assert main(["certify", str(model)]) == 0


# What models write that no template renders


@templates
def test_output_that_is_cut_off(served: Served) -> None:
    """Wherever it is cut, streaming and not say the same, and what they say is the beginning of the whole."""
    case = find_case(served, "reasoning, content, call", "content, call", "call", "reasoning, content", "content")
    whole = served.ask(case).message
    for count in (1, 2, 3, 5, *range(8, served.count_tokens(case.text), 7)):
        cut = replace(case, max_tokens=count)
        reply, streamed = served.ask(cut), served.ask(cut, stream=True)
        assert take_meaning(reply.message) == take_meaning(streamed.message), count
        # vLLM says "tool_calls" whenever there is a call: 0.25 always, 0.32 where it does not stream.
        ends = {"length", "tool_calls"} if reply.message["tool_calls"] else {"length"}
        assert {reply.finish, streamed.finish} <= ends
        text = served.cut(case.text, count).rstrip()
        for key in ("reasoning_content", "content"):
            read, full = (reply.message[key] or "").rstrip(), whole[key] or ""
            more = read[find_common_start(read, full) :]
            assert text.endswith(more.rstrip()), (count, reply.message)  # an opener of what did not come is text
        for call, full in zip(reply.message["tool_calls"], whole["tool_calls"], strict=False):
            assert call["function"]["name"] == full["function"]["name"]
            read, wanted = call["function"]["arguments"], full["function"]["arguments"]
            assert text.endswith(read[find_common_start(read, wanted) :].rstrip()), (count, call)


@templates
@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_text_after_a_call(served: Served, endpoint: str) -> None:
    case = find_case(served, "content, call", "call")
    odd = replace(case, text=f"{case.text}\nThat was ZEBRAONE, and then ZEBRATWO.")
    check_off_script(served, odd, endpoint, ["ZEBRAONE", "ZEBRATWO"], calls=count_calls(case))


@templates
@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_an_unknown_function(served: Served, endpoint: str) -> None:
    case = find_case(served, "content, call", "call")
    name = case.expected["tool_calls"][0]["name"]
    odd = replace(case, text=case.text.replace(name, "ride_zebra"))
    check_off_script(served, odd, endpoint, ["ride_zebra"])


@templates
def test_a_call_in_reasoning_that_is_not_closed(served: Served) -> None:
    """Where the call is known by its opener, it is a call all the same; nothing is lost in any case."""
    case, plain = find_case(served, "reasoning, call"), find_case(served, "call")
    reasoning = case.expected["reasoning_content"]
    start = case.text.index(reasoning) + len(reasoning)
    bare = plain.text.lstrip()
    if bare not in case.text:
        pytest.skip("calls are written differently after reasoning")
    odd = replace(case, text=f"{case.text[:start]}\n{bare}")
    check_off_script(served, odd, "chat", [reasoning])


@templates
def test_prose_with_a_marker(served: Served) -> None:
    case, plain = find_case(served, "call"), find_case(served, "content")
    start = find_common_start(case.text, plain.text)
    opener = case.text[start : case.text.index(case.expected["tool_calls"][0]["name"])].strip()
    odd = replace(plain, text=plain.text.replace("forty", f"ZEBRAONE {opener} ZEBRATWO forty"))
    check_off_script(served, odd, "chat", ["ZEBRAONE", "ZEBRATWO"], calls=0)


def check_off_script(served: Served, case: Case, endpoint: str, words: list[str], calls: int | None = None) -> None:
    """Streaming and not say the same, and each word is there once."""
    if endpoint not in served.engine.endpoints:
        pytest.skip(f"this version of {served.engine.name} cannot be told there what to generate")
    reply = served.ask(case, endpoint)
    for burst in (1, 4, 10_000):
        streamed = served.ask(replace(case, burst=burst), endpoint, stream=True)
        assert take_meaning(streamed.message) == take_meaning(reply.message), burst
        assert streamed.finish == reply.finish
    text = show(reply.message)
    assert [word for word in words if text.count(word) != 1] == [], reply.message
    assert calls is None or len(reply.message["tool_calls"]) == calls, reply.message
