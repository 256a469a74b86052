"""vLLM's real API server with a scripted engine core: what is "generated" stands in the request.

    python scripts/fake_core.py serve MODEL_FOLDER [options of `vllm serve`]

Real are the API server, the renderer, AsyncLLM, the detokenizer and the parsers; only the process that generates is
replaced, so neither weights nor compiled parts of vLLM are needed, and any version from 0.32 on can be laid over an
installed one (scripts/overlay_vllm.sh). The request's field `vllm_xargs` scripts it:

    script      the text to generate, cut into tokens by the model's tokenizer
    script_ids  the token ids to generate instead
    burst       tokens a step (1), as speculative decoding makes them
    no_eos      do not end with the end-of-sequence token: the output was cut off
    unbound     generate it even if the request's constraint refuses it

A constraint (`structured_outputs`) is enforced by vLLM's own code, in versions that have all of it in one function: what is
scripted ends at the first token that the constraint refuses. Where it cannot end there the request fails, as it does
where a real engine generates what it may not.

Knowledge of the interface comes from vLLM 0.32.0 and 0.33.0, `v1/engine/core_client.py` and `v1/engine/async_llm.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import sys
from typing import Any

import serving

os.environ.update({key: value for key, value in serving.ENVIRONMENT.items() if key not in os.environ})

from vllm.entrypoints.cli import main as command
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason, core_client
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

_HEAVY = (
    "vllm.entrypoints.anthropic.api_router",
    "vllm.entrypoints.cli.benchmark.main",
    "vllm.entrypoints.cli.launch",
    "vllm.entrypoints.cli.run_batch",
    "vllm.entrypoints.cli.serve",
    "vllm.entrypoints.generate.api_router",
    "vllm.entrypoints.openai.api_server",
    "vllm.entrypoints.openai.chat_completion.api_router",
    "vllm.entrypoints.openai.responses.api_router",
    "vllm.entrypoints.scale_out.render.api_router",
    "vllm.model_executor.layers.attention",
    "vllm.model_executor.model_loader",
    "vllm.model_executor.models.config",
    "vllm.parser.engine.registered_adapters",
    "vllm.v1.structured_output",
)
"""What the server imports as it starts, where it has it: not to be imported again by each fork."""

for _name in _HEAVY:
    with contextlib.suppress(ImportError):
        importlib.import_module(_name)


class _Resources:
    engine_dead = False


class FakeCore:
    """Stands for AsyncMPClient: takes requests, gives outputs, and knows no other process."""

    engine_ranks_managed = (0,)
    resources = _Resources()

    def __init__(self, config: Any) -> None:
        from vllm.tokenizers import cached_tokenizer_from_config

        self._tokenizer = cached_tokenizer_from_config(config.model_config)
        self._manager = StructuredOutputManager(config)
        self._outputs: asyncio.Queue[Any] = asyncio.Queue()
        self._aborted: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def get_supported_tasks_async(self) -> tuple[str, ...]:
        return ("generate",)

    async def add_request_async(self, request: Any) -> None:
        task = asyncio.get_running_loop().create_task(self._generate(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def get_output_async(self) -> Any:
        return await self._outputs.get()

    async def abort_requests_async(self, request_ids: list[str]) -> None:
        self._aborted.update(request_ids)

    async def is_sleeping_async(self) -> bool:
        return False

    def shutdown(self, timeout: float | None = None) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if not name.endswith("_async"):
            raise AttributeError(name)

        async def do_nothing(*args: Any, **kwargs: Any) -> None:
            return None

        return do_nothing

    async def _generate(self, request: Any) -> None:
        ids, reason = await self._constrain(request, *self._script(request.sampling_params))
        burst = int((request.sampling_params.extra_args or {}).get("burst", 1))
        for start in range(0, len(ids), burst):
            await asyncio.sleep(0)
            if request.request_id in self._aborted:
                return
            last = start + burst >= len(ids)
            step = EngineCoreOutput(
                request_id=request.request_id,
                new_token_ids=ids[start : start + burst],
                finish_reason=reason if last else None,
            )
            await self._outputs.put(EngineCoreOutputs(outputs=[step]))

    async def _constrain(self, request: Any, ids: list[int], reason: Any) -> tuple[list[int], Any]:
        """Those of the tokens that a request's constraint allows, and why they end."""
        given = Request.from_engine_core_request(request, None)
        constraint = given.structured_output_request
        unbound = (request.sampling_params.extra_args or {}).get("unbound")
        if constraint is None or unbound or not hasattr(self._manager, "accept_tokens"):
            return ids, reason
        self._manager.grammar_init(given)
        while not constraint.is_grammar_ready:
            await asyncio.sleep(0.001)
        if isinstance(constraint.grammar, Exception):
            return ids[:1], FinishReason.ERROR
        for place, token in enumerate(ids):
            given.append_output_token_ids(token)
            if not self._manager.accept_tokens(given, [token]):
                end = self._tokenizer.eos_token_id
                print(f"the constraint refuses {self._tokenizer.decode(ids[place:])!r}: {given.sampling_params}", flush=True)
                if constraint.grammar.validate_tokens([end]):
                    return [*ids[:place], end], FinishReason.STOP
                return ids[: place + 1], FinishReason.ERROR
        return ids, reason

    def _script(self, params: Any) -> tuple[list[int], Any]:
        """The tokens to generate, and why they end."""
        given = params.extra_args or {}
        ids = [int(i) for i in given.get("script_ids", ())]
        if not ids:
            ids = self._tokenizer.encode(str(given.get("script", "This request has no script.")), add_special_tokens=False)
        if not given.get("no_eos"):
            ids = [*ids, self._tokenizer.eos_token_id]
        if params.max_tokens and len(ids) > params.max_tokens:
            return ids[: params.max_tokens], FinishReason.LENGTH
        return ids, FinishReason.LENGTH if given.get("no_eos") else FinishReason.STOP


def run(arguments: list[str]) -> None:
    """Run the command `vllm` with these arguments and a scripted core."""

    def make_core(*args: Any, **kwargs: Any) -> FakeCore:
        return FakeCore(kwargs["vllm_config"] if "vllm_config" in kwargs else args[0])

    core_client.EngineCoreClient.make_async_mp_client = staticmethod(make_core)
    sys.argv = ["vllm", *arguments]
    command.main()


if __name__ == "__main__":
    run(sys.argv[1:])
