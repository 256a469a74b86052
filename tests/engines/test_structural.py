"""Structural tags, enforced by xgrammar: see `scripts/constrain.py`, which measures the whole corpus."""

from __future__ import annotations

import pytest

pytest.importorskip("xgrammar", reason="this is not the environment of an engine: see scripts/setup_vllm.sh")

from constrain import measure
from corpus import load_source

TEMPLATES = (
    "Qwen-Qwen3-0.6B",
    "Qwen-Qwen3-Coder-Next",
    "GLM-4.7-Flash",
    "MiniMaxAI-MiniMax-M3-MXFP8",
    "moonshotai-Kimi-K2.5",
    "deepseek-ai-DeepSeek-V3.1",
    "openai-gpt-oss-safeguard-20b",
    "mistralai-Mistral-7B-Instruct-v0.3",
    "Gryphe-Gemma-4-31B-StyleTune",
    "tiiuae-Falcon3-7B-Instruct",
    "allenai-Olmo-3-7B-Instruct",
)


@pytest.mark.parametrize("name", TEMPLATES)
def test_xgrammar_lets_pass_what_the_template_renders_and_nothing_else(name: str) -> None:
    source = load_source(name)
    outcome = measure(source, samples=8)
    assert outcome is not None
    assert not outcome.reason
    assert not outcome.faults
    assert outcome.counts["turns"] >= 10
    assert outcome.counts["samples"] >= 1
