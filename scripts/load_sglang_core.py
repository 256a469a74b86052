"""SGLang's real API server with a scripted engine that costs the same for every token; started by scripts/load.py.

Like `fake_sglang`, whose field `script` it reads, but a text is cut into tokens once and not decoded anew at each of them.
All requests that are under way get a token in turn. With `pace` a request gets a token every so many milliseconds instead.

Knowledge of the interface comes from SGLang 0.5.23, `srt/managers/tokenizer_manager.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any

import fake_sglang
from fake_sglang import ScriptedManager
from sglang_scripted import script
from tokenizers.decoders import DecodeStream


class SteadyManager(ScriptedManager):
    """A manager that knows beforehand what each token adds to the text."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cut = lru_cache(64)(self._cut_text)

    def _cut_text(self, text: str) -> tuple[list[int], str, list[int]]:
        """The tokens of a text, the text that they are decoded to, and how much of it there is after each."""
        ids = self.tokenizer.encode(text, add_special_tokens=False)
        stream, backend = DecodeStream(skip_special_tokens=False), self.tokenizer._tokenizer
        whole, ends = "", []
        for token in ids:
            whole += stream.step(backend, token) or ""
            ends.append(len(whole))
        return ids, whole, ends

    async def _write(self, obj: Any, index: int) -> AsyncIterator[Any]:
        wanted = script.get() or {"text": "This request has no script."}
        ids, text, ends = self._cut(wanted["text"])
        pace, loop = float(wanted.get("pace", 0)) / 1000, asyncio.get_running_loop()
        due, written = loop.time(), []
        if not obj.stream:
            yield self._make_output(obj, index, text, ids, True)
            return
        for token, end in zip(ids, ends, strict=True):
            due += pace
            await asyncio.sleep(max(0.0, due - loop.time()) if pace else 0)
            written.append(token)
            yield self._make_output(obj, index, text[:end], written, False)
        yield self._make_output(obj, index, text, [*ids, self.tokenizer.eos_token_id], True)

    def _make_output(self, obj: Any, index: int, text: str, ids: list[int], last: bool) -> dict[str, Any]:
        stop = {"type": "stop", "matched": self.tokenizer.eos_token_id} if last else None
        meta = {"id": obj.rid, "finish_reason": stop, "prompt_tokens": 1, "completion_tokens": len(ids)}
        meta |= {"reasoning_tokens": 0, "cached_tokens": 0, "weight_version": "default", "e2e_latency": 0.0}
        return {"text": text, "output_ids": ids, "index": index, "meta_info": meta}


def run(arguments: list[str]) -> None:
    """Run SGLang's server with these arguments and this engine."""
    fake_sglang.ScriptedManager = SteadyManager  # type: ignore[misc]
    fake_sglang.run(arguments)
