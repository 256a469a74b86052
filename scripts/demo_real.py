"""A real model with real weights behind a real chat template, served by a real engine; run by scripts/demo.sh.

    python scripts/demo_real.py [--engine vllm] [--keep]

Nothing is scripted: what comes is what the model samples. It is among the smallest that can hold a conversation (135 million
parameters), and was never taught to call tools. It is asked two things: to answer freely, and to call a tool, where the
server holds it to calls by a grammar made from the derived format. Ends with 5 where the model cannot be had.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from conversations import make_tool
from corpus import UnknownTemplateError, find_template
from demo import print_title
from demo_client import keep_up, show_command, show_message, show_reply, show_server, stop_on_signal, watch
from real_model import FOLDER, NAME, RealModelError, list_command, make_real_model, serve_real_model
from serving import STAND_INS, ServerError

from chat_autoparser.describe.spans import Line
from chat_autoparser.show.display import Display

TEMPLATE = "Qwen-Qwen3-0.6B"
"""In the style of markers that the model was trained on, with calls that it was not."""
UNAVAILABLE = 5

TOOLS = [
    make_tool(
        "get_weather",
        "Get the current weather in a city.",
        {
            "city": {"type": "string", "description": "The name of the city.", "maxLength": 40},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        ["city", "unit"],
        additionalProperties=False,
    )
]
_PLAIN = {"chat_template_kwargs": {"enable_thinking": False}}
"""The model was not taught to reason before it answers, so the template's switch for that is off."""


def _ask(question: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return {"model": NAME, "messages": messages, "temperature": 0.3, "seed": 1, "extra_body": _PLAIN, **more}


FREE = _ask("Tell me about the city of Oslo in two sentences.", max_tokens=80)
CALL = _ask(
    "What is the weather in Paris, in celsius?",
    max_tokens=200,
    tools=TOOLS,
    tool_choice="required",
    parallel_tool_calls=False,
)


def main() -> int:
    """Run the demonstration. Exit status 1 if the server does not come up, 5 if the model cannot be had."""
    parser = argparse.ArgumentParser(description="Show a real server at work on a real model.")
    parser.add_argument("--engine", choices=("vllm", "sglang"), default="vllm")
    parser.add_argument("--keep", action="store_true", help="leave the server up until Ctrl-C")
    options = parser.parse_args()
    stop_on_signal()
    display = Display()
    try:
        source = find_template(TEMPLATE).read_text("utf-8")
        model = make_real_model(source, FOLDER / "with" / TEMPLATE)
    except (RealModelError, UnknownTemplateError) as error:
        print(f"demo: the real model cannot be had: {error}", file=sys.stderr)
        return UNAVAILABLE
    remark = f"{NAME}, with the chat template of {TEMPLATE}, {len(source.splitlines())} lines of Jinja"
    print_title(display, "1. A real model", remark)
    path = [STAND_INS] if options.engine == "sglang" else []
    show_command(display, list_command(options.engine, model), path)
    try:
        with serve_real_model(options.engine, model, model / "log", watch=watch) as server:
            show_server(display, server)
            _show_question(display, "3. Asked freely", FREE)
            show_reply(display, server, FREE)
            _show_question(display, "4. Held to a call of get_weather(city, unit), by tool_choice", CALL)
            message = show_reply(display, server, CALL)
            print_title(display, "5. The message", "of the second answer")
            show_message(display, message)
            display.print(Line.of(), Line.of(("note", f"  {_judge(message)}")))
            if options.keep:
                keep_up(display, server, CALL)
    except ServerError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    display.print(Line.of(), Line.of(("note", "  (the server is stopped)")))
    return 0


def _show_question(display: Display, title: str, request: dict[str, Any]) -> None:
    print_title(display, title, "what the openai client gets, piece by piece")
    display.print(Line.of(("label", "             question   "), ("text", request["messages"][0]["content"])), Line.of())


def _judge(message: dict[str, Any]) -> str:
    """What can be said of the call, in a sentence."""
    calls = [call["function"] for call in message["tool_calls"]]
    if not calls:
        return f"No call came: finish_reason is {message['finish']}."
    try:
        arguments = json.loads(calls[0]["arguments"])
    except ValueError:
        return f"The call was cut: finish_reason is {message['finish']}."
    if set(arguments) != {"city", "unit"}:
        return f"The call does not obey its schema: {arguments}"
    return "The model chose the words, under a grammar that allows calls alone; its format was derived from the template."


if __name__ == "__main__":
    sys.exit(main())
