"""The command ``chat-autoparser``: look at a format, parse with it, and check many templates.

Exit status: 0, or 1 where ``check`` found something that is not proven or ``roundtrip`` a fault of the parse, or 2 for
input that cannot be used, which one line on standard error names.
"""

from __future__ import annotations

import argparse
import codecs
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import partial_json_parser

from .analysis import analyze
from .check import (
    PLACEHOLDERS,
    Result,
    check_template,
    choose_tokens,
    choose_width,
    find_templates,
    lay_out_result,
    lay_out_summary,
    make_heading,
    make_report,
)
from .delta import Delta
from .description import lay_out, lay_out_example, make_visible
from .display import Display, make_legend, make_line
from .errors import AutoparserError, MissingTemplateError
from .example import Example, make_example, write_example
from .format import ChatFormat
from .lesson import load_lessons
from .message import fold_deltas
from .page import make_page
from .parser import StreamParser
from .renderer import Renderer, load_renderer
from .response import compare_response_template
from .roundtrip import Encode, check_output, check_roundtrips, lay_out_roundtrips
from .source import read_response_template

OK, NOT_PROVEN, BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

_PIECE = 1 << 16


class InputError(Exception):
    """Input that cannot be used; the message is the line that the user sees."""


def main(argv: list[str] | None = None) -> int:
    """Run the command with the given arguments (those of the process by default) and return its exit status.

    Exits by itself, with status 0 or 2, only where argparse does: for ``--help``, ``--version`` and wrong usage.
    """
    arguments = _make_argument_parser().parse_args(argv)
    _prepare_output()
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except (InputError, AutoparserError) as error:
        print(f"chat-autoparser: {make_visible(str(error), layout=False).replace(chr(10), ' ')}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; what Python flushes at exit must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def inspect_template(arguments: argparse.Namespace) -> int:
    """Print a template's format, verdict and a worked example."""
    renderer = _load(arguments)
    lessons = load_lessons(arguments.examples) if arguments.examples else ()
    format = analyze(renderer, examples=lessons)
    if arguments.json:
        _print_json(format.to_dict())
        return OK
    taught = bool(lessons) or renderer is None
    example = write_example(format) if taught or renderer is None else make_example(renderer, format)
    if arguments.html:
        return _write_page(arguments, renderer, format, example)
    display = Display()
    display.print(*lay_out(format))
    for note in _list_placeholders(renderer):
        display.print(make_line(), make_line(("fair", note)))
    for fault in _compare_response_template(arguments.template, format):
        display.print(make_line(), make_line(("fair", f"The response_template of the model disagrees. {fault}")))
    _print_example(display, example)
    return OK


def _write_page(arguments: argparse.Namespace, renderer: Renderer | None, format: ChatFormat, example: Example) -> int:
    """Write the page that `--html` names."""
    output = _read_text(arguments.output) if arguments.output else None
    tools = _read_tools(arguments.tools)
    prompt = _read_text(arguments.prompt) if arguments.prompt else None
    name = str(arguments.template or arguments.examples)
    trips = check_roundtrips(renderer, format) if renderer and not arguments.examples else None
    page = make_page(name, format, renderer, example, output=output, tools=tools, prompt=prompt, trips=trips)
    try:
        arguments.html.write_bytes(page.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"cannot write {arguments.html}: {error.strerror or error}") from None
    print(f"wrote {make_visible(str(arguments.html))}")
    return OK


def _compare_response_template(path: Path | None, format: ChatFormat) -> tuple[str, ...]:
    """Say where the response template that ships with a model disagrees with its chat template."""
    template = read_response_template(path) if path is not None else None
    return compare_response_template(format, template) if template is not None else ()


def _print_example(display: Display, example: Example) -> None:
    written = f"; written from the format: {', '.join(example.written)}" if example.written else ""
    display.print(
        make_line(),
        make_line(("title", "A turn as the model would write it"), ("note", f" (dim: the end of the prompt{written})")),
        *lay_out_example(example),
    )
    if display.coloured:
        display.print(make_line(), make_legend(dict.fromkeys(piece.kind for piece in example.pieces)))


def _list_placeholders(renderer: Renderer | None) -> Iterator[str]:
    """Say which special tokens the template reads though nobody gave them."""
    for name, placeholder in PLACEHOLDERS.items():
        if getattr(renderer, "variables", {}).get(name) == placeholder and name in (getattr(renderer, "source", "") or ""):
            yield f"{name} is not known and stands as {placeholder}: give it with --{name.replace('_', '-')}"


def parse_output(arguments: argparse.Namespace) -> int:
    """Read a model's raw output from standard input and print the message, or its deltas as they come."""
    tools = _read_tools(arguments.tools)
    prompt = _read_text(arguments.prompt) if arguments.prompt else None
    format = analyze(_load(arguments), examples=load_lessons(arguments.examples) if arguments.examples else ())
    if sys.stdin is None:
        raise InputError("there is no standard input to read the model's output from")
    if sys.stdin.isatty():
        print("chat-autoparser: reading the model's output from the terminal; end it with Ctrl-D", file=sys.stderr)
    parser = format.parser(tools, prompt)
    deltas: list[Delta] = []
    for delta in _feed_parts(parser, _read_parts(sys.stdin.buffer)):
        deltas.append(delta)
        if arguments.stream:
            _print_json(delta.to_openai(), indent=None)
    if not arguments.stream:
        _print_json(fold_deltas(deltas))
    for index in sorted(parser.incomplete_calls):
        print(f"chat-autoparser: note: {_describe_incomplete(deltas, index)}", file=sys.stderr)
    return OK


def _describe_incomplete(deltas: Iterable[Delta], index: int) -> str:
    """Say which call is incomplete, and what can be read of its arguments so far."""
    pieces = [delta for delta in deltas if delta.kind == "tool_call" and delta.index == index]
    name, written = pieces[0].name, "".join(delta.text for delta in pieces)
    try:
        read = json.dumps(partial_json_parser.loads(written), ensure_ascii=False)
    except ValueError:
        return f"the tool call to {name} is incomplete, before its arguments"
    return f"the tool call to {name} is incomplete; of its arguments there is {read}"


def _feed_parts(parser: StreamParser, parts: Iterable[str]) -> Iterator[Delta]:
    for part in parts:
        yield from parser.feed(part)
    yield from parser.finish()


def _read_parts(stream: BinaryIO) -> Iterator[str]:
    """Read a stream of UTF-8 in pieces as they arrive, without waiting for lines."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    decoded = 0
    while True:
        data: bytes = stream.read1(_PIECE)  # type: ignore[attr-defined]
        pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            place = decoded - pending + error.start
            raise InputError(f"standard input is not valid UTF-8: {error.reason} at byte {place}") from None
        decoded += len(data)
        if text:
            yield text
        if not data:
            return


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid UTF-8: {error.reason} at byte {error.start}") from None


def _read_tools(path: Path | None) -> list[dict[str, Any]] | None:
    """Read a file of OpenAI tool dicts; None where there is none, so the tools are unknown."""
    if path is None:
        return None
    try:
        tools = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(tools, list):
        raise InputError(f'{path} holds no list of tools but {type(tools).__name__}: pass the request\'s "tools"')
    for number, tool in enumerate(tools):
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise InputError(f"{path}: tool {number} has no function with a name")
    return tools


def check_paths(arguments: argparse.Namespace) -> int:
    """Analyse many templates, print what was derived and proven, and tell by the status whether all is."""
    paths = find_templates(arguments.paths)
    lessons = load_lessons(arguments.examples) if arguments.examples else ()
    tokens = _list_tokens(arguments)
    out = Display()
    progress = out if sys.stdout.isatty() else Display(sys.stderr)
    results: list[Result] = []
    if not arguments.json:
        width = choose_width(paths, out.width)
        out.print(make_heading(width))
    with progress.track(len(paths)) as begin:
        for path in paths:
            begin(str(path))
            results.append(check_template(path, tokens, lessons))
            if not arguments.json:
                out.print(lay_out_result(results[-1], width))
    if arguments.json:
        _print_json(make_report(results))
    else:
        out.print(make_line(), lay_out_summary(results))
    return _judge(results)


def check_round_trips(arguments: argparse.Namespace) -> int:
    """Say which turns come back unchanged when their message is rendered with the next turn."""
    renderer = _load_template(arguments)
    format, encode = analyze(renderer), _load_encode(arguments.template)
    if arguments.output:
        results = check_output(renderer, format, _read_text(arguments.output), encode=encode)
    else:
        results = check_roundtrips(renderer, format, encode=encode)
    if arguments.json:
        _print_json([result.to_dict() for result in results])
    else:
        Display().print(*lay_out_roundtrips(results))
    return OK if all(result.fault != "parse" for result in results) else NOT_PROVEN


def _load_encode(path: Path) -> Encode | None:
    """Return how a model folder's tokenizer turns text into tokens; None where there is none or tokenizers is missing."""
    file = path / "tokenizer.json"
    if not file.is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    tokenizer = Tokenizer.from_file(str(file))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def _judge(results: list[Result]) -> int:
    if any(result.unreadable for result in results):
        return BAD_INPUT
    return OK if all(result.proven for result in results) else NOT_PROVEN


def _load(arguments: argparse.Namespace) -> Renderer | None:
    """Load the template; None where there is none and examples stand for it."""
    path: Path | None = arguments.template
    if path is None and not arguments.examples:
        raise InputError("name a template or a model folder, or teach the format with --examples FILE")
    try:
        return _load_template(arguments) if path else None
    except MissingTemplateError:
        if arguments.examples:
            return None
        raise


def _load_template(arguments: argparse.Namespace) -> Renderer:
    return load_renderer(arguments.template, **choose_tokens(arguments.template, _list_tokens(arguments)))


def _list_tokens(arguments: argparse.Namespace) -> dict[str, str]:
    tokens = {"bos_token": arguments.bos_token, "eos_token": arguments.eos_token}
    return {name: token for name, token in tokens.items() if token is not None}


def _print_json(value: Any, indent: int | None = 2) -> None:
    encoding = codecs.lookup(sys.stdout.encoding or "utf-8").name
    print(json.dumps(value, ensure_ascii=encoding != "utf-8", indent=indent), flush=True)


def _prepare_output() -> None:
    """Let what the stream's encoding lacks be printed as an escape: a lone surrogate, or a sign on an old terminal."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


class _ArgumentParser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line, as for every other bad input."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


_DESCRIPTION = """\
Derive a model's output format from its chat template, prove it by reading back what the template renders, and parse
what the model writes into reasoning, content and tool calls."""

_INSPECT = """\
Print the format of a template in words: how a turn begins and ends, how reasoning, content and tool calls are written,
each marker with where it was seen; then what could be proven, and a turn as the model would write it."""

_PARSE = """\
Read a model's raw output from standard input and print the message it stands for as JSON, in the shape of an OpenAI
chat completion. With --stream, print one JSON delta a line, as input arrives."""

_ROUNDTRIP = """\
Write turns as the model would, parse them, put the messages back into the conversation and render it with the next turn:
only where the earlier text comes back unchanged can a server go on from what it has computed. With a tokenizer in the
model's folder, tokens are compared as well."""

_ROUNDTRIP_END = """\
exit status:
  0  the parse loses nothing that the template would have brought back
  1  it does
  2  the input cannot be used"""

_CHECK = """\
Analyse many templates and print what was derived of each, and how much of it was proven."""

_CHECK_END = """\
exit status:
  0  everything of every template is proven
  1  something could not be proven, or a template renders no conversation
  2  a path does not exist or holds no template, or a template cannot be read or compiled"""


def _make_argument_parser() -> argparse.ArgumentParser:
    parser = _ArgumentParser(prog="chat-autoparser", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"chat-autoparser {_find_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    inspect = commands.add_parser("inspect", help="show the format of one template", description=_INSPECT)
    _add_template(inspect)
    inspect.add_argument("--json", action="store_true", help="print the format as data, as ChatFormat.to_dict() gives it")
    inspect.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write a page that shows the format to FILE: a conversation in colours, the verdict, and an output as it "
        "streams in; it needs nothing but a browser",
    )
    inspect.add_argument(
        "--output", type=Path, metavar="FILE", help="with --html, a model's raw output to stream (default: the example)"
    )
    _add_request(inspect)
    inspect.set_defaults(run=inspect_template)

    parse = commands.add_parser("parse", help="turn a model's raw output into a message", description=_PARSE)
    _add_template(parse)
    _add_request(parse)
    parse.add_argument("--stream", action="store_true", help="print one JSON delta a line, as input arrives")
    parse.set_defaults(run=parse_output)

    roundtrip = commands.add_parser(
        "roundtrip",
        help="say whether turns come back unchanged with the next one",
        description=_ROUNDTRIP,
        epilog=_ROUNDTRIP_END,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_template(roundtrip)
    roundtrip.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="text file with a model's raw output to try instead of the turns that the template prints",
    )
    roundtrip.add_argument("--json", action="store_true", help="print the results as JSON")
    roundtrip.set_defaults(run=check_round_trips)

    check = commands.add_parser(
        "check",
        help="analyse many templates and say what is proven",
        description=_CHECK,
        epilog=_CHECK_END,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="a template, a model folder, or a folder that is searched for *.jinja files and model folders",
    )
    _add_tokens(check)
    _add_examples(check)
    check.add_argument("--json", action="store_true", help="print the results as JSON")
    check.set_defaults(run=check_paths)
    return parser


def _add_template(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "template",
        type=Path,
        nargs="?",
        metavar="TEMPLATE|MODEL_DIR",
        help="a file with the Jinja source, a tokenizer_config.json, or a model folder; may be left out where --examples "
        "teach the whole format",
    )
    _add_tokens(parser)
    _add_examples(parser)


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    for name, which in (("bos", "beginning"), ("eos", "end")):
        parser.add_argument(
            f"--{name}-token",
            metavar="TEXT",
            help=f"the {which}-of-text token, for a template without a model's folder "
            f"(default: {PLACEHOLDERS[f'{name}_token']} stands for it)",
        )


def _add_request(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tools",
        type=Path,
        metavar="FILE",
        help="JSON file with the request's list of tools, as the OpenAI API takes it; they give the values of tagged "
        "arguments their types, and with an empty list nothing is a call (default: unknown, a call is recognised by "
        "its markup alone)",
    )
    parser.add_argument(
        "--prompt",
        type=Path,
        metavar="FILE",
        help="text file with the rendered prompt or its tail, which tells whether reasoning is open where the output "
        "begins (default: what the template appends when no switch is set)",
    )


def _add_examples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--examples",
        type=Path,
        metavar="FILE",
        help="JSON file with raw outputs and the messages they mean, a list of "
        '{"text": OUTPUT, "message": {"content": …, "tool_calls": […]}}: they teach what the template does not print',
    )


def _find_version() -> str:
    try:
        return version("chat-autoparser")
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
