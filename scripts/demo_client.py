"""What the demonstrations on a real server have in common: its command, its log, and a streamed reply piece by piece."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from demo import indent, print_title
from serving import ENVIRONMENT, STAND_INS, Server, ServerError

from chat_autoparser.describe.spans import Line, make_visible
from chat_autoparser.show.display import Display

_SAID = re.compile(r"chat-autoparser: .*")

Request = dict[str, Any]


def show_command(display: Display, command: Sequence[str], path: Sequence[Path] = ()) -> None:
    """Print a server's command so that it can be pasted into a shell, from wherever that is."""
    prefixes = ("SGLANG_",) if STAND_INS in path else ("VLLM_",)
    given = {key: value for key, value in ENVIRONMENT.items() if key.startswith((*prefixes, "HF_HUB"))}
    if path:
        given["PYTHONPATH"] = os.pathsep.join(map(str, path))
    words = [f"{key}={shlex.quote(value)}" for key, value in given.items()]
    text = shlex.join([*command, "--port", "8000"])
    lines = [" ".join(words), *re.split(r" (?=--)", text)]
    for number, line in enumerate(lines):
        end = " \\" if number < len(lines) - 1 else ""
        display.print(Line.of(("note", f"{'  $ ' if number == 0 else '      '}{line}{end}")))


def watch(seconds: float) -> None:
    """Say on a terminal how long the server has been starting."""
    if sys.stderr.isatty():
        print(f"\r  starting the server ... {seconds:.0f} s", end="", file=sys.stderr, flush=True)


def show_server(display: Display, server: Server) -> None:
    """Print what the plugin wrote into the server's log."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    print_title(display, "2. What the server says it derived", f"up after {server.seconds:.0f} s")
    said = list_said(server.log.read_text("utf-8", "replace"))
    for line in said or [f"nothing; its whole log is {server.log}"]:
        display.print(Line.of(("text", f"  {make_visible(line)}")))


def list_said(log: str) -> list[str]:
    """Return what a log has of the plugin's. Each process of the server may have said it, and took a time of its own."""
    said: dict[str, str] = {}
    for line in _SAID.findall(log):
        said.setdefault(line.partition(" ms: ")[2] or line, line)
    return list(said.values())


def show_reply(display: Display, server: Server, request: Request) -> dict[str, Any]:
    """Stream a reply, print each piece as it comes, and return the message that they add up to, with its `finish`."""
    import openai  # the environments of engines have it; to read a log it takes none

    client: Any = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=300)
    message: dict[str, Any] = {"reasoning_content": None, "content": None, "tool_calls": [], "finish": None}
    start = time.monotonic()
    try:
        for kind, style, piece in _stream(client, request, message):
            spans = ("note", f"{(time.monotonic() - start) * 1000:6.0f} ms  "), ("label", f"{kind:<11}")
            display.print(indent(Line.of(*spans, (style, make_visible(piece, layout=True)))))
    except openai.OpenAIError as error:
        raise ServerError(f"the server refuses the request: {error}") from None
    return message


def _stream(client: Any, request: Request, message: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Tell of each piece its kind, its style and its text, and fold it into the message."""
    for choice in (choice for chunk in client.chat.completions.create(stream=True, **request) for choice in chunk.choices):
        delta = choice.delta
        message["finish"] = choice.finish_reason or message["finish"]
        reasoning = getattr(delta, "reasoning", None) or getattr(delta, "reasoning_content", None)
        if reasoning:
            message["reasoning_content"] = (message["reasoning_content"] or "") + reasoning
            yield "reasoning", "reasoning", reasoning
        if delta.content:
            message["content"] = (message["content"] or "") + delta.content
            yield "content", "content", delta.content
        for call in delta.tool_calls or ():
            if call.function.name:
                function = {"name": call.function.name, "arguments": ""}
                message["tool_calls"].append({"id": call.id, "type": "function", "function": function})
                yield "call", "name", f"{call.function.name}  {call.id}"
            if call.function.arguments:
                message["tool_calls"][call.index]["function"]["arguments"] += call.function.arguments
                yield "arguments", "value", call.function.arguments


def show_message(display: Display, message: dict[str, Any]) -> None:
    """Print a message as JSON, without what is empty."""
    shown = json.dumps({key: value for key, value in message.items() if value}, ensure_ascii=False, indent=2)
    display.print(*(Line.of(("text", f"  {make_visible(line)}")) for line in shown.splitlines()))


def keep_up(display: Display, server: Server, request: Request) -> None:
    """Leave the server up until the user ends it, and print how it can be asked the same."""
    body = {**request, **request.get("extra_body", {}), "stream": True}
    body.pop("extra_body", None)
    command = f"curl -N {server.url}/v1/chat/completions -H 'Content-Type: application/json' -d "
    lines = (f"The server stays up at {server.url}/v1 until you press Ctrl-C. Ask it the same, for example:", "")
    display.print(Line.of(), *(Line.of(("text", f"  {line}")) for line in lines))
    display.print(Line.of(("note", f"  {command}{shlex.quote(json.dumps(body, ensure_ascii=False))}")))
    try:
        while server.is_alive():
            time.sleep(1)
    except KeyboardInterrupt:
        return


def stop_on_signal() -> None:
    """Let the server be stopped where this process is asked to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
