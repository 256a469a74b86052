"""Show a chat template analysed and a model's raw output streamed; run by scripts/demo.sh.

Without an argument the template is scripts/demo.jinja, whose markers were made up for this; else the one at the given
path.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conversations import make_tool

import chat_autoparser as ca
from chat_autoparser.converse.author import ARGUMENTS, NAMES
from chat_autoparser.describe.spans import Line, Span, make_visible, measure
from chat_autoparser.describe.words import lay_out
from chat_autoparser.message import fold_deltas
from chat_autoparser.show.display import Display
from chat_autoparser.show.turns import list_turns, pick_example

TEMPLATE = Path(__file__).with_name("demo.jinja")

TOOLS = [
    make_tool(
        name,
        f"The tool {name}.",
        {
            key: {"type": "string" if isinstance(value, str) else "integer", "description": f"The {key}."}
            for key, value in arguments.items()
        },
        list(arguments),
    )
    for name, arguments in zip(NAMES, ARGUMENTS, strict=True)
]

OUTPUT = """\
Three days of Oslo. There is a tool for that.(:decided:)
I will look that up (the tool is called with :ask).
(:ask get_weather:)
(:with city:)Oslo(:.:)
(:with days:)3(:.:)
(:asked:)"""

SIZES = (4, 6, 3, 5, 7, 2)
"""How many characters the pieces have, in turn: as good as any, for the result does not depend on it."""

SECONDS_PER_PIECE = 0.12
_LEFT = 24


@dataclass(frozen=True)
class Generation:
    """What a model writes behind a prompt."""

    prompt: str
    text: str
    origin: str


def main() -> int:
    """Run the demo for the template named on the command line, or its own."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else TEMPLATE
    display = Display()
    try:
        renderer = ca.load_renderer(path)
        start = time.perf_counter()
        format = ca.analyze(renderer)
        seconds = time.perf_counter() - start
    except ca.AutoparserError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    _show_template(display, path, renderer)
    print_title(display, "2. What its renders tell", f"questioned and proven in {seconds * 1000:.0f} ms")
    display.print(*(indent(line) for line in lay_out(format)))
    generation = _generate(path, format)
    print_title(display, "3. What a model writes, as it comes", f"{generation.origin}; on the right, what is sent on")
    deltas = list(_stream(display, format, generation))
    print_title(display, "4. The message", "all of that together")
    message = json.dumps(fold_deltas(deltas), ensure_ascii=False, indent=2)
    display.print(*(Line.of(("text", f"  {make_visible(line)}")) for line in message.splitlines()))
    return 0


def _show_template(display: Display, path: Path, renderer: ca.Renderer) -> None:
    lines = (renderer.source or "").splitlines()
    if path == TEMPLATE:
        print_title(display, "1. A chat template", "made up for this demo: no program can know its markers")
        display.print(*(Line.of(("note", f"  {make_visible(line)}")) for line in lines))
    else:
        print_title(display, "1. A chat template", f"{path}, {len(lines)} lines of Jinja")


def _generate(path: Path, format: ca.ChatFormat) -> Generation:
    """Return the output to stream: one written by hand for the demo's own template, else a turn that is rendered."""
    if path == TEMPLATE:
        return Generation("[assistant]\n(:ponder:)", OUTPUT, "written by hand")
    turn = pick_example(list_turns(None, format))
    if turn is None:
        raise ca.ConstraintError("this format has no turn at all. Read the verdict of its analysis")
    return Generation(turn.prompt, turn.text, "a turn that the template renders")


def _stream(display: Display, format: ca.ChatFormat, generation: Generation) -> Iterator[ca.Delta]:
    """Feed an output piece by piece, and print each piece beside what comes out."""
    parser = format.parser(tools=TOOLS, prompt=generation.prompt)
    pieces = [*_split(generation.text), None]
    for piece in pieces:
        if sys.stdout.isatty():
            time.sleep(SECONDS_PER_PIECE)
        deltas = parser.finish() if piece is None else parser.feed(piece)
        if piece is not None or deltas:
            left = Span("note", "(end)") if piece is None else Span("text", make_visible(piece, layout=True))
            _print_step(display, left, deltas)
        yield from deltas


def _split(text: str) -> Iterator[str]:
    position = number = 0
    while position < len(text):
        size = SIZES[number % len(SIZES)]
        yield text[position : position + size]
        position, number = position + size, number + 1


def _print_step(display: Display, left: Span, deltas: list[ca.Delta]) -> None:
    gap = Span("note", " " * (_LEFT - measure([left])) + "│ ")
    for number, delta in enumerate(deltas or [None]):
        first = left if number == 0 else Span("text", " " * measure([left]))
        display.print(Line((Span("text", "  "), first, gap, *_describe_delta(delta))))


def _describe_delta(delta: ca.Delta | None) -> list[Span]:
    if delta is None:
        return []
    if delta.name is not None:
        return [Span("label", "call       "), Span("name", delta.name), Span("id", f"  {delta.id}")]
    label, kind = {
        "reasoning": ("reasoning  ", "reasoning"),
        "content": ("content    ", "content"),
        "tool_call": ("arguments  ", "value"),
    }[delta.kind]
    return [Span("label", label), Span(kind, make_visible(delta.text, layout=True))]


def print_title(display: Display, title: str, remark: str) -> None:
    display.print(Line.of(), Line.of(("title", title), ("note", f"  ({remark})")), Line.of())


def indent(line: Line) -> Line:
    return Line((Span("text", "  "), *line.spans)) if line.spans else line


if __name__ == "__main__":
    sys.exit(main())
