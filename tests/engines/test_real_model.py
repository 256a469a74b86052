"""A model with trained weights, sampling by itself: nothing is scripted, so nothing here is our own idea of what models write.

It is too small to be right about the weather. What must hold is the server's part: what it says freely streams, a call that is
asked for is made and obeys its schema, and a stream adds up to what the same request gets whole.

The model comes as a package (scripts/real_model.py). Where it cannot be had, or no engine is installed, the tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("openai", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")
pytest.importorskip("anthropic", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")

import clients
from cases import Case
from clients import Reply, ask_chat
from corpus import read_template
from engines import MODEL
from judge import take_meaning
from real_model import RealModelError, make_real_model, serve_real_model
from served import need_engine
from serving import Server

import chat_autoparser as ca

if TYPE_CHECKING:
    from engines import Engine

jsonschema = pytest.importorskip("jsonschema", reason="the engines bring it: see scripts/setup_vllm.sh")

TEMPLATES = (
    "Qwen-Qwen3-0.6B",
    pytest.param("Qwen3-Coder", marks=pytest.mark.more),
    pytest.param("LiquidAI-LFM2-1.2B", marks=pytest.mark.more),
    pytest.param("NousResearch-Hermes-3-Llama-3.1-8B", marks=pytest.mark.more),
)
"""In the style of prompt that the model was trained on, each with a notation of calls of its own: JSON, tags, call syntax."""

_PARALLEL = 8
_SECONDS = 300.0
"""What a client waits for an answer: a busy machine generates few tokens a second."""

QUESTIONS = (
    "What is the weather in Paris, in celsius?",
    "Is it raining in Oslo?",
    "How warm is it in New York today?",
    "Please remind me to buy milk in 2 hours.",
    "Remind me in 30 hours to call my sister.",
    "Which books about whales do you have?",
    "Find three books by Jane Austen.",
    "Will it snow in Helsinki tomorrow?",
    'Look for the book "Moby-Dick; or, The Whale".',
    "Set an urgent reminder: the train leaves in 1 hour.",
    "What's the temperature in São Paulo?",
    "天気はどうですか、東京は？",
    'Search for something by Tolstoy, not "War and Peace".',
    "Wake me up in 8 hours, it's important!",
    "How is the weather in Rio de Janeiro (Brazil)?",
    "I need a book on C++ <templates> & {macros}.",
    "Remind me of the meeting at \\\\server\\share.",
    "Weather?",
    "Any novels from 1984?",
    "Tell me whether it is windy in Zürich.",
)


def make_tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    make_tool(
        "get_weather",
        "Get the current weather in a city.",
        city={"type": "string", "description": "The name of the city.", "maxLength": 30},
        unit={"type": "string", "description": "The unit.", "enum": ["celsius", "fahrenheit"]},
    ),
    make_tool(
        "set_reminder",
        "Remind the user of something.",
        text={"type": "string", "description": "What to remind of.", "maxLength": 40},
        hours={"type": "integer", "description": "In how many hours.", "minimum": 1, "maximum": 48},
        urgent={"type": "boolean", "description": "Whether it is urgent."},
    ),
    make_tool(
        "find_books",
        "Search the library for books.",
        query={"type": "string", "description": "What to search for.", "maxLength": 40},
    ),
]
SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
ONE_CALL = {"parallel_tool_calls": False}
PLAIN = {"enable_thinking": False}
"""The model was not taught to reason before it answers: where a template has a switch for that, it is off."""


@dataclass(frozen=True)
class Real:
    """A server of the model."""

    engine: Engine
    server: Server
    template: str

    def ask(self, case: Case, *, stream: bool = False) -> Reply:
        return ask_chat(self.server.url, case, {}, stream)

    def ask_all(self, cases: list[Case], *, stream: bool = False) -> list[Reply]:
        with ThreadPoolExecutor(_PARALLEL) as pool:
            return list(pool.map(lambda case: self.ask(case, stream=stream), cases))


@pytest.fixture(scope="module", params=TEMPLATES)
def real(request: pytest.FixtureRequest, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    need_engine(engine)
    folder = tmp_path_factory.mktemp("real-model")
    try:
        model = make_real_model(read_template(request.param), folder / "model")
    except RealModelError as error:
        pytest.skip(f"the real model cannot be had: {error}")
    parsers = request.config.getoption("--parsers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clients, "_SECONDS", _SECONDS)
        with serve_real_model(engine.name, model, folder / "log", parsers, name=MODEL) as server:
            yield Real(engine, server, request.param)


def make_case(question: str, tools: list[dict[str, Any]] | None = None, max_tokens: int = 200, **options: Any) -> Case:
    messages = [{"role": "user", "content": question}]
    return Case(question, messages, tools, PLAIN, "", {}, {"temperature": 0, **options}, max_tokens=max_tokens)


def name_tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def find_call_fault(reply: Reply, names: set[str], count: int | None = None) -> str | None:
    """What is wrong with the calls of a reply that was asked for calls of these tools, or None.

    A reply that was cut may hold anything, and must say that it was.
    """
    if reply.finish == "length":
        return None
    calls = reply.message["tool_calls"]
    if not calls or (count is not None and len(calls) != count):
        return f"{len(calls)} calls instead of {count or 'at least one'}: {reply}"
    for call in calls:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        if name not in names:
            return f"a call of {name}: {reply}"
        try:
            jsonschema.validate(json.loads(arguments), SCHEMAS[name])
        except (ValueError, jsonschema.ValidationError) as error:
            return f"arguments {arguments!r}: {error}"
    return None


def list_call_faults(replies: list[Reply], names: set[str], count: int | None = None) -> list[str]:
    """The faults of replies, of which most must have ended by themselves."""
    faults = [fault for reply in replies if (fault := find_call_fault(reply, names, count))]
    cut = sum(reply.finish == "length" for reply in replies)
    return faults + ([f"{cut} of {len(replies)} were cut"] if cut * 4 > len(replies) else [])


def test_free_text_streams(real: Real) -> None:
    reply = real.ask(make_case("Write a short poem about the sea.", max_tokens=40), stream=True)
    assert reply.finish in ("stop", "length")
    assert reply.kinds.count("content") >= 8
    assert len(reply.message["content"].split()) >= 8
    assert reply.message["tool_calls"] == []
    assert reply.message["reasoning_content"] is None


def list_both_ways(questions: tuple[str, ...]) -> Iterator[Case]:
    """Free text, and calls of each kind, for every question."""
    for question in questions:
        yield make_case(question, max_tokens=40)
        yield make_case(question, TOOLS, tool_choice="required", **ONE_CALL)
        yield make_case(question, TOOLS, tool_choice=name_tool("get_weather"), **ONE_CALL)


def compare_ways(real: Real, questions: tuple[str, ...]) -> list[str]:
    """Where a stream and the whole answer differ. One at a time, and neither from what the other one left in the cache: what is
    computed together, or not anew, may differ in the last bit of a number."""
    found = []
    for case in list_both_ways(questions):
        salted = [replace(case, options={**case.options, "cache_salt": way}) for way in ("whole", "stream")]
        whole, stream = real.ask(salted[0]), real.ask(salted[1], stream=True)
        parts = [(take_meaning(reply.message), reply.finish) for reply in (whole, stream)]
        if parts[0] != parts[1]:
            found.append(f"{case.name}, {case.options}: whole {whole}, streamed {stream}")
    return found


@pytest.mark.more
def test_a_stream_adds_up_to_the_whole(real: Real) -> None:
    assert compare_ways(real, QUESTIONS[:6]) == []


def ask_for_calls(real: Real, questions: tuple[str, ...], **options: Any) -> list[Reply]:
    """Half of them streamed, half of them whole."""
    cases = [make_case(question, TOOLS, seed=1, **{"temperature": 0.8, **options}) for question in questions]
    return [*real.ask_all(cases[::2]), *real.ask_all(cases[1::2], stream=True)]


@pytest.mark.parametrize("questions", [QUESTIONS[:2], pytest.param(QUESTIONS[2:], marks=pytest.mark.more)], ids=["few", "rest"])
def test_a_required_call_is_made_and_obeys_its_schema(real: Real, questions: tuple[str, ...]) -> None:
    assert list_call_faults(ask_for_calls(real, questions, tool_choice="required", **ONE_CALL), set(SCHEMAS), 1) == []


@pytest.mark.more
def test_several_required_calls_obey_their_schemas(real: Real) -> None:
    """A model that does not know when to stop calling is cut: what ended by itself is right, and all is told apart."""
    replies = ask_for_calls(real, QUESTIONS[:8], tool_choice="required", max_tokens=300)
    assert [fault for reply in replies if (fault := find_call_fault(reply, set(SCHEMAS)))] == []
    if all(len(reply.message["tool_calls"]) <= 1 for reply in replies):
        pytest.skip("behind this template the model stopped after one call each time")


@pytest.mark.parametrize("questions", [QUESTIONS[:1], pytest.param(QUESTIONS[1:], marks=pytest.mark.more)], ids=["few", "rest"])
def test_a_named_call_is_the_only_one_and_obeys_its_schema(real: Real, questions: tuple[str, ...]) -> None:
    replies = ask_for_calls(real, questions, tool_choice=name_tool("set_reminder"))
    assert list_call_faults(replies, {"set_reminder"}, 1) == []


HISTORY = (
    ("How is the weather in Rome?", "get_weather", {"city": "Rome", "unit": "celsius"}),
    ("Find books about bees.", "find_books", {"query": "bees"}),
    ("Remind me to sleep in 9 hours.", "set_reminder", {"text": "sleep", "hours": 9, "urgent": False}),
    ("And in Madrid?", "get_weather", {"city": "Madrid", "unit": "celsius"}),
)
"""Earlier turns, after which the model goes on calling, though nothing obliges it to."""


def make_strict(question: str) -> Case:
    """A request whose model may call or not; what it calls must obey the schema."""
    tools = [{**tool, "function": {**tool["function"], "strict": True}} for tool in TOOLS]
    messages: list[dict[str, Any]] = []
    for number, (asked, name, arguments) in enumerate(HISTORY):
        call = {"id": f"call{number:05}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "Done."},
            {"role": "assistant", "content": "Done."},
        ]
    case = make_case(question, tools, tool_choice="auto", **ONE_CALL)
    return replace(case, messages=[*messages, *case.messages], kwargs={})  # as the earlier turns are written


def prints_calls(template: str) -> bool:
    """Whether the arguments of earlier calls stand in the prompt."""
    render = ca.load_renderer(read_template(template), bos_token="<s>", eos_token="</s>")
    messages = make_strict(QUESTIONS[0]).messages
    for call in (call for message in messages for call in message.get("tool_calls", ())):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])  # as the engines hand them to a template
    return "urgent" in render(messages, None, True)


@pytest.mark.parametrize("questions", [QUESTIONS[:2], pytest.param(QUESTIONS[2:], marks=pytest.mark.more)], ids=["few", "rest"])
def test_calls_of_strict_tools_obey_their_schemas(real: Real, questions: tuple[str, ...]) -> None:
    cases = [make_strict(question) for question in questions]
    replies = [*real.ask_all(cases[::2]), *real.ask_all(cases[1::2], stream=True)]
    called = [reply for reply in replies if reply.message["tool_calls"]]
    assert list_call_faults(called, set(SCHEMAS)) == []
    if not called and not prints_calls(real.template):
        pytest.skip("this template prints no earlier calls, so nothing leads the model to one")
    assert called, f"the model never called, so nothing was tried: {replies}"


@pytest.mark.more
def test_a_required_call_needs_no_switch(real: Real) -> None:
    """A template may let the model reason first: a model that does not still makes the call."""
    cases = [replace(make_case(question, TOOLS, tool_choice="required", **ONE_CALL), kwargs={}) for question in QUESTIONS[:6]]
    assert list_call_faults(real.ask_all(cases), set(SCHEMAS), 1) == []
