"""Encoders that tell tokens alone: asked as vLLM asks them, and answering with text.

The text that such a tokenizer gives of a prompt is for people to look at, and other than what vLLM shows of generated
tokens. So a rendered conversation is decoded here as an output would be, special tokens by their names.

Knowledge of them comes from vLLM 0.32.0, ``tokenizers/mistral.py`` and ``renderers/mistral.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any


class Encoder:
    """Renders with a tokenizer's encoder; what :func:`chat_autoparser.load_renderer` takes for a function.

    ``special`` are the texts of the tokenizer's special tokens by their ids.
    """

    def __init__(self, tokenizer: Any, special: dict[int, str]) -> None:
        self._tokenizer = tokenizer
        self._special = special
        self.__qualname__ = f"{type(tokenizer).__name__}.apply_chat_template"

    def __call__(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, add_generation_prompt: bool, **kwargs: Any
    ) -> str:
        """Render a conversation. Raises what the encoder raises where it refuses one.

        An encoder for serving may refuse a conversation that ends with an answer, unless that is to be continued.
        """
        render = self._tokenizer.apply_chat_template
        try:
            ids = render(messages, tools=tools, add_generation_prompt=add_generation_prompt, **kwargs)
        except Exception:
            if add_generation_prompt or messages[-1]["role"] != "assistant":
                raise
            ids = render(messages, tools=tools, continue_final_message=True, **kwargs)
        return self._decode(ids)

    def _decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, each stretch between special ones decoded for itself, as that of an output is."""
        texts = []
        for special, group in groupby(ids, self._special.__contains__):
            stretch = list(group)
            if special:
                texts += [self._special[token] for token in stretch]
            else:
                texts.append(self._tokenizer.decode(stretch, skip_special_tokens=True))
        return "".join(texts)
