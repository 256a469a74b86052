"""What no request may do to a vLLM server, and what every answer must be: real servers, real clients, a scripted engine."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed in this environment: see scripts/setup_vllm.sh")

from cases import TEMPLATES, Case, load_subject
from clients import ENDPOINTS, Reply
from conversations import JsonObject, make_tool
from engines import MODEL, Vllm
from pydantic_core import from_json
from served import Served, both, serve_subject, ways
from serving import ServerError, read_tail
from tiny_model import make_model

if TYPE_CHECKING:
    from engines import Engine

OPENED = "reasoning opened by the prompt"
POSSIBLE = "JSON in tags"
OPTIONS = ("--trust-request-chat-template", "--enable-scale-out")
METRICS = ("outputs", "calls", "cut_calls", "text_kept", "recoveries", "faults", "analyses", "refused_analyses")

CITY = {"city": {"type": "string"}}
TOOLS = [make_tool(name, "It tells.", CITY, ["city"]) for name in ("get_weather", "find_train")]
WEATHER = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo, Norway"}}\n</tool_call>'


@pytest.fixture(scope="module")
def possible(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a model that may reason and need not, and that trusts requests' templates."""
    assert isinstance(engine, Vllm)
    with serve_subject(engine, POSSIBLE, "special", tmp_path_factory.mktemp("possible"), options=OPTIONS) as served:
        yield served


@pytest.fixture(scope="module")
def opened(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a model whose prompt opens reasoning."""
    with serve_subject(engine, OPENED, "special", tmp_path_factory.mktemp("opened")) as served:
        yield served


def make_case(output: str, tools: list[JsonObject] | None = None, /, **options: Any) -> Case:
    message: JsonObject = {"reasoning_content": None, "content": None, "tool_calls": []}
    case = Case("made up", [{"role": "user", "content": "Hello"}], tools, {}, output, message)
    return replace(case, options=options)


def ask(served: Served, case: Case, endpoint: str, stream: bool, **extra: Any) -> Reply:
    script = served.engine.script(case.text, case.burst, bound=case.bound)
    return ENDPOINTS[endpoint](served.server.url, case, {**script, **extra}, stream)


def post(served: Served, path: str, body: JsonObject) -> tuple[int, Any]:
    """The status and the body of an answer to anything at all."""
    try:
        return 200, served.post(path, body)
    except urllib.error.HTTPError as error:
        return error.code, error.read()


# 1: nothing that a request carries reaches the engine


DEEP = "[" * 5000
FORM = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}


@pytest.mark.parametrize(
    "hint", [{"class": ["vllm.no_such_module", "X"]}, {"class": ["os", "system"]}, DEEP, {"version": 1}, [1], None]
)
def test_no_hint_in_a_request_ends_the_server(possible: Served, hint: Any) -> None:
    kwargs = {"chat_autoparser": hint, "thinking": hint}
    for endpoint in ("chat", "responses"):
        given: JsonObject = {"response_format": FORM} if endpoint == "chat" else {"text": {"format": {"type": "json_object"}}}
        case = replace(make_case('<think>\nHm.\n</think>{"a": 1}', **given), kwargs=kwargs)
        reply = ask(possible, case, endpoint, False)
        assert reply.message["content"] == '{"a": 1}'
        assert reply.message["reasoning_content"] == "Hm."
    assert possible.server.is_alive()


def test_rendering_gives_no_hint_away(possible: Served) -> None:
    status, answer = post(
        possible,
        "/v1/chat/completions/render",
        {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "tools": TOOLS},
    )
    if status == 404:
        pytest.skip("this server has no such endpoint")
    assert status == 200, answer
    assert "chat_autoparser" not in json.dumps(answer)


# 2: hidden reasoning is not published


JSON_FORM: JsonObject = {"type": "json_schema", "name": "a", "schema": {"type": "object"}}
FORMS: dict[str, JsonObject] = {
    "chat": {"response_format": {"type": "json_schema", "json_schema": JSON_FORM}},
    "responses": {"text": {"format": JSON_FORM}},
    "messages": {},
}


@ways
@pytest.mark.parametrize("form", ["plain", "given form", "required"])
def test_hidden_reasoning_is_hidden(opened: Served, endpoint: str, stream: bool, form: str) -> None:
    """Whether or not the engine lets the model reason: what it does write as reasoning is none of the answer."""
    answer = {"plain": "It rains.", "given form": '{"city": "Oslo"}', "required": WEATHER}[form]
    options: JsonObject = {"include_reasoning": False} if endpoint != "messages" else {}
    tools = TOOLS if form == "required" else None
    if form == "given form":
        options |= FORMS[endpoint]
    if form == "required":
        options |= {"tool_choice": {"type": "any"} if endpoint == "messages" else "required"}
    held_at_once = endpoint == "chat" and form == "given form"  # then the model cannot write reasoning
    layout = "" if form == "given form" else "\n\n"  # which the form does not allow
    text = answer if held_at_once else f"Secret thought.\n</think>{layout}{answer}"
    reply = ask(opened, make_case(text, tools, **options), endpoint, stream)
    if options.get("include_reasoning") is False:
        assert not reply.message["reasoning_content"]
    assert "Secret" not in (reply.message["content"] or "")
    assert "</think>" not in (reply.message["content"] or "")
    if form == "required":
        [call] = reply.message["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"city": "Oslo, Norway"}
        assert not (reply.message["content"] or "").strip()
    else:
        assert reply.message["content"] == answer


# 4: a request's own template


PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
SLOW = "{% if tools %}{% for i in range(900) %}{% for i in range(900) %}{{ i }}{% endfor %}{% endfor %}{% endif %}" + PLAIN
BAR = 0.25
TEMPLATES_SENT = 200
ATTEMPTS = 3


def stream_on(served: Served, gaps: list[float], stop: threading.Event) -> None:
    """Streams one answer after another, and notes how long there was nothing of it."""
    while not stop.is_set():
        words = " ".join(f"word{number}" for number in range(400))
        body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "stream": True, "max_tokens": 2000}
        data = json.dumps({**body, **served.engine.script(words)}).encode()
        request = urllib.request.Request(served.server.url + "/v1/chat/completions", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            last = None
            for line in answer:
                if line.startswith(b"data: {"):
                    now = time.monotonic()
                    if last is not None:
                        gaps.append(now - last)
                    last = now


def send_templates(served: Served, make: Any, count: int) -> float:
    """Sends requests with templates of their own, several at a time; returns the longest gap in a stream meanwhile."""
    gaps: list[float] = []
    stop = threading.Event()
    streaming = threading.Thread(target=stream_on, args=(served, gaps, stop))
    streaming.start()
    time.sleep(1)
    gaps.clear()

    def send(numbers: range) -> None:
        for number in numbers:
            body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}], "chat_template": make(number)}
            post(served, "/v1/chat/completions", {**body, **served.engine.script("Hello.")})

    senders = [threading.Thread(target=send, args=(range(start, count, 50),)) for start in range(50)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    stop.set()
    streaming.join()
    return max(gaps)


@pytest.mark.more
def test_hostile_templates_of_requests_hold_nobody_up(possible: Served) -> None:
    """The bar is for what we add: the templates are cheap to render, and cost all of an analysis's time.

    On a machine that is busy with other things, a stream has such gaps without them, as one template for all shows. What else
    the machine does comes and goes, and what we cause would be there each time: so there are several attempts.
    """
    quiet = send_templates(possible, lambda number: PLAIN, TEMPLATES_SENT)
    bar = max(BAR, 2 * quiet)
    longest, numbers = float("inf"), itertools.count()
    for _ in range(ATTEMPTS):
        longest = min(longest, send_templates(possible, lambda _: f"{SLOW}{{# {next(numbers)} #}}", TEMPLATES_SENT))
        if longest < bar:
            break
    figures = f"{longest * 1000:.0f} ms; with one harmless template for all: {quiet * 1000:.0f} ms"
    print(f"the longest gap in a parallel stream while {TEMPLATES_SENT} hostile templates came in: {figures}")
    assert longest < bar, figures
    refused = possible.read_metrics()["refused_analyses"]
    assert refused >= TEMPLATES_SENT, "these templates are not hostile enough"
    reply = ask(possible, make_case(f"<think>\nHm.\n</think>\n\n{WEATHER}", TOOLS), "chat", False)
    assert len(reply.message["tool_calls"]) == 1, "the server's own format was evicted"


@both
def test_a_request_s_own_template_is_what_its_output_is_read_by(possible: Served, stream: bool) -> None:
    source = load_subject(TEMPLATES["own reasoning tags"]).source
    case = make_case("<seed:think>Hm.</seed:think>Hello.", chat_template=source)
    for _ in range(5):  # the machine may be busy with what the others have sent
        reply = ask(possible, case, "chat", stream)
        if reply.message["reasoning_content"]:
            break
        time.sleep(4)
    assert reply.message["reasoning_content"] == "Hm."
    assert reply.message["content"] == "Hello."


# 5: calls that were cut


def check_cut(reply: Reply, whole: str) -> bool:
    """Assert that a reply whose output was cut says so; returns whether it holds a call."""
    for call in reply.message["tool_calls"]:
        if call["function"]["arguments"] != whole:
            assert reply.finish != "tool_calls", reply
    return bool(reply.message["tool_calls"])


@pytest.mark.parametrize("end", ["limit", "stop string", "end of turn"])
@pytest.mark.parametrize("endpoint", ["chat", "messages"])
def test_a_cut_call_never_reads_as_complete(possible: Served, endpoint: str, end: str) -> None:
    """At every token of a call; what a client gets is the same whole and streamed: the call as far as it came."""
    count, seen, truth = possible.count_tokens(WEATHER), 0, '{"city": "Oslo, Norway"}'
    for tokens in range(1, count):
        case = make_case(WEATHER, TOOLS)
        if end == "limit":
            case = replace(case, max_tokens=tokens)
            expected = {"length"}
        else:
            case = replace(case, text=possible.cut(WEATHER, tokens))
            expected = {"stop"}
        if end == "stop string":
            case = replace(
                case, text=case.text + "STOP HERE", options={"stop" if endpoint == "chat" else "stop_sequences": ["STOP"]}
            )
        whole, streamed = (ask(possible, case, endpoint, stream) for stream in (False, True))
        calls = [[call["function"] for call in reply.message["tool_calls"]] for reply in (whole, streamed)]
        complete = end != "limit" and len(case.text.removesuffix("STOP HERE")) >= len(WEATHER) - 14
        if endpoint == "messages":  # arguments are objects there
            calls[1] = [
                {**call, "arguments": json.dumps(from_json(call["arguments"] or "{}", allow_partial=True))} for call in calls[1]
            ]
        assert calls[0] == calls[1], (tokens, calls)
        for reply in (whole, streamed):
            seen += check_cut(reply, truth)
            allowed = expected | ({"tool_calls"} if complete else set())
            assert reply.finish in allowed, (tokens, reply)
    assert seen > 4


ENDS = ("response.completed", "response.incomplete")


@both
@pytest.mark.parametrize("end", ["limit", "end of turn"])
def test_a_cut_call_of_a_response_is_incomplete(possible: Served, stream: bool, end: str) -> None:
    import openai

    client = openai.OpenAI(base_url=f"{possible.server.url}/v1", api_key="none", max_retries=0)
    tools: Any = [{"type": "function", **tool["function"]} for tool in TOOLS]
    seen = 0
    for tokens in range(1, possible.count_tokens(WEATHER)):
        text = WEATHER if end == "limit" else possible.cut(WEATHER, tokens)
        extra = possible.engine.script(text)
        limit = tokens if end == "limit" else 500
        given: Any = {"model": MODEL, "input": "Hello", "tools": tools, "max_output_tokens": limit, "extra_body": extra}
        if stream:
            with client.responses.stream(**given) as events:
                seen_events = list(events)
            items = [event.item for event in seen_events if event.type == "response.output_item.done"]
            [response] = [event.response for event in seen_events if event.type in ENDS]
        else:
            response = client.responses.create(**given)
            items = list(response.output)
        assert response.status == ("incomplete" if end == "limit" else "completed")
        for item in [*items, *response.output]:
            if item.type == "function_call":
                seen += 1
                complete = item.arguments == '{"city": "Oslo, Norway"}'
                assert complete or item.status == "incomplete", (tokens, item)
    assert seen > 4


BROKEN = ["{'city': 'Os", '{"city": Oslo', '{"city": "line one\nline two', '{"city": NaN, "b": "x', '{"city": ' + 300 * "["]


@pytest.mark.parametrize("arguments", BROKEN)
def test_a_cut_call_of_the_messages_api_is_no_error_where_it_is_no_json(possible: Served, arguments: str) -> None:
    """Streamed, the client is told what there is, and the official one raises where that is no JSON."""
    reply = ask(possible, make_case(WEATHER.partition('{"city"')[0] + arguments, TOOLS), "messages", False)
    assert reply.finish == "stop"
    assert [call["function"]["name"] for call in reply.message["tool_calls"]] == ["get_weather"]


@both
def test_a_required_call_that_was_never_begun_is_no_call(possible: Served, stream: bool) -> None:
    case = replace(make_case(WEATHER, TOOLS, tool_choice="required", stop=["name"]), bound=False)
    reply = ask(possible, case, "chat", stream)
    assert not reply.message["tool_calls"]
    assert reply.finish == "stop"


@both
def test_calls_of_a_response_are_numbered_through(possible: Served, stream: bool) -> None:
    """A call of a custom tool stands before the one that was cut."""
    import openai

    client = openai.OpenAI(base_url=f"{possible.server.url}/v1", api_key="none", max_retries=0)
    tools: Any = [{"type": "custom", "name": "shell"}, *({"type": "function", **tool["function"]} for tool in TOOLS)]
    first = '<tool_call>\n{"name": "shell", "arguments": {"input": "ls"}}\n</tool_call>\n'
    extra = possible.engine.script(first + WEATHER.partition("Norway")[0])
    given: Any = {"model": MODEL, "input": "Hello", "tools": tools, "max_output_tokens": 500, "extra_body": extra}
    if stream:
        with client.responses.stream(**given) as events:
            items = [event.item for event in events if event.type == "response.output_item.done"]
    else:
        items = list(client.responses.create(**given).output)
    assert [item.type for item in items] == ["custom_tool_call", "function_call"]
    assert items[1].status == "incomplete"


# 3: special tokens, by their ids


@both
@pytest.mark.parametrize("burst", [1, 10_000])
def test_special_tokens_stay_inside_calls_and_where_they_were_spelled(possible: Served, stream: bool, burst: int) -> None:
    call = WEATHER.replace("Oslo, Norway", "<s>old</s> x")
    case = replace(make_case(f"A spelled one, <s>and</s> this.{call}", TOOLS), burst=burst)
    reply = ask(possible, case, "chat", stream)
    [function] = [call["function"] for call in reply.message["tool_calls"]]
    assert json.loads(function["arguments"]) == {"city": "<s>old</s> x"}
    ids = possible.tokenizer.encode(case.text, add_special_tokens=False).ids
    special = {token for token in ids if possible.tokenizer.id_to_token(token) in ("<s>", "</s>")}
    expected = "A spelled one, and this." if special else "A spelled one, <s>and</s> this."
    assert reply.message["content"] == expected


# Required, named, allowed


@ways
def test_required_without_reasoning_is_a_call(possible: Served, endpoint: str, stream: bool) -> None:
    """The model need not reason: the engine must not wait for an end of reasoning before it holds it to a call."""
    options = {"tool_choice": {"type": "any"} if endpoint == "messages" else "required"}
    refused = ask_refused(possible, make_case("Hello, I will not call.", TOOLS, **options), endpoint, stream)
    assert refused, "free text came back"
    reply = ask(possible, make_case(f"<think>\nHm.\n</think>\n\n{WEATHER}", TOOLS, **options), endpoint, stream)
    assert reply.message["reasoning_content"] == "Hm."
    assert len(reply.message["tool_calls"]) == 1
    reply = ask(possible, make_case(WEATHER, TOOLS, **options), endpoint, stream)
    assert len(reply.message["tool_calls"]) == 1
    assert not reply.message["reasoning_content"]


def ask_refused(served: Served, case: Case, endpoint: str, stream: bool) -> bool:
    """Whether the engine's grammar refuses what the model would write, so that the scripted core fails the request."""
    try:
        reply = ask(served, case, endpoint, stream)
    except Exception:
        return True
    return not (reply.message["content"] or "").strip()


@both
@pytest.mark.parametrize("named", [False, True], ids=["required", "named"])
def test_content_beside_a_forced_call_is_null(possible: Served, stream: bool, named: bool) -> None:
    choice: Any = {"type": "function", "function": {"name": "get_weather"}} if named else "required"
    reply = ask(possible, make_case(WEATHER, TOOLS, tool_choice=choice), "chat", stream)
    assert reply.message["content"] is None
    assert len(reply.message["tool_calls"]) == 1


@both
def test_a_named_choice_is_one_call(possible: Served, stream: bool) -> None:
    named = {"type": "function", "function": {"name": "get_weather"}}
    case = replace(make_case(f"{WEATHER}\n{WEATHER}", TOOLS, tool_choice=named), bound=False)
    assert len(ask(possible, case, "chat", stream).message["tool_calls"]) == 1


# Usage, metrics, log


def test_continuous_usage_of_a_long_output_is_linear(engine: Engine, tmp_path: Path) -> None:
    """Markers of several tokens: each step asked for a count of all tokens, and each was decoded anew."""
    with serve_subject(engine, OPENED, "plain", tmp_path) as served:

        def measure(words: int) -> float:
            text = "Thinking of stripes. " * words + "\n</think>\n\nIt has forty-two."
            body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}], "stream": True, "max_tokens": 12_000}
            usage = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}
            data = json.dumps({**body, **usage, **served.engine.script(text)}).encode()
            request = urllib.request.Request(served.server.url + "/v1/chat/completions", data, {"Content-Type": "application/json"})
            start = time.monotonic()
            with urllib.request.urlopen(request, timeout=120) as answer:
                lines = [line for line in answer if line.startswith(b"data: {")]
            assert json.loads(lines[-1][6:])["usage"]["completion_tokens_details"]["reasoning_tokens"] > words
            return time.monotonic() - start

        measure(5)
        short, long = measure(100), measure(400)
        assert long < 12 * short + 1, (short, long)


def test_counters_are_among_the_server_s_metrics(possible: Served) -> None:
    before = possible.read_metrics()
    assert set(before) == set(METRICS)
    ask(possible, make_case(WEATHER, TOOLS), "chat", True)
    ask(possible, replace(make_case(WEATHER, TOOLS), max_tokens=possible.count_tokens(WEATHER) - 8), "chat", False)
    ask(possible, make_case("I never write <tool_call> myself.", TOOLS), "responses", False)
    after = possible.read_metrics()
    found = {name: after[name] - before[name] for name in METRICS}
    assert (found["outputs"], found["calls"], found["cut_calls"], found["text_kept"]) == (3, 2, 1, 1)
    assert found["recoveries"] == 0


def test_the_log_has_one_line_for_a_format(possible: Served) -> None:
    lines = [line for line in possible.server.log.read_text("utf-8").splitlines() if "chat-autoparser: from the model" in line]
    assert len(lines) == 1, lines
    assert "proven" in lines[0]


# The start


@pytest.mark.parametrize("where", ["the model's chat template", "the chat template of --chat-template"])
def test_a_template_that_nobody_understands_stops_the_server_at_once(engine: Engine, tmp_path: Path, where: str) -> None:
    """Before the engine is started, in one line that names the template's source."""
    subject = load_subject(TEMPLATES[POSSIBLE])
    dumb, options = "{{ raise_exception('no') }}", []
    if where == "the model's chat template":
        model = make_model(dumb, tmp_path / "model", eos=subject.eos)
    else:
        model = make_model(subject.source, tmp_path / "model", eos=subject.eos)
        (tmp_path / "dumb.jinja").write_text(dumb)
        options = ["--chat-template", str(tmp_path / "dumb.jinja")]
    with pytest.raises(ServerError), engine.serve(model, tmp_path / "log", options=options):
        pass
    text = (tmp_path / "log").read_text("utf-8")
    [line] = [line for line in text.splitlines() if line.startswith("chat-autoparser: ")]
    assert f"{where} is not understood: " in line
    assert "--tool-call-parser auto and --reasoning-parser auto cannot be used" in line
    assert "Traceback" not in text.split(line)[0], read_tail(tmp_path / "log")
    assert "EngineCore" not in text
    assert "Initializing a V1 LLM engine" not in text
    assert os.environ.get("CHAT_AUTOPARSER_VLLM_TEMPLATE") is None
