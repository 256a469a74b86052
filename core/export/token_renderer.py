"""A renderer for the package `renderers` (PrimeIntellect), for any chat template.

That package keeps, for training on what models generate, one renderer for each model, written by hand. This one is derived:
name it in its ``CustomRendererConfig(import_path="chat_autoparser.export.token_renderer:TokenRenderer")``, and it renders, parses
and bridges with the template of the tokenizer. Further fields of the config go to the template as switches.

The interface is that of `renderers` 0.1.12 (``base.py``: ``Renderer``, ``RenderedTokens``, ``ParsedResponse``). This module
imports that package and is imported by nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict
from renderers.base import ParsedResponse, ParsedToolCall, RenderedTokens, ToolCallParseStatus
from renderers.configs import BaseRendererConfig

from ..analysis import analyze
from ..ask.renderer import load_renderer
from ..converse.attribution import attribute, attribute_tokens, find_written, mark_tokens
from ..converse.bridge import Bridger
from ..message import fold_deltas


class TokenRendererConfig(BaseRendererConfig):  # type: ignore[misc]
    """Settings of a derived renderer; all fields but ``template`` are switches of the chat template.

    ``template`` is the path of a template or model folder, for a tokenizer that has none. ``thinking_retention="all"`` keeps
    earlier turns in a bridge even where the template would print them in another form.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    name: Literal["custom"] = "custom"
    template: str | None = None

    _internal_fields = frozenset({"template"})
    _allow_opaque_template_kwargs = True


class TokenRenderer:
    """Renders, parses and bridges with a derived format; made by ``renderers.create_renderer``."""

    config_class = TokenRendererConfig
    is_prefix_stable = False

    def __init__(self, tokenizer: Any, config: TokenRendererConfig) -> None:
        self.config = config
        self._tokenizer = tokenizer
        self._renderer = load_renderer(Path(config.template) if config.template else tokenizer)
        self._format = analyze(self._renderer)
        self._plain = _PlainTokenizer(tokenizer)
        self._bridger = Bridger(self._renderer, self._format, self._plain)
        self._kwargs = dict(config.model_extra or {})

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
    ) -> Any:
        """Render a conversation to tokens, each with the message that it came from and whether the model wrote it.

        Scaffold belongs to no message, but for what the assistant writes itself. A tokenizer without offsets gets ids alone.
        """
        found = attribute(self._renderer, messages, tools, add_generation_prompt, **self._kwargs)
        ids, offsets = self._plain.encode_with_offsets(found.text)
        roles = [str(message["role"]) for message in messages]
        if offsets is None:
            return RenderedTokens(token_ids=ids, message_indices=[-1] * len(ids), message_roles=roles)
        stops = self._format.stops
        fields = [None if span is None else span.field.message for span in attribute_tokens(found, offsets)]
        indices, sampled = [-1 if message is None else message for message in fields], [False] * len(ids)
        for one in find_written(self._renderer, found, messages, tools, stops=stops, **self._kwargs):
            for number, inside in enumerate(mark_tokens([(one.start, one.end)], offsets)):
                if inside:
                    indices[number], sampled[number] = one.message, True
        content = [index >= 0 for index in indices]
        return RenderedTokens(token_ids=ids, message_indices=indices, sampled_mask=sampled, is_content=content, message_roles=roles)

    def render_ids(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
    ) -> list[int]:
        """Render a conversation to token ids."""
        text = self._renderer(messages, tools, add_generation_prompt, **self._kwargs)
        return self._plain.encode(text)

    def parse_response(
        self,
        token_ids: Sequence[int],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt_ids: Sequence[int] | None = None,
    ) -> Any:
        """Read a completion; calls that were cut off say so."""
        ids = list(token_ids)
        while ids and ids[-1] in self._bridger.stop_ids:
            ids.pop()
        prompt = self._plain.decode(prompt_ids) if prompt_ids else None
        parser = self._format.parser(None if tools is None else map(dict, tools), prompt)
        deltas = parser.feed(self._plain.decode(ids))
        complete = not parser.in_reasoning
        message = fold_deltas([*deltas, *parser.finish()])
        calls = [_make_call(call, number in parser.incomplete_calls) for number, call in enumerate(message.get("tool_calls") or ())]
        return ParsedResponse(
            content=message["content"] or "",
            reasoning_content=message["reasoning_content"],
            tool_calls=calls,
            reasoning_complete=complete,
        )

    def get_stop_token_ids(self) -> list[int]:
        """Return the tokens on which generation should stop."""
        return list(self._bridger.stop_ids)

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: Sequence[int],
        previous_completion_ids: Sequence[int],
        new_messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
    ) -> Any:
        """Return the prompt of the next turn with the earlier tokens as they are, or None where there is no bridge."""
        bridged = self._bridger.extend(
            previous_prompt_ids,
            previous_completion_ids,
            new_messages,
            tools,
            faithful=self.config.thinking_retention != "all",
            **self._kwargs,
        )
        if bridged.ids is None:
            return None
        count = len(bridged.ids)
        return RenderedTokens(
            token_ids=list(bridged.ids),
            message_indices=[-1] * count,
            sampled_mask=[False] * count,
            message_roles=[str(message["role"]) for message in new_messages],
        )


class _PlainTokenizer:
    """A tokenizer that adds nothing and leaves nothing out."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.eos_token_id: int | None = getattr(tokenizer, "eos_token_id", None)

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=add_special_tokens))

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]] | None]:
        try:
            encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        except (TypeError, NotImplementedError):
            return self.encode(text), None
        return list(encoded["input_ids"]), [(start, end) for start, end in encoded["offset_mapping"]]


def _make_call(call: Mapping[str, Any], incomplete: bool) -> Any:
    written = call["function"]["arguments"]
    try:
        arguments, status = json.loads(written), ToolCallParseStatus.OK
    except (ValueError, RecursionError):
        arguments, status = written, ToolCallParseStatus.INVALID_JSON
    if incomplete:
        status = ToolCallParseStatus.UNCLOSED_BLOCK
    return ParsedToolCall(raw=written, name=call["function"]["name"], arguments=arguments, status=status, id=call.get("id"))
