"""What a client of SGLang gets in requests and from outputs that are out of the ordinary, through the real API server."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sglang", reason="this is not SGLang's environment: see scripts/setup_sglang.sh")

import openai
from cases import Case
from clients import ENDPOINTS, Reply
from served import ENDPOINT_NAMES, Served, both, serve_subject
from streams import make_tool

if TYPE_CHECKING:
    from engines import Engine

JSON_IN_TAGS = "JSON in tags"
OPENED = "reasoning opened by the prompt"
MORE = (OPENED, "tagged arguments", "headers of messages")
SHAPES = [JSON_IN_TAGS, *(pytest.param(shape, marks=pytest.mark.more) for shape in MORE)]

endpoints = pytest.mark.parametrize("endpoint", ENDPOINT_NAMES)


@pytest.fixture(scope="module")
def servers(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A function that returns the server of a shape, started when it is first asked for."""
    running: dict[str, Served] = {}
    with ExitStack() as stack:

        def get(shape: str) -> Served:
            if shape not in running:
                folder = tmp_path_factory.mktemp("server")
                running[shape] = stack.enter_context(serve_subject(engine, shape, "special", folder))
            return running[shape]

        yield get


@pytest.fixture
def served(request: pytest.FixtureRequest, servers: Any) -> Any:
    """Overrides the fixture of all engines: the server of the shape that a test is parametrised with."""
    return servers(getattr(request, "param", JSON_IN_TAGS))


def ask(served: Served, case: Case, endpoint: str, stream: bool, **script: Any) -> Reply:
    """Ask with a script of one's own."""
    adapted = served.engine.adapt(case, endpoint)
    assert adapted is not None
    scripted = {"script": {"text": case.text, "burst": case.burst, **script}}
    return ENDPOINTS[endpoint](served.server.url, adapted, scripted, stream)


def list_arguments(reply: Reply) -> list[str]:
    return [call["function"]["arguments"] for call in reply.message["tool_calls"]]


# Special tokens

PAD = "<pad>"
"""A special token of the tiny model that is no part of its format."""


def make_call(value: str) -> str:
    return f'<tool_call>\n{{"name": "get_weather", "arguments": {{"city": {json.dumps(value)}}}}}\n</tool_call>'


WEATHER = make_tool("get_weather", city="string")
ODD = [
    pytest.param(f"One {PAD}two.", [], {"content": "One two."}, id="generated"),
    pytest.param(f"One {PAD}two.", [PAD], {"content": f"One {PAD}two."}, id="spelled"),
    pytest.param(f"One {PAD}two{PAD}.", [PAD], {"content": f"One {PAD}two."}, id="spelled, then generated"),
    pytest.param(f"{PAD}One {PAD}.", [f" {PAD}."], {"content": f"One {PAD}."}, id="generated, then spelled"),
    pytest.param(f"<think>\nA{PAD}B\n</think>\n\nC{PAD}", [], {"reasoning_content": "AB", "content": "C"}, id="in reasoning"),
    pytest.param(f"D{PAD}E\n{make_call(f'old{PAD} x')}", [], {"content": "DE", "city": f"old{PAD} x"}, id="in a call"),
    pytest.param(f"{PAD}{make_call(f'old{PAD} x')}", [f"old{PAD}"], {"city": f"old{PAD} x"}, id="spelled in a call"),
]


@endpoints
@both
@pytest.mark.parametrize("burst", [1, 10_000])
@pytest.mark.parametrize(("text", "spelled", "expected"), ODD)
def test_special_tokens_are_told_by_their_ids(
    served: Served, endpoint: str, stream: bool, burst: int, text: str, spelled: list[str], expected: dict[str, str]
) -> None:
    if not stream and burst > 1:
        pytest.skip("a whole answer has one step")
    case = replace(served.subject.get("content"), tools=[WEATHER], text=text, burst=burst)
    reply = ask(served, case, endpoint, stream, spelled=spelled)
    message = {key: (reply.message[key] or "").rstrip("\n") for key in ("reasoning_content", "content")}
    assert message == {key: expected.get(key, "") for key in message}
    assert [json.loads(arguments) for arguments in list_arguments(reply)] == [
        {"city": expected[key]} for key in expected if key == "city"
    ]


# Calls that were cut

_SPARED = {"responses": 2}  # SGLang takes two off a limit there


def list_cuts(served: Served, case: Case) -> range:
    return range(1, served.count_tokens(case.text))


Ended = tuple[str | None, list[str]]
"""How an answer ends, and the arguments of the calls in it."""


def ask_end(served: Served, case: Case, endpoint: str, stream: bool) -> Ended:
    """Ask; the Messages client is not used, for it makes objects of arguments that end anywhere."""
    if endpoint != "messages":
        reply = ask(served, case, endpoint, stream)
        return reply.finish, list_arguments(reply)
    tools = [{"name": (f := tool["function"])["name"], "input_schema": f["parameters"]} for tool in case.tools or ()]
    messages = [message for message in case.messages if message["role"] != "system"]
    body = {"model": "tiny", "messages": messages, "tools": tools, "max_tokens": case.max_tokens, "stream": stream}
    data = json.dumps({**body, "script": {"text": case.text}}).encode()
    request = urllib.request.Request(f"{served.server.url}/v1/messages", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
    if not stream:
        found = json.loads(text)
        return found["stop_reason"], [json.dumps(block["input"]) for block in found["content"] if "input" in block]
    events = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: {")]
    parts: dict[int, str] = {}
    for event in events:
        if event.get("content_block", {}).get("type") == "tool_use":
            parts[event["index"]] = ""
        if event.get("delta", {}).get("type") == "input_json_delta":
            parts[event["index"]] += event["delta"]["partial_json"]
    ends = [event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"]
    return ends[-1], list(parts.values())


_ENDS = {"chat": "length", "responses": "length", "messages": "max_tokens"}


@pytest.mark.parametrize("served", SHAPES, indirect=True)
@endpoints
def test_a_cut_call_is_never_presented_as_complete(served: Served, endpoint: str) -> None:
    """Cut at every token: the answer says so, and streamed it is the same."""
    case = served.subject.get("call", "call all types")
    [arguments] = list_arguments(ask(served, case, endpoint, False))
    seen = set()
    for count in list_cuts(served, case):
        cut = replace(case, max_tokens=count + _SPARED.get(endpoint, 0))
        reply, streamed = (ask_end(served, cut, endpoint, stream) for stream in (False, True))
        assert reply[0] == streamed[0] == _ENDS[endpoint], count
        assert len(reply[1]) == len(streamed[1]), count
        if endpoint != "messages":
            assert reply == streamed, count
            assert all(arguments.startswith(part) for part in reply[1]), count
        seen.add(len(reply[1]))
    assert seen == {0, 1}


@pytest.mark.parametrize("served", SHAPES, indirect=True)
@both
@endpoints
def test_a_stop_string_in_a_call_does_not_complete_it(served: Served, endpoint: str, stream: bool) -> None:
    """The scripted engine ends where the model ends its turn; that it does so amid a call is the same to the server."""
    case = served.subject.get("call", "call all types")
    end, [arguments] = ask_end(served, case, endpoint, stream)
    assert end in ("tool_calls", "tool_use")
    for count in list_cuts(served, case):
        cut = replace(case, text=served.cut(case.text, count))
        end, found = ask_end(served, cut, endpoint, stream)
        if found == [arguments]:
            continue  # what is missing is only the marker behind them
        if endpoint == "responses" and found:  # there each call has a status
            items = [item for item in ask_responses(served, cut, stream) if "call_id" in item]
            assert [item["status"] for item in items] == ["incomplete"], cut.text
        else:
            assert end in ("stop", "end_turn"), cut.text


def ask_responses(served: Served, case: Case, stream: bool) -> list[Any]:
    """The items of a response."""
    client: Any = openai.OpenAI(base_url=f"{served.server.url}/v1", api_key="none", max_retries=0)
    answer = client.responses.create(
        model="tiny",
        input=case.messages,
        tools=[{"type": "function", **tool["function"]} for tool in case.tools or ()],
        stream=stream,
        extra_body={"script": {"text": case.text}, "chat_template_kwargs": case.kwargs},
    )
    if not stream:
        return [item.model_dump() for item in answer.output]
    return [event.item.model_dump() for event in answer if event.type == "response.output_item.done"]


# Choices among tools


@both
def test_a_named_choice_is_one_call(served: Served, stream: bool) -> None:
    case = served.subject.get("two calls")
    named = {"type": "function", "function": {"name": case.expected["tool_calls"][0]["name"]}}
    reply = ask(served, replace(case, options={"tool_choice": named}), "chat", stream)
    assert len(reply.message["tool_calls"]) == 1
    assert reply.finish == "tool_calls"


@pytest.mark.parametrize("choice", ["auto", "required"])
def test_content_beside_calls_is_null_and_not_empty(served: Served, choice: str) -> None:
    case = replace(served.subject.get("reasoning, call", "call"), options={"tool_choice": choice})
    assert ask(served, case, "chat", False).message["content"] is None


# Reasoning

SECRET = "The secret is forty-two"
OBJECT = '{"city": "Oslo"}'
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
FORMATS: list[dict[str, Any]] = [
    {},
    {"response_format": {"type": "json_object"}},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA}}},
    {"regex": r"\{.*\}"},
    {"stream_reasoning": False},
    {"chat_template_kwargs": {"force_nonempty_content": True}},
    {"chat_template_kwargs": {"enable_thinking": False}},
    {"chat_template_kwargs": {"thinking": False}},
    {"reasoning_effort": "none"},
    {"skip_special_tokens": True},
    {"include_reasoning": False},
]
CHOICES: list[dict[str, Any]] = [
    {"tool_choice": "auto"},
    {"tool_choice": "none"},
    {"tool_choice": "required"},
    {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
    {"parallel_tool_calls": False},
]
RESPONSE_CHOICES: list[dict[str, Any]] = [
    {},
    {"tool_choice": "required"},
    {"tool_choice": {"type": "function", "name": "get_weather"}},
]
TEXTS: list[dict[str, Any]] = [
    {},
    {"text": {"format": {"type": "json_schema", "name": "place", "schema": SCHEMA}}},
    {"text": {"format": {"type": "json_object"}}},
    {"reasoning": {"effort": "none"}},
]


@pytest.mark.parametrize("served", [OPENED], indirect=True)
@both
@pytest.mark.parametrize("answer", [OBJECT, make_call("Oslo"), ""], ids=["object", "call", "none"])
@pytest.mark.parametrize(
    ("endpoint", "forms", "choices", "least"),
    [("chat", FORMATS, CHOICES, 30), ("responses", TEXTS, RESPONSE_CHOICES, 8)],
    ids=["chat", "responses"],
)
def test_reasoning_is_never_published(
    served: Served, stream: bool, answer: str, endpoint: str, forms: list[Any], choices: list[Any], least: int
) -> None:
    """Whatever a request's fields are; what cannot be combined is refused by SGLang."""
    case = served.subject.get("reasoning, content", "reasoning")
    text = f"{SECRET}.\n</think>\n\n{answer}" if answer else SECRET
    asked = 0
    for form, choice in product(forms, choices):
        options = {**form, **choice}
        kwargs = options.pop("chat_template_kwargs", {})
        odd = replace(case, tools=[WEATHER], text=text, kwargs={**case.kwargs, **kwargs}, options=options)
        try:
            reply = ask(served, odd, endpoint, stream)
        except openai.BadRequestError:
            continue
        asked += 1
        assert SECRET not in (reply.message["content"] or ""), options
        assert SECRET not in "".join(list_arguments(reply)), options
        assert "</think>" not in (reply.message["content"] or ""), options
    assert asked >= least


# The log


def test_the_log_says_what_is_in_force(served: Served) -> None:
    lines = served.server.log.read_text("utf-8", "replace").splitlines()
    reports = [line for line in lines if "chat-autoparser: from the chat template of" in line]
    assert len(reports) == 1, reports
    assert "proven" in reports[0]
    for flag in ("--reasoning-parser", "--tool-call-parser"):
        assert [line for line in lines if f"{flag}: read by chat-autoparser" in line]
