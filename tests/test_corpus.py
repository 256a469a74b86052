"""Real templates of many shapes: what they render is read back, whatever their markers are called.

The whole corpus is measured by ``scripts/coverage.py``; here a sample of different shapes keeps an eye on it.
"""

from __future__ import annotations

import os

import coverage
import pytest
from corpus import find_peers, load_corpus, load_source
from judge import list_readable

SAMPLE = (
    "Qwen-Qwen3-0.6B",
    "Qwen-Qwen3-Coder-Next",
    "zai-org-GLM-4.6V",
    "GLM-4.7-Flash",
    "MiniMaxAI-MiniMax-M2.1",
    "MiniMaxAI-MiniMax-M3-MXFP8",
    "moonshotai-Kimi-K2.5",
    "moonshotai-Kimi-K2",
    "deepseek-ai-DeepSeek-V3.1",
    "deepseek-ai-DeepSeek-V4",
    "openai-gpt-oss-safeguard-20b",
    "mistralai-Ministral-3-3B-Reasoning-2512",
    "mistralai-Mistral-7B-Instruct-v0.3",
    "Gryphe-Gemma-4-31B-StyleTune",
    "allenai-Olmo-3-7B-Instruct",
    "LiquidAI-LFM2.5-VL-450M",
    "kakaocorp-kanana-1.5-8b-instruct-2505",
    "upstage-Solar-Open-100B",
    "naver-hyperclovax-HyperCLOVAX-SEED-Think-14B",
    "tencent-Hy3",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
    "danish-foundation-models-croco-munin-apertus-8b-da-simpo-full-50k",
    "tiiuae-Falcon3-7B-Instruct",
    "meituan-longcat-LongCat-2.0",
)
# Prints strings between quotes without escaping them: where one ends is a guess when it holds quotes.
AMBIGUOUS = {"LiquidAI-LFM2.5-VL-450M"}


@pytest.mark.parametrize("mode", [None, "brackets", pytest.param("bare", marks=pytest.mark.more)])
@pytest.mark.parametrize("name", SAMPLE)
def test_what_a_template_renders_is_read_back(name: str, mode: str | None) -> None:
    report = coverage.measure(load_source(name), mode, quick=True, seed=1)
    if report["left_out"]:
        pytest.skip(f"the markers cannot be renamed: {report['left_out']}")
    readable = list_readable(report)
    assert len(readable) >= 5
    misses = [(row["turn"], row["faults"]) for row in readable if row["faults"]]
    assert not misses or (name in AMBIGUOUS and len(misses) <= 2)


def test_the_corpus_is_there() -> None:
    """Also the templates that lie beside the repository: where CI is true, a run cannot be green for want of data."""
    if not find_peers():
        reason = "needs other projects' test data: scripts/corpus.py tells where it is looked for"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    assert len(load_corpus()) >= 786
