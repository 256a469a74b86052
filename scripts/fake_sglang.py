"""SGLang's real API server with a scripted engine: what is "generated" stands in the request.

    python scripts/fake_sglang.py --model-path MODEL_FOLDER [options of SGLang's server]

Real are the HTTP server, the rendering of prompts, the tokenizer manager and the parsers; replaced are the processes that
generate and detokenize. The request's field `script` says what is generated: see sglang_cpu/sglang_scripted.py. A server
starts in a second or two where a fork server has imported this module.

What a grammar would do is not emulated. Knowledge of the interfaces comes from SGLang 0.5.23, `srt/entrypoints/engine.py`,
`srt/entrypoints/http_server.py` and `srt/managers/tokenizer_manager.py`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import serving

sys.path.insert(0, str(Path(__file__).parent / "sglang_cpu"))
os.environ.update({key: value for key, value in serving.ENVIRONMENT.items() if key not in os.environ})
os.environ["SGLANG_USE_CPU_ENGINE"] = "1"

from sglang.srt.entrypoints import engine, http_server
from sglang.srt.managers.schedule_batch import Req
from sglang.srt.managers.tokenizer_manager import ServerStatus, TokenizerManager
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.plugins import load_plugins
from sglang.srt.runtime_context import get_serving
from sglang.srt.server_args import prepare_server_args
from sglang_scripted import ScriptReader, encode_script, script

_LIMIT = 100_000


class ScriptedManager(TokenizerManager):  # type: ignore[misc]
    """A tokenizer manager that has no scheduler to ask."""

    async def generate_scripted(self, obj: Any, request: Any = None) -> AsyncIterator[Any]:
        """Do what `generate_request` does, which plugins hook into: so it is replaced, and not overridden."""
        obj.normalize_batch_and_arguments()
        if obj.is_single:
            async for output in self._write(obj, 0):
                yield output
            return
        parts = [obj[index] for index in range(obj.batch_size * obj.parallel_sample_num)] if obj.batch_size > 1 else None
        singles = parts or [obj[0]] * obj.parallel_sample_num
        if not getattr(obj, "stream", False):
            yield [output for index, single in enumerate(singles) async for output in self._write(single, index)]
            return
        for index, single in enumerate(singles):
            async for output in self._write(single, index):
                yield output

    async def _write(self, obj: Any, index: int) -> AsyncIterator[Any]:
        wanted = script.get() or {"text": "This request has no script."}
        params = obj.sampling_params or {}
        ids = [*encode_script(self.tokenizer, wanted), self.tokenizer.eos_token_id]
        most = params.get("max_new_tokens") or _LIMIT
        reason: dict[str, Any] = {"type": "stop", "matched": ids[-1]}
        if len(ids) > most:
            ids, reason = ids[:most], {"type": "length", "length": most}
        prompt = obj.input_ids or self.tokenizer.encode(obj.text)
        counter = _Counter(self.tokenizer, obj.require_reasoning)
        burst = int(wanted.get("burst", 1)) if obj.stream else len(ids)
        for start in range(0, len(ids), burst):
            await asyncio.sleep(0)
            end = min(start + burst, len(ids))
            counter.count(ids[start:end])
            last = end == len(ids)
            yield {
                "text": self._decode(ids[:end], params, reason["type"] if last else None),
                "output_ids": ids[:end],
                "index": index,
                "meta_info": {
                    "id": obj.rid,
                    "finish_reason": dict(reason) if last else None,
                    "prompt_tokens": len(prompt),
                    "completion_tokens": end,
                    "reasoning_tokens": counter.tokens,
                    "cached_tokens": 0,
                    "weight_version": "default",
                    "e2e_latency": 0.0,
                },
            }

    def _decode(self, ids: list[int], params: dict[str, Any], end: str | None) -> str:
        """Return text as the detokenizer does: half characters only at its end, but no token that stops."""
        text: str = self.tokenizer.decode(
            ids[:-1] if end == "stop" else ids,
            skip_special_tokens=params.get("skip_special_tokens", True),
            spaces_between_special_tokens=params.get("spaces_between_special_tokens", True),
        )
        return text if end else text.rstrip("\ufffd")


class _Counter:
    """Counts reasoning tokens with the scheduler's own code (`srt/managers/scheduler.py`, `init_tokenizer`)."""

    def __init__(self, tokenizer: Any, reasons: bool) -> None:
        self._request = SimpleNamespace(
            reasoning_tokens=0,
            _is_reasoning_over=False,
            _think_end_matcher=None,
            _think_end_match_len=0,
            _think_start_match_len=0,
        )
        self._request.update_reasoning_tokens = partial(Req.update_reasoning_tokens, self._request)
        self._reasons = reasons
        self._end: list[int] = []
        self._start: list[int] | None = None
        name = get_serving().reasoning_parser
        if name:
            detector = ReasoningParser(model_type=name, stream_reasoning=False, tokenizer=tokenizer).detector
            self._end = detector.get_think_end_token_ids(tokenizer)
            self._start = detector.get_self_opened_think_start_token_ids(tokenizer)

    @property
    def tokens(self) -> int:
        count: int = self._request.reasoning_tokens
        return count

    def count(self, ids: list[int]) -> None:
        if not self._end:
            return
        if self._reasons:
            Req.update_reasoning_tokens(self._request, ids, self._end)
        elif self._start:
            Req.update_self_opened_reasoning_tokens(self._request, ids, self._start, self._end)


TokenizerManager.generate_request = ScriptedManager.generate_scripted


def _launch_nothing(*args: Any, **kwargs: Any) -> tuple[list[Any], list[str]]:
    return [], []


def _launch_no_scheduler(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
    info = {"max_req_input_len": _LIMIT, "max_total_num_tokens": _LIMIT, "status": "ready"}
    return engine.SchedulerInitResult(scheduler_infos=[info]), []


def _skip_warmup(*args: Any, **kwargs: Any) -> bool:
    http_server.get_global_state().tokenizer_manager.server_status = ServerStatus.Up
    return True


def run(arguments: list[str]) -> None:
    """Run SGLang's server with these arguments and a scripted engine."""
    load_plugins()
    engine.Engine._launch_scheduler_processes = staticmethod(_launch_no_scheduler)
    engine.Engine._launch_detokenizer_subprocesses = staticmethod(_launch_nothing)
    http_server.app.add_middleware(ScriptReader)
    http_server.launch_server(
        prepare_server_args([*arguments, "--device", "cpu"]),
        init_tokenizer_manager_func=partial(engine.init_tokenizer_manager, TokenizerManagerClass=ScriptedManager),
        execute_warmup_func=_skip_warmup,
    )


if __name__ == "__main__":
    run(sys.argv[1:])
