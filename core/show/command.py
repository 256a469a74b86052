"""The command ``chat-autoparser``: look at a format, parse with it, compare, certify, and check many templates.

Exit status: 0, or 1 where something was found that each command's help names, or 2 for input that cannot be used, which
one line on standard error names, or 70 for a fault of the program itself.
"""

from __future__ import annotations

import argparse
import codecs
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

from ..analysis import analyze, search_further
from ..ask.budget import Budget
from ..ask.renderer import Renderer
from ..ask.source import read_response_template
from ..converse.roundtrip import check_output, check_roundtrips
from ..delta import Delta
from ..describe.spans import Line, Span, make_visible, split_lines
from ..describe.verdict import lay_out_counterexample, rate, summarise
from ..describe.words import lay_out
from ..errors import AutoparserError, MissingTemplateError
from ..export.certificate import FILE_NAME, is_certificate, load_certificate, make_certificate
from ..export.response import compare_response_template
from ..format import ChatFormat
from ..message import fold_deltas
from .difference import compare, cross, lay_out_changes
from .display import Display
from .doctor import examine, lay_out_findings
from .options import BAD_INPUT, BROKEN, FOUND, INTERRUPTED, OK, PIPE_CLOSED, make_argument_parser
from .overview import Result, choose_width, lay_out_result, lay_out_summary, make_heading, make_report
from .page import make_page
from .sources import (
    InputError,
    find_path,
    find_templates,
    list_templates,
    load_template,
    read_text,
    read_tools,
    write_text,
)
from .turns import KnownTurn, cut_pieces, describe_incomplete, lay_out_roundtrips, list_turns, pick_example, say_switches

_PIECE = 1 << 16
_BUDGET = Budget(seconds=60)
"""A person who waits can interrupt, and the machine may be busy."""


def main(argv: list[str] | None = None) -> int:
    """Run the command with the given arguments (those of the process by default) and return its exit status.

    Exits by itself, with status 0 or 2, only where argparse does: for ``--help``, ``--version`` and wrong usage.
    """
    try:
        try:
            arguments = make_argument_parser(_ACTIONS).parse_args(argv)
            _prepare_output()
            status: int = arguments.run(arguments)
        finally:
            sys.stdout.flush()
        return status
    except AutoparserError as error:
        _tell(str(error))
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; what Python flushes at exit must not fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        _tell(
            f"{type(error).__name__}: {error}. This is a fault of the program: python -X dev -m chat_autoparser … shows where it is"
        )
        return BROKEN


def _tell(text: str) -> None:
    """Say in one line on standard error what is the matter."""
    print(f"chat-autoparser: {make_visible(text).replace(chr(10), ' ')}", file=sys.stderr)


# inspect


def inspect_template(arguments: argparse.Namespace) -> int:
    """Print a template's format, verdict and a worked example."""
    if not arguments.html:
        _refuse(arguments, "without --html", "output", "tools", "prompt", "policy")
    renderer = _load(arguments)
    format = _analyze(renderer, arguments)
    if arguments.json:
        _print_json(format.to_dict())
        return OK
    turns = list_turns(renderer, format)
    if arguments.html:
        return _write_page(arguments, renderer, format, turns)
    display = Display()
    display.print(*lay_out(format))
    for note in _list_notes(arguments, format):
        display.print(Line(), Line.of(("fair", make_visible(note))))
    _print_example(display, pick_example(turns))
    return OK


def _list_notes(arguments: argparse.Namespace, format: ChatFormat) -> Iterator[str]:
    """Say what was assumed, and where another source disagrees."""
    if arguments.switches:
        yield f"Assumed in every request: {say_switches(tuple(arguments.switches))}"
    if arguments.template is None:
        return
    path = find_path(arguments.template)
    names = list_templates(path)
    if len(names) > 1 and arguments.name is None:
        yield f"There are several templates, {', '.join(names)}: chosen as transformers does; --template NAME picks one"
    template = read_response_template(path)
    for fault in compare_response_template(format, template) if template is not None else ():
        yield f"The response_template of the model disagrees. {fault}"


def _print_example(display: Display, turn: KnownTurn | None) -> None:
    if turn is None:
        return
    pieces = list(cut_pieces(turn))
    under = f" with {say_switches(turn.switches)}" if turn.switches else ""
    display.print(
        Line(),
        Line.of(("title", f"A turn as the model writes it{under}"), ("note", " (dim: the end of the prompt)")),
        *split_lines([Span("note", turn.added), *pieces], "    "),
    )
    display.print_legend(dict.fromkeys(piece.kind for piece in pieces))


def _write_page(arguments: argparse.Namespace, renderer: Renderer | None, format: ChatFormat, turns: list[KnownTurn]) -> int:
    """Write the page that `--html` names."""
    output = read_text(arguments.output) if arguments.output else None
    prompt = read_text(arguments.prompt) if arguments.prompt else None
    name = str(arguments.template or arguments.examples)
    notes = list(_list_notes(arguments, format))
    trips = check_roundtrips(renderer, format) if renderer and not arguments.examples else None
    parser = format.parser(read_tools(arguments.tools), prompt, policy=arguments.policy or "lenient") if output else None
    page = make_page(name, format, renderer, turns, output=output, parser=parser, notes=notes, trips=trips)
    write_text(arguments.html, page)
    print(f"wrote {make_visible(str(arguments.html))}")
    return OK


# parse


def parse_output(arguments: argparse.Namespace) -> int:
    """Read a model's raw output from standard input and print the message, or its deltas as they come."""
    if arguments.prompt:
        _refuse(arguments, "beside --prompt, which tells where the output begins", "switches")
    tools = read_tools(arguments.tools)
    prompt = read_text(arguments.prompt) if arguments.prompt else None
    format = _analyze(_load(arguments), arguments)
    if sys.stdin is None:
        raise InputError("there is no standard input to read the model's output from")
    if sys.stdin.isatty():
        _tell("reading the model's output from the terminal; end it with Ctrl-D")
    parser = format.parser(tools, prompt, policy=arguments.policy or "lenient")
    deltas: list[Delta] = []
    for part in chain(_read_parts(sys.stdin.buffer), [None]):
        found = parser.finish() if part is None else parser.feed(part)
        deltas += found
        for delta in found if arguments.stream else ():
            _print_json(delta.to_openai(), indent=None)
    if not arguments.stream:
        _print_json(fold_deltas(deltas))
    for name, place in parser.recoveries:
        _tell(f"note: off the script at character {place}: {name}")
    for index in sorted(parser.incomplete_calls):
        _tell(f"note: {describe_incomplete(deltas, index)}")
    return OK


def _read_parts(stream: BinaryIO) -> Iterator[str]:
    """Read a stream of UTF-8 in pieces as they arrive, without waiting for lines."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    decoded, data = 0, b"-"
    while data:
        data = stream.read1(_PIECE)  # type: ignore[attr-defined]
        pending = len(decoder.getstate()[0])
        try:
            yield decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            place = decoded - pending + error.start
            raise InputError(f"standard input is not valid UTF-8: {error.reason} at byte {place}") from None
        decoded += len(data)


# check, diff, doctor, certify


def check_paths(arguments: argparse.Namespace) -> int:
    """Analyse many templates, print what was derived and proven, and tell by the status whether all is."""
    paths = find_templates(arguments.paths)
    out = Display()
    progress = out if sys.stdout.isatty() else Display(sys.stderr)
    width = choose_width(paths, out.width)
    results = []
    if not arguments.json:
        out.print(make_heading(width))
    with progress.track(len(paths)) as begin:
        for path in paths:
            begin(str(path))
            results.append(_check(path, arguments))
            found = results[-1].format
            if not arguments.json:
                out.print(lay_out_result(results[-1], width))
                if arguments.search and found and found.verdict.counterexample:
                    out.print(*lay_out_counterexample(found.verdict.counterexample))
    if arguments.json:
        _print_json(make_report(results))
    else:
        out.print(Line(), lay_out_summary(results))
    unreadable = [result for result in results if result.unreadable]
    if unreadable:
        more = f" ({len(unreadable) - 1} more cannot be read either)" if len(unreadable) > 1 else ""
        _tell(f"{unreadable[0].path}: {unreadable[0].error}{more}")
        return BAD_INPUT
    return OK if all(result.proven for result in results) else FOUND


def _check(path: Path, arguments: argparse.Namespace) -> Result:
    """Load and analyse one template; whatever is wrong with it is in the result."""
    start, renderer = perf_counter(), None
    try:
        renderer = _load_named(str(path), arguments)
        format = _analyze(renderer, arguments)
    except AutoparserError as error:
        return Result(path, perf_counter() - start, error=str(error), unreadable=renderer is None)
    return Result(path, perf_counter() - start, format)


def show_difference(arguments: argparse.Namespace) -> int:
    """Say what changed in the format from one template to another."""
    renderers, formats = [], []
    for path in (arguments.first, arguments.second):
        try:
            renderers.append(_load_named(path, arguments))
            formats.append(analyze(renderers[-1].within(_BUDGET)))
        except AutoparserError as error:
            raise error if path in str(error) else InputError(f"{path}: {error}") from None
    one, other = formats
    changes = compare(one, other)
    crossings = [cross(renderers[0], one, other), cross(renderers[1], other, one)]
    data = {"changes": list(map(asdict, changes)), "read": list(map(asdict, crossings))}
    _show(arguments, data, lay_out_changes(changes, crossings))
    return FOUND if changes or one.graph != other.graph else OK


def examine_model(arguments: argparse.Namespace) -> int:
    """Say which built-in parsers of the installed engines read a model's turns, and the flags to use."""
    path = find_path(arguments.model)
    if not path.is_dir():
        raise InputError(f"{arguments.model} is no model folder: the engines' parsers need the tokenizer that lies in it")
    renderer = load_template(arguments.model, arguments.name, dict(arguments.switches))
    format = analyze(renderer.within(_BUDGET))
    findings = examine(path, renderer, format, Display(sys.stderr))
    _show(arguments, list(map(asdict, findings)), lay_out_findings(findings))
    return OK if any(finding.best_reads_all for finding in findings) else FOUND


def certify(arguments: argparse.Namespace) -> int:
    """Write a certificate, or hold one against its template."""
    renderer = _load_needed(arguments, "a certificate belongs to a template: name one")
    if arguments.verify:
        _refuse(arguments, "beside --verify, which analyses nothing", "examples")
        format = load_certificate(arguments.verify, renderer)
        print(f"{make_visible(str(arguments.verify))} fits the template: {summarise(format.verdict)}")
        return OK if rate(format.verdict) == "good" else FOUND
    path = find_path(arguments.template)
    target: Path = arguments.to or (path if path.is_dir() else path.parent) / FILE_NAME
    if target.exists() and not is_certificate(target):
        raise InputError(f"{target} is no certificate, and is left as it is: name another file with --to")
    format = _analyze(renderer, arguments)
    write_text(target, json.dumps(make_certificate(renderer, format), ensure_ascii=False) + "\n")
    for name, text in renderer.unknown_tokens.items():
        _tell(f"warning: {name} was not given, and stands as {text}: a server that knows it will refuse this certificate")
    print(f"wrote {make_visible(str(target))}: {summarise(format.verdict)}")
    return OK if rate(format.verdict) == "good" else FOUND


# roundtrip


def check_round_trips(arguments: argparse.Namespace) -> int:
    """Say which turns come back unchanged when their message is rendered with the next turn."""
    renderer = _load_needed(arguments, "round trips need a template: name one")
    format, encode = _analyze(renderer, arguments), _load_encode(find_path(arguments.template))
    parse = partial(format.parse, policy=arguments.policy or "lenient")
    if arguments.output:
        results = check_output(renderer, format, read_text(arguments.output), parse=parse, encode=encode)
    else:
        results = check_roundtrips(renderer, format, parse=parse, encode=encode)
    _show(arguments, [result.to_dict() for result in results], lay_out_roundtrips(results))
    return OK if all(result.fault != "parse" for result in results) else FOUND


def _load_encode(path: Path) -> Callable[[str], list[int]] | None:
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


# What all of them need


def _load_named(given: str, arguments: argparse.Namespace) -> Renderer:
    """Load a template with the options of a command."""
    tokens = {name: token for name in ("bos_token", "eos_token") if (token := getattr(arguments, name)) is not None}
    return load_template(given, arguments.name, dict(arguments.switches), **tokens)


def _load_needed(arguments: argparse.Namespace, need: str) -> Renderer:
    """Load the template; ``need`` says what cannot do without."""
    if arguments.template is None:
        raise InputError(need)
    return _load_named(arguments.template, arguments)


def _load(arguments: argparse.Namespace) -> Renderer | None:
    """Load the template; None where there is none and examples stand for it."""
    if arguments.examples and arguments.template is None:
        _refuse(arguments, "without a template", "name", "switches", "bos_token", "eos_token")
        return None
    try:
        return _load_needed(arguments, "name a template or a model folder, or teach the format with --examples FILE")
    except MissingTemplateError:
        if arguments.examples:
            return None
        raise


def _refuse(arguments: argparse.Namespace, reason: str, *names: str) -> None:
    """Refuse options that would do nothing."""
    for name in names:
        if getattr(arguments, name):
            option = {"name": "template", "switches": "set"}.get(name, name.replace("_", "-"))
            raise InputError(f"--{option} does nothing {reason}")


def _analyze(renderer: Renderer | None, arguments: argparse.Namespace) -> ChatFormat:
    format = analyze(renderer and renderer.within(_BUDGET), examples=arguments.examples)
    seconds = getattr(arguments, "search", 0)
    return search_further(format, renderer, seconds) if renderer and seconds else format


def _show(arguments: argparse.Namespace, data: Any, lines: Iterable[Line]) -> None:
    """Print a result as data or in lines, as the options have it."""
    if arguments.json:
        _print_json(data)
    else:
        Display().print(*lines)


def _print_json(value: Any, indent: int | None = 2) -> None:
    encoding = codecs.lookup(sys.stdout.encoding or "utf-8").name
    print(json.dumps(value, ensure_ascii=encoding != "utf-8", indent=indent), flush=True)


def _prepare_output() -> None:
    """Let what the stream's encoding lacks be printed as an escape: a lone surrogate, or a sign on an old terminal."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


_ACTIONS = {
    "inspect": inspect_template,
    "parse": parse_output,
    "check": check_paths,
    "roundtrip": check_round_trips,
    "diff": show_difference,
    "doctor": examine_model,
    "certify": certify,
}
