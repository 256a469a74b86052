"""Real chat templates of different shape, and what models would write with them.

The text of a turn is what the template renders for known fields: nothing here comes from an analysis or from the parser.
Where a marker begins and ends was read off renders by eye, and is checked against each render it is used on.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from corpus import read_template
from rendering import BOS, EOS, Template

import chat_autoparser as ca
from chat_autoparser.format import ChatFormat
from chat_autoparser.recover import PolicyName

QUESTION, REASONING, CONTENT = "How many okapis?", "They would count them.", "It is twelve."


@dataclass(frozen=True)
class Sample:
    """A template and its markup.

    ``opener`` is the first markup of a turn's calls, ``closers`` are what ends a call and then all calls, the innermost
    first, and ``end`` is what ends the turn behind them. ``think`` opens and closes reasoning. ``lead`` is what a model
    writes before content, for a template that drops it from a finished turn; else the render shows it.
    """

    template: str
    opener: str
    closers: tuple[str, ...]
    end: str
    think: tuple[str, str] = ("", "")
    lead: str = ""
    switches: dict[str, Any] = field(default_factory=dict)
    id: str = "okapi000{number}"
    between: str = ""
    """What a model writes between reasoning and calls, where each is a message."""
    json_text: bool = False
    """Whether the template wants arguments as JSON text."""
    bare: bool = False
    """Whether calls have no opener of their own, so that the name of a tool must make them calls."""
    headed: bool = False
    """Whether text and calls are messages with headers, or content is wrapped: then text is no content anywhere else."""
    raw: bool = False
    """Whether strings are printed without quotes, so that the marker that ends one ends it wherever it stands."""
    single: bool = False
    """Whether the template prints one call a turn."""


SAMPLES = {
    "JSON in tags": Sample("Qwen-Qwen3-0.6B", "<tool_call>", ("}", "</tool_call>"), "<|im_end|>\n", ("<think>", "</think>")),
    "JSON in tags, reasoning opened by the prompt": Sample(
        "Qwen-QwQ-32B",
        "<tool_call>",
        ("}", "</tool_call>"),
        "<|im_end|>\n",
        ("<think>", "</think>"),
        f"{REASONING}</think>",
        {"enable_thinking": True},
    ),
    "JSON behind two markers": Sample(
        "internlm-Intern-S1-mini",
        "<|action_start|>",
        ("}", "<|action_end|>"),
        "<|im_end|>\n",
        ("<think>", "</think>"),
    ),
    "JSON array": Sample("mistralai-Mistral-Nemo-Instruct-2407", "[TOOL_CALLS]", ("}", "]"), "</s>"),
    "JSON array of nested objects": Sample("kerzgrr-Monostich-2-base", "<|tool_call|>", ("}", "}", "]"), "<|im_end|>\n"),
    "JSON array, content wrapped": Sample(
        "Cohere2MoE",
        "<|START_ACTION|>",
        ("}", "]", "<|END_ACTION|>"),
        "<|END_OF_TURN_TOKEN|>",
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        headed=True,
    ),
    "bare JSON": Sample(
        "ApolloRaines-Llama-3.3-8B-Instruct-128K-Jbliterated", '{"name"', ("}",), "<|eot_id|>", bare=True, single=True
    ),
    "name as key": Sample("Apertus-8B-Instruct", "<|tools_prefix|>", ("}", "]", "<|tools_suffix|>"), ""),
    "Python dict in JSON": Sample(
        "ServiceNow-AI-Apriel-1.5-15b-Thinker", "<tool_calls>", ("}", "]", "</tool_calls>"), "\n<|end|>\n</s>"
    ),
    "name in markup": Sample(
        "deepseek-ai-DeepSeek-V3.1",
        "<｜tool▁calls▁begin｜>",
        ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
        "<｜end▁of▁sentence｜>",
    ),
    "name in markup, reasoning only closed": Sample(
        "deepseek-ai-DeepSeek-V3.1",
        "<｜tool▁calls▁begin｜>",
        ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
        "<｜end▁of▁sentence｜>",
        ("<think>", "</think>"),
        f"{REASONING}</think>",
        {"thinking": True},
    ),
    "name in a tag": Sample(
        "kakaocorp-kanana-1.5-8b-instruct-2505", "<function=", ("</function>",), "<|eom_id|>", json_text=True
    ),
    "name between markers": Sample(
        "mistralai-Ministral-3-3B-Reasoning-2512", "[TOOL_CALLS]", (), "</s>", ("[THINK]", "[/THINK]")
    ),
    "name and id between markers": Sample("Mistral-Small-3.2-24B-Instruct-2506", "[TOOL_CALLS]", (), "</s>"),
    "id with name": Sample(
        "moonshotai-Kimi-K2-Thinking",
        "<|tool_calls_section_begin|>",
        ("<|tool_call_end|>", "<|tool_calls_section_end|>"),
        "<|im_end|>",
        ("<think>", "</think>"),
        f"<think>{REASONING}</think>",
        id="functions.{name}:{number}",
    ),
    "tagged arguments": Sample(
        "Qwen-Qwen3-Coder-Next", "<tool_call>", ("</function>", "</tool_call>"), "<|im_end|>\n", raw=True
    ),
    "tagged arguments, reasoning opened by the prompt": Sample(
        "Ddavidich-LOMONOSOV-ZENIT-27B-1M-INDEV",
        "<tool_call>",
        ("</function>", "</tool_call>"),
        "<|im_end|>\n",
        ("<think>", "</think>"),
        switches={"enable_thinking": True},
        raw=True,
    ),
    "tagged names and values": Sample(
        "GLM-4.6", "<tool_call>", ("</tool_call>",), "<|user|>", ("<think>", "</think>"), raw=True
    ),
    "tagged names and values without layout": Sample(
        "GLM-4.7-Flash", "<tool_call>", ("</tool_call>",), "<|user|>", ("<think>", "</think>"), raw=True
    ),
    "invoke tags": Sample(
        "MiniMaxAI-MiniMax-M2.1",
        "<minimax:tool_call>",
        ("</invoke>", "</minimax:tool_call>"),
        "[e~[\n",
        ("<think>", "</think>"),
        raw=True,
    ),
    "typed tags": Sample(
        "deepseek-ai-DeepSeek-V4",
        "<｜DSML｜tool_calls>",
        ("</｜DSML｜invoke>", "</｜DSML｜tool_calls>"),
        "<｜end▁of▁sentence｜>",
        raw=True,
    ),
    "nested markup": Sample(
        "MiniMaxAI-MiniMax-M3-MXFP8",
        "]<]minimax[>[<tool_call>",
        ("]<]minimax[>[</invoke>", "]<]minimax[>[</tool_call>"),
        "[e~[\n",
        ("<mm:think>", "</mm:think>"),
        raw=True,
    ),
    "call syntax": Sample("allenai-Olmo-3-7B-Instruct", "<function_calls>", ("</function_calls>",), EOS),
    "pythonic": Sample(
        "LFM2.5-8B-A1B",
        "<|tool_call_start|>",
        ("]", "<|tool_call_end|>"),
        "<|im_end|>\n",
        ("<think>", "</think>"),
    ),
    "odd quotes": Sample(
        "google-gemma-4-26B-A4B-it",
        "<|tool_call>",
        ("<tool_call|>",),
        "<|tool_response>",
        ("<|channel>thought\n", "<channel|>"),
        switches={"enable_thinking": True},
    ),
    "channels": Sample(
        "openai-gpt-oss-safeguard-20b",
        " to=functions.",
        (),
        "<|call|>",
        ("<|channel|>analysis<|message|>", "<|end|>"),
        between="<|start|>assistant",
        headed=True,
        single=True,
    ),
    "recipients": Sample("meetkai-functionary-medium-v3.2", "", (), "<|eot_id|>", json_text=True, headed=True),
    "messages": Sample(
        "upstage-Solar-Open-100B",
        "<|tool_calls|>",
        ("<|tool_call:end|>",),
        "<|calls|>",
        ("<|think|>", "<|end|>"),
        between="<|begin|>assistant",
        headed=True,
    ),
}


def _make_tool(name: str, **properties: str) -> dict[str, Any]:
    described = {key: {"type": kind, "description": "What it is."} for key, kind in properties.items()}
    parameters = {"type": "object", "properties": described, "required": []}
    return {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}}


TOOLS = [
    _make_tool("find_okapi", habitat="string", limit="integer", tags="array", frame="object", fenced="boolean"),
    _make_tool("send_card", greeting="string"),
]

Arguments = dict[str, Any]


@cache
def get_format(shape: str) -> ChatFormat:
    """Return the format that is derived from a template; however busy the machine is, it has the time for that."""
    renderer = ca.load_renderer(read_template(SAMPLES[shape].template), bos_token=BOS, eos_token=EOS)
    return ca.analyze(renderer.within(ca.Budget(seconds=600)))


@cache
def _get_template(shape: str) -> Template:
    return Template(read_template(SAMPLES[shape].template))


def _render(shape: str, answer: dict[str, Any] | None) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}, *([answer] if answer else [])]
    template = _get_template(shape)
    text = template.render(messages, TOOLS, answer is None, SAMPLES[shape].switches)
    assert text is not None, template.error
    return text[text.rindex(QUESTION) + len(QUESTION) :]


@cache
def write_prompt(shape: str) -> str:
    """Return the prompt behind the user's question."""
    return _render(shape, None)


@cache
def write_lead(shape: str) -> tuple[str, str | None]:
    """Return what a model writes before content, and the reasoning in it."""
    sample = SAMPLES[shape]
    if sample.lead:
        return sample.lead, REASONING
    names = ("reasoning_content", "reasoning", "thinking")
    reasoning = dict.fromkeys(names, REASONING) if sample.think[0] else {}
    turn, prompt = _render(shape, {"role": "assistant", "content": CONTENT, **reasoning}), write_prompt(shape)
    assert turn.startswith(prompt), (prompt, turn)
    lead = turn[len(prompt) : turn.index(CONTENT)]
    return lead, REASONING if REASONING in lead else None


def write_calls(shape: str, *calls: tuple[str, Arguments]) -> str:
    """Return the text of calls with all the markup around them, as the template prints it."""
    sample = SAMPLES[shape]
    made = []
    for number, (name, arguments) in enumerate(calls):
        given = json.dumps(arguments, ensure_ascii=False) if sample.json_text else arguments
        function = {"name": name, "arguments": given}
        made.append({"id": sample.id.format(name=name, number=number), "type": "function", "function": function})
    turn = _render(shape, {"role": "assistant", "content": "", "tool_calls": made}).removesuffix(sample.end)
    start = turn.index(sample.opener or calls[0][0])
    return turn[start:]


def open_calls(shape: str) -> str:
    """Return what a model writes before calls without content."""
    lead, _ = write_lead(shape)
    close = SAMPLES[shape].think[1]
    if not SAMPLES[shape].headed:
        return lead
    return lead[: lead.index(close) + len(close)] + SAMPLES[shape].between if close else ""


def count_work(
    form: ChatFormat, prompt: str, text: str, step: int, tools: list[dict[str, Any]] = TOOLS, policy: PolicyName = "lenient"
) -> list[int]:
    """Count what a parser calls, Python or C, while it reads each piece of a text, and the end where all is read that was held."""
    parser, count, counts = form.parser(tools, prompt, policy=policy), 0, []

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    pieces = [text[start : start + step] for start in range(0, len(text), step)]
    sys.setprofile(note)
    try:
        for piece in pieces:
            parser.feed(piece)
            counts.append(count)
        parser.finish()
    finally:
        sys.setprofile(None)
    assert "fault" not in (name for name, _ in parser.recoveries)  # one that gives up costs little
    return [*counts, count]
