"""vLLM's real API server over a scripted core that works in steps, as an engine under load does; started by scripts/load.py.

Like `fake_core`, whose fields it reads, but all requests that are under way get a token in each step, and the next step
begins when the server has sent what came of the last one: so no tokens are put together, and every parser is called as often
as it would be. A request with `pace` in its `vllm_xargs` gets a token every so many milliseconds, whatever the others do.

Knowledge of the interface comes from vLLM 0.32.0, `v1/engine/core_client.py` and `v1/engine/async_llm.py`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import fake_core
from fake_core import FakeCore
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs

_TURNS = 8
"""Turns of the event loop after which a step's outputs have reached the sockets."""


@dataclass
class _Job:
    name: str
    ids: list[int]
    reason: Any
    place: int = 0

    def take(self) -> EngineCoreOutput:
        """The next token."""
        self.place += 1
        last = self.place == len(self.ids)
        ids = self.ids[self.place - 1 : self.place]
        return EngineCoreOutput(request_id=self.name, new_token_ids=ids, finish_reason=self.reason if last else None)

    @property
    def done(self) -> bool:
        return self.place >= len(self.ids)


class SteppingCore(FakeCore):
    """A core that gives every request a token in each step."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._jobs: list[_Job] = []
        self._stepping: asyncio.Task[None] | None = None
        self._encode = lru_cache(64)(lambda text: tuple(self._tokenizer.encode(text, add_special_tokens=False)))

    async def _generate(self, request: Any) -> None:
        given = dict(request.sampling_params.extra_args or {})
        if "script" in given:  # every stream writes the same: do not cut it into tokens once for each
            request.sampling_params.extra_args = {**given, "script_ids": self._encode(str(given["script"]))}
        job = _Job(request.request_id, *self._script(request.sampling_params))
        pace = float(given.get("pace", 0))
        if pace:
            await self._generate_paced(job, pace / 1000)
            return
        self._jobs.append(job)
        if self._stepping is None or self._stepping.done():
            self._stepping = asyncio.get_running_loop().create_task(self._step())

    async def _generate_paced(self, job: _Job, seconds: float) -> None:
        due = asyncio.get_running_loop().time()
        while not job.done and job.name not in self._aborted:
            await self._outputs.put(EngineCoreOutputs(outputs=[job.take()]))
            due += seconds
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))

    async def _step(self) -> None:
        while self._jobs:
            self._jobs = [job for job in self._jobs if job.name not in self._aborted]
            if self._jobs:
                await self._outputs.put(EngineCoreOutputs(outputs=[job.take() for job in self._jobs]))
            self._jobs = [job for job in self._jobs if not job.done]
            for _ in range(_TURNS):
                await asyncio.sleep(0)


def run(arguments: list[str]) -> None:
    """Run the command `vllm` with these arguments and this core."""
    fake_core.FakeCore = SteppingCore  # type: ignore[misc]
    fake_core.run(arguments)
