"""The options of the command, and what its help says."""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from math import inf
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple, NoReturn

from ..export.certificate import find_version

try:
    import shtab
except ImportError:
    shtab = None

OK, FOUND, BAD_INPUT, BROKEN, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 70, 130, 141

_WIDTH = 100
_TEXT = (
    "Derive a model's output format from its chat template, prove it by reading back what the template renders, and parse "
    "what the model writes into reasoning, content and tool calls."
)
_BAD = "2  the input or an option cannot be used; one line on standard error says why"
_EPILOG = f"""\
exit status:
  0    done, and nothing was found wrong
  1    done, and something was found: not proven, lost in a round trip, different (each command's help says what)
  {_BAD.replace("  ", "    ", 1)}
  70   a fault of this program, which one line on standard error names
  130  interrupted
  141  the reader of the output has gone"""


class _Command(NamedTuple):
    """A command: in a line, in full, what status 1 means, and its options by name; a tuple of them excludes each other."""

    short: str
    text: str
    found: str
    options: tuple[str | tuple[str, ...], ...]


_READING = ("--template", "--set", "--bos-token", "--eos-token")
_COMMANDS = {
    "inspect": _Command(
        "show the format of one template",
        "Print the format of a template in words: the verdict, how a turn begins and ends, how reasoning, content and tool calls "
        "are written, and a turn as the model would write it. --output, --tools, --prompt and --policy belong to --html.",
        "",
        ("template", *_READING, "--examples", ("--json", "--html"), "--output", "--tools", "--prompt", "--policy"),
    ),
    "parse": _Command(
        "turn a model's raw output into a message",
        "Read a model's raw output from standard input and print the message it stands for as JSON, in the shape of an OpenAI "
        "chat completion. With --stream, print one JSON delta a line, as input arrives.",
        "",
        ("template", *_READING, "--examples", "--tools", "--prompt", "--policy", "--stream"),
    ),
    "check": _Command(
        "analyse many templates and say what is proven",
        "Analyse many templates and print what was derived of each, and how much of it was proven.",
        "something could not be proven, or a template renders no conversation",
        ("paths", *_READING, "--examples", "--search", "--json"),
    ),
    "roundtrip": _Command(
        "say whether turns come back unchanged with the next one",
        "Write turns as the model would, parse them, put the messages back into the conversation and render it with the next "
        "turn: only where the earlier text comes back unchanged can a server go on from what it has computed. With a tokenizer in "
        "the model's folder, tokens are compared as well. With --output, that output is tried in place of the template's turns.",
        "the parse loses something that the template would have brought back",
        ("template", *_READING, "--examples", "--output", "--policy", "--json"),
    ),
    "diff": _Command(
        "say what changed between two templates",
        "Say what changed in the format between two revisions of a template, and how many of the turns of one are still read by "
        "the format of the other.",
        "the formats differ",
        ("first", "second", *_READING, "--json"),
    ),
    "doctor": _Command(
        "say which parser of an engine a model needs",
        "Say which built-in parsers of the vLLM or SGLang that is installed here read the turns that this model's template "
        "renders, how many, and how each of the others differs; then the flags to use. The parsers run in this process, "
        "without a server or a model.",
        "no built-in parser reads all turns",
        ("model", "--template", "--set", "--json"),
    ),
    "certify": _Command(
        "store a format and its proof beside a model",
        "Write the format, the hash of its template and the proof as one JSON file that can be stored beside a model. With "
        "--verify, say instead whether a file still fits the template: that takes milliseconds, as no template is analysed.",
        "something is not proven (the file is written all the same)",
        ("template", *_READING, "--examples", ("--to", "--verify")),
    ),
}


def read_switch(text: str) -> tuple[str, Any]:
    """Read ``switch=value``: true, false, null, numbers and JSON are what they say, anything else is text.

    Raises what argparse wants of what is none.
    """
    name, equals, written = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form switch=value")
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return name.strip(), read(written)
    return name.strip(), written


def _read_seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return seconds


def _take_file(text: str) -> dict[str, Any]:
    return {"type": Path, "metavar": "FILE", "help": text}


_OPTIONS: dict[str, dict[str, Any]] = {
    "template": {
        "nargs": "?",
        "metavar": "TEMPLATE|MODEL_DIR",
        "help": "a file with the Jinja source, a tokenizer_config.json, a model folder, or the name of a model in the hub's cache "
        "on this machine; may be left out where --examples teach the whole format",
    },
    "paths": {
        "nargs": "+",
        "metavar": "PATH",
        "help": "a template, a model folder, or a folder that is searched for *.jinja files and model folders",
    },
    "first": {"metavar": "TEMPLATE", "help": "the first template or model folder"},
    "second": {"metavar": "TEMPLATE", "help": "the second template or model folder"},
    "model": {"metavar": "MODEL_DIR", "help": "a model folder with its tokenizer, or the name of one in the hub's cache"},
    "--template": {"dest": "name", "metavar": "NAME", "help": "which template, where a file or folder has several"},
    "--set": {
        "type": read_switch,
        "dest": "switches",
        "action": "append",
        "default": [],
        "metavar": "SWITCH=VALUE",
        "help": "a template argument that holds in all requests, such as enable_thinking=false; may be given several times",
    },
    **{
        f"--{name}-token": {
            "metavar": "TEXT",
            "help": f"the {which}-of-text token, for a template without a model's folder (default: <{name}_token> stands for it)",
        }
        for name, which in (("bos", "beginning"), ("eos", "end"))
    },
    "--examples": _take_file(
        'JSON file with raw outputs and the messages they mean, a list of {"text": OUTPUT, "message": {"content": …, "tool_calls": '
        "[…]}}: they teach what the template does not print",
    ),
    "--search": {
        "type": _read_seconds,
        "default": 0,
        "metavar": "SECONDS",
        "help": "look so long for a turn of each that is misread, beyond those of the proof",
    },
    "--json": {"action": "store_true", "help": "print the result as JSON"},
    "--html": _take_file(
        "write a page that shows the format to FILE: the verdict, a conversation in colours, and an output as it streams in; it "
        "needs nothing but a browser",
    ),
    "--output": _take_file("text file with a model's raw output"),
    "--tools": _take_file(
        "JSON file with the request's list of tools, as the OpenAI API takes it; they give the values of tagged arguments their "
        "types, and with an empty list nothing is a call (default: unknown, a call is recognised by its markup alone)",
    ),
    "--prompt": _take_file(
        "text file with the rendered prompt or its tail, which tells whether reasoning is open where the output begins (default: "
        "what the template appends)",
    ),
    "--policy": {
        "choices": ("strict", "lenient", "repair"),
        "help": "what to do where the output is none that the template renders: nothing, recover what was meant (default), or make "
        "arguments valid JSON as well, as vLLM and SGLang read it with this package",
    },
    "--stream": {"action": "store_true", "help": "print one JSON delta a line, as input arrives"},
    "--to": _take_file("the file to write (default: chat_autoparser.json in the model's folder)"),
    "--verify": _take_file("the file to hold against the template"),
}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line, as for every other bad input, and what may be meant."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **given)

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '([^']+)'|unrecognized arguments: (\S+)", message)
        alike = get_close_matches(wrong[1] or wrong[2], [*_COMMANDS, *_OPTIONS], 1) if wrong else []
        meant = f" Did you mean {alike[0]}?" if alike else ""
        self.exit(BAD_INPUT, f"{self.prog}: {message}.{meant} (see {self.prog} --help)\n")


def make_argument_parser(actions: Mapping[str, Callable[[argparse.Namespace], int]]) -> argparse.ArgumentParser:
    """Return what reads the command's arguments; ``actions`` are the functions behind its commands."""
    parser = _Parser(prog="chat-autoparser", description=fill(_TEXT, _WIDTH), epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"chat-autoparser {find_version()}")
    text = "print a script that completes this command in a shell, such as bash or zsh"
    if shtab:
        shtab.add_argument_to(parser, help=text)
    else:
        parser.add_argument("--print-completion", metavar="SHELL", type=_miss_completion, help=f"{text} (of the extra 'cli')")
    group = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (short, text, found, options) in _COMMANDS.items():
        statuses = ["0  done" + (", and none of what status 1 means" if found else ""), *([f"1  {found}"] if found else []), _BAD]
        epilog = "\n  ".join(["exit status:", *statuses])
        command = group.add_parser(name, help=short, description=fill(text, _WIDTH), epilog=epilog)
        command.set_defaults(run=actions[name])
        for option in options:
            among: Any = command if isinstance(option, str) else command.add_mutually_exclusive_group()
            for each in (option,) if isinstance(option, str) else option:
                action = among.add_argument(each, **_OPTIONS[each])
                if shtab and (_OPTIONS[each].get("type") is Path or not each.startswith("-")):
                    action.complete = shtab.FILE
    return parser


def _miss_completion(shell: str) -> NoReturn:
    raise argparse.ArgumentTypeError("this needs the package shtab: pip install 'chat-autoparser[cli]'")
