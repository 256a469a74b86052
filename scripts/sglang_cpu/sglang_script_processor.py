"""The logit processor of `sglang_scripted`. It has to be importable in the scheduler, where SGLang unpickles it by name."""

from __future__ import annotations

from typing import Any

from sglang.srt.sampling.custom_logit_processor import CustomLogitProcessor


class ScriptProcessor(CustomLogitProcessor):  # type: ignore[misc]
    """Leaves one token possible at each step of a scripted request."""

    def __call__(self, logits: Any, custom_param_list: list[dict[str, Any]] | None = None) -> Any:
        for row, params in enumerate(custom_param_list or ()):
            wanted = (params or {}).get("script", ())
            place = len(params["__req__"].output_ids) if wanted else 0
            if place < len(wanted):
                logits[row, :] = float("-inf")
                logits[row, wanted[place]] = 0.0
        return logits
