"""The official clients, each endpoint with and without streaming, and the one kind of reply that is made of all.

A reply's message has `reasoning_content`, `content` and `tool_calls`, as `judge.find_fault` wants it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import anthropic
import openai
from cases import Case
from conversations import JsonObject
from engines import MODEL
from judge import fold
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic_core import from_json

_SECONDS = 60.0


@dataclass(frozen=True)
class Reply:
    """What a client got. `finish` is "stop", "tool_calls" or "length"; `kinds` tells what arrived in which order."""

    message: JsonObject
    finish: str | None
    reasoning_tokens: int | None = None
    kinds: list[str] = field(default_factory=list)


Extra = JsonObject
"""The engine's own fields of a request's body."""
Ask = Callable[[str, Case, Extra, bool], Reply]


@cache
def _connect(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=_SECONDS)


@cache
def _connect_anthropic(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=_SECONDS)


def _drop_empty(given: JsonObject) -> JsonObject:
    return {key: value for key, value in given.items() if value is not None}


# Chat completions


def ask_chat(url: str, case: Case, extra: Extra, stream: bool) -> Reply:
    """Chat completions; the first choice."""
    return ask_choices(url, case, extra, stream)[0]


def ask_choices(url: str, case: Case, extra: Extra, stream: bool) -> list[Reply]:
    """Chat completions, every choice."""
    body = {**extra, "chat_template_kwargs": case.kwargs, **case.options}
    options = {"stream_options": {"include_usage": True}} if stream else {}
    answer: Any = _connect(url).chat.completions.create(
        **_drop_empty({"tools": case.tools}),
        model=MODEL,
        messages=case.messages,
        max_tokens=case.max_tokens,
        stream=stream,
        extra_body=body,
        **options,
    )
    if not stream:
        tokens = _read_reasoning_tokens(answer.usage)
        return [Reply(_read_message(choice.message), choice.finish_reason, tokens) for choice in answer.choices]
    return _read_chunks(list(answer))


def _read_chunks(chunks: list[Any]) -> list[Reply]:
    tokens = next((_read_reasoning_tokens(chunk.usage) for chunk in chunks if chunk.usage), None)
    streams: dict[int, list[Any]] = {}
    for choice in (choice for chunk in chunks for choice in chunk.choices):
        streams.setdefault(choice.index, []).append(choice)
    return [_fold_choices(choices, tokens) for _, choices in sorted(streams.items())]


def _read_message(message: Any) -> JsonObject:
    given = message.model_dump()
    calls = [{key: call[key] for key in ("id", "type", "function")} for call in given.get("tool_calls") or []]
    return {"reasoning_content": _read_reasoning(given), "content": given["content"], "tool_calls": calls}


def _read_reasoning(given: JsonObject) -> str | None:
    """Engines have two names for it."""
    found: str | None = given.get("reasoning") or given.get("reasoning_content")
    return found


def _read_reasoning_tokens(usage: Any) -> int | None:
    details = (usage.model_dump() if usage else {}).get("completion_tokens_details") or {}
    found: int | None = details.get("reasoning_tokens")
    return found


def _fold_choices(choices: Iterable[Any], tokens: int | None) -> Reply:
    deltas, kinds, finish = [], [], None
    for choice in choices:
        given = _drop_empty(choice.delta.model_dump())
        delta = {key: given[key] for key in ("content", "tool_calls") if given.get(key)}
        if _read_reasoning(given):
            delta["reasoning_content"] = _read_reasoning(given)
        for call in delta.get("tool_calls", ()):
            call["function"] = _drop_empty(call.get("function") or {})
        deltas.append(delta)
        kinds += sorted(delta)
        finish = choice.finish_reason or finish
    return Reply(fold(deltas), finish, tokens, kinds)


def ask_renderer(url: str, case: Case, tokens: list[int], stream: bool, reason: str = "stop") -> Reply:
    """vLLM's server that only renders: it makes the prompt, and reads the tokens that were generated elsewhere, up to an end
    for that `reason`.
    """

    def post(path: str, body: JsonObject) -> Any:
        return _connect(url).post(f"/chat/completions/{path}", cast_to=object, body=body)

    request: JsonObject = {
        **_drop_empty({"tools": case.tools}),
        "model": MODEL,
        "messages": case.messages,
        "max_tokens": case.max_tokens,
        "chat_template_kwargs": case.kwargs,
        **case.options,
    }
    rendered = {"chat_request": request, "prompt_token_ids": post("render", request)["token_ids"]}
    if not stream:
        choice: JsonObject = {"index": 0, "finish_reason": reason, "token_ids": tokens}
        answer = post("derender", {**rendered, "generate_response": {"request_id": "one", "choices": [choice]}})
        first = ChatCompletion.model_validate(answer).choices[0]
        return Reply(_read_message(first.message), first.finish_reason)
    chunks, state = [], None
    for start in range(0, len(tokens), case.burst):
        end = start + case.burst
        choice = {"index": 0, "finish_reason": reason if end >= len(tokens) else None, "token_ids": tokens[start:end]}
        chunk = {"request_id": "one", "choices": [choice]}
        answer = post("derender", {**rendered, "stream": True, "generate_chunk": chunk, "stream_state": state})
        state = answer["stream_state"]
        chunks.append(ChatCompletionChunk.model_validate(answer["chunk"]))
    return _read_chunks(chunks)[0]


# Responses


def ask_responses(url: str, case: Case, extra: Extra, stream: bool) -> Reply:
    """The Responses API. Of a stream the deltas are read, and must be what its last event says."""
    tools = [{"type": "function", **tool["function"]} for tool in case.tools] if case.tools else None
    answer: Any = _connect(url).responses.create(
        **_drop_empty({"tools": tools}),
        model=MODEL,
        input=case.messages,
        max_output_tokens=case.max_tokens,
        stream=stream,
        extra_body={**extra, "chat_template_kwargs": case.kwargs, **case.options},
    )
    if not stream:
        return _read_response(answer)
    parts: dict[int, JsonObject] = {}
    kinds, final = [], None
    for event in answer:
        if event.type == "response.output_item.added":
            item = event.item.model_dump()
            parts[event.output_index] = {
                "kind": item["type"],
                "text": "",
                "id": item.get("call_id"),
                "name": item.get("name"),
            }
        elif event.type in _RESPONSE_DELTAS:
            parts[event.output_index]["text"] += event.delta
            kinds.append(_RESPONSE_DELTAS[event.type])
        elif event.type in ("response.completed", "response.incomplete"):
            final = _read_response(event.response)
        elif event.type in ("response.failed", "error"):
            raise AssertionError(f"the stream ends with {event}")
    assert final is not None, "the stream has no last event"
    message = _join_parts([parts[index] for index in sorted(parts)])
    told, sums = _take_meaning(final.message), _take_meaning(message)
    assert told == sums, f"the last event says {told}, and the deltas are {sums}"
    return Reply(message, final.finish, final.reasoning_tokens, kinds)


_RESPONSE_DELTAS = {
    "response.reasoning_text.delta": "reasoning_content",
    "response.reasoning_summary_text.delta": "reasoning_content",
    "response.output_text.delta": "content",
    "response.function_call_arguments.delta": "tool_calls",
}


def _read_response(response: Any) -> Reply:
    parts = []
    for item in response.output:
        given = item.model_dump()
        text = given.get("arguments")
        if given["type"] != "function_call":
            text = "".join(part["text"] for part in given.get("content") or given.get("summary") or [])
        parts.append({"kind": given["type"], "text": text, "id": given.get("call_id"), "name": given.get("name")})
    message = _join_parts(parts)
    finish = "tool_calls" if message["tool_calls"] else "stop"
    usage = response.model_dump()["usage"] or {}
    tokens = (usage.get("output_tokens_details") or {}).get("reasoning_tokens")
    return Reply(message, "length" if response.status == "incomplete" else finish, tokens)


def _join_parts(parts: Iterable[JsonObject]) -> JsonObject:
    """A message of the items that a response consists of."""
    texts: dict[str, str] = {}
    calls = []
    for part in parts:
        if part["kind"] == "function_call":
            function = {"name": part["name"], "arguments": part["text"]}
            calls.append({"id": part["id"], "type": "function", "function": function})
        else:
            kind = {"reasoning": "reasoning_content", "message": "content"}[part["kind"]]
            texts[kind] = texts.get(kind, "") + part["text"]
    return {"reasoning_content": texts.get("reasoning_content"), "content": texts.get("content"), "tool_calls": calls}


# Messages


def ask_messages(url: str, case: Case, extra: Extra, stream: bool) -> Reply:
    """Anthropic's Messages API. Of a stream the deltas are read, and must be what the client makes of them."""
    system = "".join(message["content"] for message in case.messages if message["role"] == "system")
    tools = [
        {"name": f["name"], "description": f.get("description", ""), "input_schema": f["parameters"]}
        for f in (tool["function"] for tool in case.tools or [])
    ]
    given = {"system": system or None, "tools": tools or None}
    request: JsonObject = {
        **_drop_empty(given),
        "model": MODEL,
        "messages": [message for message in case.messages if message["role"] != "system"],
        "max_tokens": case.max_tokens,
        "extra_body": {**extra, "chat_template_kwargs": case.kwargs, **case.options},
    }
    client: Any = _connect_anthropic(url)
    if not stream:
        return _read_blocks(client.messages.create(**request))
    blocks: dict[int, JsonObject] = {}
    kinds = []
    with client.messages.stream(**request) as events:
        for event in events:
            if event.type == "content_block_start":
                block = event.content_block.model_dump()
                blocks[event.index] = {"kind": block["type"], "text": "", "id": block.get("id"), "name": block.get("name")}
            elif event.type == "content_block_delta" and event.delta.type in _BLOCK_DELTAS:
                key, kind = _BLOCK_DELTAS[event.delta.type]
                blocks[event.index]["text"] += getattr(event.delta, key)
                kinds.append(kind)
        final = _read_blocks(events.get_final_message())
    message = _join_blocks([blocks[index] for index in sorted(blocks)])
    assert _take_meaning(final.message) == _take_meaning(message)
    return Reply(message, final.finish, None, kinds)


_BLOCK_DELTAS = {
    "thinking_delta": ("thinking", "reasoning_content"),
    "text_delta": ("text", "content"),
    "input_json_delta": ("partial_json", "tool_calls"),
}
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


def _read_blocks(message: Any) -> Reply:
    blocks = []
    for block in (block.model_dump() for block in message.content):
        text = json.dumps(block["input"]) if block["type"] == "tool_use" else block.get("thinking") or block.get("text")
        blocks.append({"kind": block["type"], "text": text or "", "id": block.get("id"), "name": block.get("name")})
    return Reply(_join_blocks(blocks), _FINISH[message.stop_reason])


def _join_blocks(blocks: Iterable[JsonObject]) -> JsonObject:
    names = {"thinking": "reasoning", "text": "message", "tool_use": "function_call"}
    return _join_parts({**block, "kind": names[block["kind"]]} for block in blocks)


def _take_meaning(message: JsonObject) -> list[Any]:
    """What two forms of one message must have in common; JSON may be spaced differently."""
    calls = [(call["function"]["name"], _read_json(call["function"]["arguments"])) for call in message["tool_calls"]]
    return [message["reasoning_content"] or None, message["content"] or None, calls]


def _read_json(text: str) -> Any:
    """What a client makes of arguments; of those that were cut, what it makes of their beginning."""
    try:
        return from_json(text or "{}", allow_partial=True)
    except ValueError:
        return text


ENDPOINTS: dict[str, Ask] = {"chat": ask_chat, "responses": ask_responses, "messages": ask_messages}
