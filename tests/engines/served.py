"""A template with its cases, and a server of it."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cases import TEMPLATES, Case, Subject, load_subject
from clients import ENDPOINTS, Reply, ask_chat, ask_choices
from engines import Engine
from judge import find_fault
from serving import Server, read_tail
from tiny_model import Markers, make_model
from tokenizers import Tokenizer

ENDPOINT_NAMES = ("chat", "responses", "messages")
both = pytest.mark.parametrize("stream", [pytest.param(False, id="whole"), pytest.param(True, id="stream")])
ways = pytest.mark.parametrize(
    ("endpoint", "stream"),
    [
        pytest.param(endpoint, stream, id=f"{endpoint} {'stream' if stream else 'whole'}")
        for endpoint in ENDPOINT_NAMES
        for stream in (False, True)
    ],
)


@dataclass(frozen=True)
class Served:
    """What is asked, and who answers."""

    engine: Engine
    subject: Subject
    server: Server
    tokenizer: Tokenizer = field(repr=False)

    def list_cases(self, endpoint: str) -> list[Case]:
        """The cases that an endpoint can be asked."""
        return [case for case in self.subject.cases.values() if self.engine.adapt(case, endpoint)]

    def ask(self, case: Case, endpoint: str = "chat", *, stream: bool = False) -> Reply:
        """What a client gets that sends the case's request to an endpoint."""
        adapted = self.engine.adapt(case, endpoint)
        if adapted is None:
            raise ValueError(f"{self.engine.name} cannot be asked for {case.name} by {endpoint}")
        script = self.engine.script(case.text, case.burst, bound=case.bound)
        return ENDPOINTS[endpoint](self.server.url, adapted, script, stream)

    def ask_freely(self, case: Case, *, stream: bool = False) -> Reply:
        """What a client of the chat endpoint gets where the model may write what it likes, within its constraints."""
        return ask_chat(self.server.url, case, {}, stream)

    def ask_choices(self, case: Case, *, stream: bool = False) -> list[Reply]:
        """The choices that a client of the chat endpoint gets."""
        return ask_choices(self.server.url, case, self.engine.script(case.text, case.burst, bound=case.bound), stream)

    def find_fault(self, case: Case, endpoint: str = "chat", *, stream: bool = False) -> str | None:
        """What is wrong with the reply to a case, or None: the message, how it ends, or that there is none."""
        try:
            reply = self.ask(case, endpoint, stream=stream)
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:600]
        fault = find_fault(case.expected, reply.message, ids=endpoint not in self.engine.renames)
        wanted = "tool_calls" if case.expected["tool_calls"] else "stop"
        if fault is None and reply.finish != wanted:
            fault = f"finish is {reply.finish} instead of {wanted}"
        return f"{fault}: of {case.text!r} came {reply.message}" if fault else None

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer to any body; over a connection of its own. Raises HTTPError."""
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.server.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def read_metrics(self) -> dict[str, float]:
        """The plugin's counters among the server's metrics, in which nothing of a request stands."""
        with urllib.request.urlopen(f"{self.server.url}/metrics/", timeout=30) as answer:
            text = answer.read().decode()
        assert "okapi" not in text
        found = re.findall(r"^chat_autoparser_(\w+)_total(?:\{[^}]*\})? (\S+)$", text, re.MULTILINE)
        return {name: float(number) for name, number in found}

    def cut(self, text: str, count: int) -> str:
        """The first tokens of a text, as text; a character that the last of them only begins is not shown."""
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids[:count]
        return str(self.tokenizer.decode(ids, skip_special_tokens=False)).rstrip("\ufffd")

    def count_tokens(self, text: str) -> int:
        """How many tokens the model has for a text."""
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)


def need_engine(engine: Engine) -> None:
    """Skip the test where the engine's server is there, and what runs models is not."""
    if lack := engine.find_lack():
        pytest.skip(lack)


@contextmanager
def serve_model(
    engine: Engine, model: Path, log: Path, parsers: str = "auto", *, real: bool = False, options: Sequence[str] = ()
) -> Iterator[Server]:
    """A server, started with the engine's `options` as well; the end of its log is shown where it died meanwhile."""
    start = engine.serve_real if real else engine.serve
    with start(model, log, parsers=parsers, options=options) as server:
        try:
            yield server
        finally:
            if not server.is_alive():
                print(f"the server died; its log ends with:\n{read_tail(server.log)}")


@contextmanager
def serve_subject(
    engine: Engine,
    shape: str,
    markers: Markers,
    folder: Path,
    parsers: str = "auto",
    *,
    real: bool = False,
    options: Sequence[str] = (),
    prepare: Callable[[Path], None] = lambda model: None,
) -> Iterator[Served]:
    """A server for a template, with our parsers or the named ones; the model's folder is first `prepare`d."""
    if real:
        need_engine(engine)
    subject = load_subject(TEMPLATES[shape])
    model = make_model(subject.source, folder / "model", markers=markers, eos=subject.eos)
    prepare(model)
    with serve_model(engine, model, folder / "log", parsers, real=real, options=options) as server:
        yield Served(engine, subject, server, Tokenizer.from_file(str(model / "tokenizer.json")))


def make_bound(served: Served, choice: str) -> Case:
    """A request for a call whose arguments can take few values, so that a random model soon ends it."""
    plain = served.subject.get("content {'enable_thinking': False}", "content")
    properties = {"colour": {"enum": ["red", "green", "blue"]}, "bright": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    function: dict[str, Any] = {"name": "pick_colour", "description": "Pick a colour.", "parameters": schema}
    named = {"type": "function", "function": {"name": "pick_colour"}}
    options = {"tool_choice": "required" if choice == "required" else named, "parallel_tool_calls": False}
    return replace(plain, tools=[{"type": "function", "function": function}], options=options, max_tokens=400)


def check_bound(reply: Reply) -> None:
    """Assert that the reply to such a request is what it asks for."""
    assert reply.finish in ("tool_calls", "stop"), reply
    assert len(reply.message["tool_calls"]) >= 1
    for call in reply.message["tool_calls"]:
        assert call["function"]["name"] == "pick_colour"
        arguments = json.loads(call["function"]["arguments"])
        assert set(arguments) == {"colour", "bright"}
        assert arguments["colour"] in ("red", "green", "blue")
        assert isinstance(arguments["bright"], bool)
