"""The options of the command, and what its help says."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ..export.certificate import find_version
from .sources import PLACEHOLDERS, read_switch

OK, FOUND, BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

_DESCRIPTION = """\
Derive a model's output format from its chat template, prove it by reading back what the template renders, and parse
what the model writes into reasoning, content and tool calls."""

_EPILOG = """\
exit status:
  0    done, and nothing was found wrong
  1    done, and something was found: not proven, lost in a round trip, different (each command's help says what)
  2    the input or an option cannot be used; one line on standard error says why
  130  interrupted
  141  the reader of the output has gone"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line, as for every other bad input."""

    def __init__(self, **given: Any) -> None:
        settings = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
        super().__init__(**{**settings, **given})

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Commands:
    """Adds commands, each with its text and the meaning of its exit status."""

    def __init__(self, parser: _Parser, actions: Mapping[str, Callable[[argparse.Namespace], int]]) -> None:
        self._group = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
        self._actions = actions

    def add(self, name: str, short: str, text: str, found: str = "") -> _Parser:
        """Add a command; ``found`` is what status 1 means."""
        statuses = ["exit status:", "  0  done" + (", and none of what status 1 means" if found else "")]
        statuses += [f"  1  {found}"] if found else []
        statuses.append("  2  the input or an option cannot be used; one line on standard error says why")
        command: _Parser = self._group.add_parser(name, help=short, description=text, epilog="\n".join(statuses))
        command.set_defaults(run=self._actions[name])
        return command


def make_argument_parser(actions: Mapping[str, Callable[[argparse.Namespace], int]]) -> argparse.ArgumentParser:
    """Return what reads the command's arguments; ``actions`` are the functions behind its commands."""
    parser = _Parser(prog="chat-autoparser", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"chat-autoparser {find_version()}")
    commands = _Commands(parser, actions)
    _add_inspect(commands)
    _add_parse(commands)
    _add_check(commands)
    _add_roundtrip(commands)
    _add_diff(commands)
    _add_doctor(commands)
    _add_certify(commands)
    _add_completion(parser)
    return parser


def _add_inspect(commands: _Commands) -> None:
    text = """\
Print the format of a template in words: the verdict, how a turn begins and ends, how reasoning, content and tool calls
are written, and a turn as the model would write it."""
    command = commands.add("inspect", "show the format of one template", text)
    _add_template(command)
    shown = command.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print the format as data, as ChatFormat.to_dict() gives it")
    shown.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write a page that shows the format to FILE: the verdict, a conversation in colours, and an output as it "
        "streams in; it needs nothing but a browser",
    )
    _add_output(command, "with --html, text file with a model's raw output to stream (default: the example)")
    _add_request(command, "with --html: ")


def _add_parse(commands: _Commands) -> None:
    text = """\
Read a model's raw output from standard input and print the message it stands for as JSON, in the shape of an OpenAI
chat completion. With --stream, print one JSON delta a line, as input arrives."""
    command = commands.add("parse", "turn a model's raw output into a message", text)
    _add_template(command)
    _add_request(command)
    command.add_argument("--stream", action="store_true", help="print one JSON delta a line, as input arrives")


def _add_check(commands: _Commands) -> None:
    text = "Analyse many templates and print what was derived of each, and how much of it was proven."
    found = "something could not be proven, or a template renders no conversation"
    command = commands.add("check", "analyse many templates and say what is proven", text, found)
    command.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a template, a model folder, or a folder that is searched for *.jinja files and model folders",
    )
    _add_reading(command)
    _add_examples(command)
    command.add_argument(
        "--search", type=float, default=0, metavar="SECONDS", help="look so long for a turn of each that is misread"
    )
    command.add_argument("--json", action="store_true", help="print the results as JSON")


def _add_roundtrip(commands: _Commands) -> None:
    text = """\
Write turns as the model would, parse them, put the messages back into the conversation and render it with the next turn:
only where the earlier text comes back unchanged can a server go on from what it has computed. With a tokenizer in the
model's folder, tokens are compared as well."""
    found = "the parse loses something that the template would have brought back"
    command = commands.add("roundtrip", "say whether turns come back unchanged with the next one", text, found)
    _add_template(command)
    _add_output(command, "text file with a model's raw output to try instead of the turns that the template prints")
    command.add_argument("--json", action="store_true", help="print the results as JSON")


def _add_diff(commands: _Commands) -> None:
    text = """\
Say what changed in the format between two revisions of a template, and how many of the turns of one are still read by
the format of the other."""
    command = commands.add("diff", "say what changed between two templates", text, "the formats differ")
    for place in ("first", "second"):
        command.add_argument(place, metavar="TEMPLATE", help=f"the {place} template or model folder")
    _add_reading(command)
    command.add_argument("--json", action="store_true", help="print the differences as JSON")


def _add_doctor(commands: _Commands) -> None:
    text = """\
Say which built-in parsers of the vLLM or SGLang that is installed here read the turns that this model's template renders,
how many, and how each of the others differs; then the flags to use. The parsers run in this process, without a server
or a model.
"""
    found = "no built-in parser reads all turns"
    command = commands.add("doctor", "say which parser of an engine a model needs", text, found)
    command.add_argument(
        "model", metavar="MODEL_DIR", help="a model folder with its tokenizer, or the name of one in the hub's cache"
    )
    _add_set(command)
    command.add_argument("--json", action="store_true", help="print the results as JSON")


def _add_certify(commands: _Commands) -> None:
    text = """\
Write the format, the hash of its template and the proof as one JSON file that can be stored beside a model. With --verify,
say instead whether a file still fits the template: that takes milliseconds, as no template is analysed."""
    found = "something is not proven (the file is written all the same)"
    command = commands.add("certify", "store a format and its proof beside a model", text, found)
    _add_template(command)
    target = command.add_mutually_exclusive_group()
    target.add_argument(
        "--to", type=Path, metavar="FILE", help="the file to write (default: chat_autoparser.json in the model's folder)"
    )
    target.add_argument("--verify", type=Path, metavar="FILE", help="the file to hold against the template")


def _add_template(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "template",
        nargs="?",
        metavar="TEMPLATE|MODEL_DIR",
        help="a file with the Jinja source, a tokenizer_config.json, a model folder, or the name of a model in the hub's "
        "cache on this machine; may be left out where --examples teach the whole format",
    )
    _add_reading(parser)
    _add_examples(parser)


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Add what tells how a template is to be read."""
    parser.add_argument("--template", dest="name", metavar="NAME", help="which template, where a file or folder has several")
    _add_set(parser)
    for name, which in (("bos", "beginning"), ("eos", "end")):
        parser.add_argument(
            f"--{name}-token",
            metavar="TEXT",
            help=f"the {which}-of-text token, for a template without a model's folder "
            f"(default: {PLACEHOLDERS[f'{name}_token']} stands for it)",
        )


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        dest="switches",
        action="append",
        default=[],
        type=_read_switch,
        metavar="SWITCH=VALUE",
        help="a template argument that holds in all requests, such as enable_thinking=false; may be given several times",
    )


def _read_switch(text: str) -> tuple[str, Any]:
    try:
        return read_switch(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _add_output(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--output", type=Path, metavar="FILE", help=text)


def _add_request(parser: argparse.ArgumentParser, when: str = "") -> None:
    parser.add_argument(
        "--tools",
        type=Path,
        metavar="FILE",
        help=f"{when}JSON file with the request's list of tools, as the OpenAI API takes it; they give the values of tagged "
        "arguments their types, and with an empty list nothing is a call (default: unknown, a call is recognised by "
        "its markup alone)",
    )
    parser.add_argument(
        "--prompt",
        type=Path,
        metavar="FILE",
        help=f"{when}text file with the rendered prompt or its tail, which tells whether reasoning is open where the output "
        "begins (default: what the template appends)",
    )


def _add_examples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--examples",
        type=Path,
        metavar="FILE",
        help="JSON file with raw outputs and the messages they mean, a list of "
        '{"text": OUTPUT, "message": {"content": …, "tool_calls": […]}}: they teach what the template does not print',
    )


def _add_completion(parser: argparse.ArgumentParser) -> None:
    """Let shtab, where it is installed, print completions: chat-autoparser --print-completion bash."""
    try:
        import shtab
    except ImportError:
        return
    shtab.add_argument_to(parser, help="print a script that completes this command in a shell")
