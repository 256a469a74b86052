"""Random output: a sample of what `scripts/fuzz.py` tries, and what it has found."""

from __future__ import annotations

import fuzz
import pytest
from corpus import load_source

import chat_autoparser as ca

SAMPLE = ("Qwen3-Coder", "GLM-4.6", "openai-gpt-oss-120b", "google-gemma-4-31B-it", "MiniMaxAI-MiniMax-M3-MXFP8")
OUTPUTS = 300


def load_format(name: str) -> ca.ChatFormat:
    source = load_source(name)
    return ca.analyze(source.text, bos_token="<s>", eos_token="</s>")


@pytest.mark.parametrize("name", SAMPLE)
def test_no_random_output_raises_gets_lost_or_depends_on_its_split(name: str) -> None:
    format = load_format(name)
    markers = sorted(set(fuzz.list_texts(format)))
    faults = (fuzz.check(format, markers, seed, short=True) for seed in range(OUTPUTS))
    assert [fault for fault in faults if fault] == []


@pytest.mark.parametrize(
    ("name", "text", "prompt"),
    [
        ("skt-A.X-K1", '<think><tool_call>{"name":"H","arguments":"{"">}', None),
        ("GLM-4.7-Flash", "Hello. </think></arg_value></tool_call>", "<|assistant|>"),
        ("SvalTek-Q3-CharThink-9B-temp", "</think>\n\n\n<tool_call>function=parameter[findx", None),
    ],
    ids=["JSON within a string goes on behind an odd sign", "what stands before new content is nothing", "half a name of a tool"],
)
def test_a_split_that_mattered_once_does_not(name: str, text: str, prompt: str | None) -> None:
    format = load_format(name)
    whole = fuzz.read(format, [text], fuzz.TOOLS, prompt)
    for size in (1, 2, 3, 7, 16):
        assert fuzz.read(format, [text[at : at + size] for at in range(0, len(text), size)], fuzz.TOOLS, prompt) == whole
