"""A logits processor that makes a model served by vLLM write an exact text, token by token.

    PYTHONPATH=scripts vllm serve MODEL --logits-processors scripted:Scripted

The request's field `vllm_xargs` scripts it: `script` is the text, `script_ids` are the token ids instead; the
end-of-sequence token follows unless `no_eos` is given. `script_prefix` is written first, and the model is free, or bound
by the request's grammar, after it. A request without any of them is left alone.

Knowledge of the interface comes from vLLM 0.32.0, `v1/sample/logits_processor/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vllm.v1.sample.logits_processor import AdapterLogitsProcessor


class Scripted(AdapterLogitsProcessor):  # type: ignore[misc]
    """Leaves one token possible at each step of a scripted request."""

    def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:
        super().__init__(vllm_config, device, is_pin_memory)
        from vllm.tokenizers import cached_tokenizer_from_config

        self._tokenizer = cached_tokenizer_from_config(vllm_config.model_config)

    def is_argmax_invariant(self) -> bool:
        return False

    def new_req_logits_processor(self, params: Any) -> Callable[[list[int], Any], Any] | None:
        given = params.extra_args or {}
        text = given.get("script", given.get("script_prefix"))
        if text is None and "script_ids" not in given:
            return None
        ids = [int(i) for i in given.get("script_ids", ())] or self._tokenizer.encode(str(text), add_special_tokens=False)
        if "script_prefix" not in given and not given.get("no_eos"):
            ids = [*ids, self._tokenizer.eos_token_id]

        def force(output: list[int], logits: Any) -> Any:
            if len(output) >= len(ids):
                return logits
            wanted = ids[len(output)]
            logits.fill_(float("-inf"))
            logits[wanted] = 0.0
            return logits

        return force
