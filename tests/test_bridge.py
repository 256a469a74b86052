"""Bridges: the next prompt is the earlier tokens and what the template puts behind them, or there is a reason for none."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from typing import Any

import bridges
import pytest
from corpus import load_source

import chat_autoparser as ca
from chat_autoparser.analysis import analyze
from chat_autoparser.converse.bridge import Bridge, bridge

TEMPLATE = """\
{%- for m in messages %}{{ '<' + m.role + '>' }}
{%- if m.reasoning_content and (KEEP) %}{{ '<t>' + m.reasoning_content + '</t>' }}{% endif %}{{ m.content or '' }}
{%- for c in m.tool_calls or [] %}{{ '<do ' + c.function.name + ' ' + c.function.arguments | tojson + '/>' }}{% endfor %}
{{- '</s>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""

# A turn has no end of its own: generation stops where another role begins.
OPEN_ENDED = """\
{%- for m in messages %}{{ '<' + m.role + '>' + (m.content or '') }}
{%- for c in m.tool_calls or [] %}{{ '<do ' + c.function.name + ' ' + c.function.arguments | tojson + '/>' }}{% endfor %}
{%- endfor %}{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"""

NUMBERED = TEMPLATE.replace("{{ m.content", "{{ loop.index if m.role == 'user' }}{{ m.content")

QUESTION = [{"role": "user", "content": "And now?"}]
RESULT = [{"role": "tool", "tool_call_id": "x", "content": "42"}]


class CharacterTokenizer:
    """Has a token for each character, and one for each of some markers."""

    def __init__(self, *markers: str, eos: str = "") -> None:
        self.markers = markers
        self.eos_token_id = -1 - markers.index(eos) if eos else None

    def encode(self, text: str, *, add_special_tokens: bool = False) -> list[int]:
        assert not add_special_tokens
        parts = re.split("(" + "|".join(map(re.escape, self.markers)) + ")", text)
        return [
            token
            for number, part in enumerate(parts)
            for token in ([-1 - self.markers.index(part)] if number % 2 else map(ord, part))
        ]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.markers[-1 - token] if token < 0 else chr(token) for token in ids)


MARKED = CharacterTokenizer("</s>", "<t>", "</t>", "<user>", "<assistant>", "<tool>")


def extend(
    completion: str,
    new: list[dict[str, Any]],
    source: str = TEMPLATE.replace("KEEP", "true"),
    tokenizer: CharacterTokenizer = MARKED,
    **options: Any,
) -> Bridge:
    """Bridge from a completion behind a fixed prompt; the earlier tokens must be kept."""
    renderer = ca.load_renderer(source)
    prompt = tokenizer.encode("<user>Hello</s>\n<assistant>")
    ids = tokenizer.encode(completion)
    found = bridge(renderer, analyze(renderer), tokenizer, prompt, ids, new, **options)
    if found.ids is not None:
        assert list(found.ids[: len(prompt) + len(ids)]) == prompt + ids
    return found


def read_added(found: Bridge, completion: str, tokenizer: CharacterTokenizer = MARKED) -> str:
    assert found.ids is not None, found.reason
    return tokenizer.decode(found.ids).removeprefix("<user>Hello</s>\n<assistant>" + completion)


NEXT = "\n<user>And now?</s>\n<assistant>"


@pytest.mark.parametrize(
    ("completion", "added"),
    [
        ("Hi.</s>", NEXT),
        ("<t>Why?</t>Hi.</s>", NEXT),
        ("  odd\n\nspaces \n</s>", NEXT),
        ("", "</s>" + NEXT),
        ("Hi, I was cut o", "</s>" + NEXT),
        ("<t>Why?</t>", "</s>" + NEXT),
        # Reasoning that was cut off is closed, and then the turn.
        ("<t>I was cut", "</t></s>" + NEXT),
    ],
)
def test_what_follows_a_turn_is_appended(completion: str, added: str) -> None:
    assert read_added(extend(completion, QUESTION), completion) == added


def test_results_follow_calls() -> None:
    completion = '<do f {"a":"b"}/></s>'
    assert read_added(extend(completion, RESULT), completion) == "\n<tool>42</s>\n<assistant>"


def test_a_result_names_the_tool_of_its_call() -> None:
    named = (
        TEMPLATE.replace("KEEP", "true")
        .replace(
            "{{ m.content or '' }}",
            "{% if m.role == 'tool' %}{% for e in messages %}{% for c in e.tool_calls or [] if c.id == m.tool_call_id %}"
            "{{ c.function.name + ': ' }}{% endfor %}{% endfor %}{% endif %}{{ m.content or '' }}",
        )
        .replace("{{ '<do ' + c.function.name", "{{ '<do ' + c.id + ' ' + c.function.name")
    )
    completion = '<do x find {"a":"b"}/></s>'
    assert read_added(extend(completion, RESULT, named), completion) == "\n<tool>find: 42</s>\n<assistant>"


def test_no_bridge_where_the_template_rewrites_earlier_turns_unless_asked_for() -> None:
    source = TEMPLATE.replace("KEEP", "loop.last")
    completion = "<t>Why?</t>Hi.</s>"
    found = extend(completion, QUESTION, source)
    assert found.ids is None
    assert "another form" in found.reason
    assert read_added(extend(completion, QUESTION, source, faithful=False), completion) == NEXT


@pytest.mark.parametrize(
    ("completion", "new", "source", "tokenizer", "reason"),
    [
        ("Hi.</s>", [], TEMPLATE, MARKED, "no new message"),
        ("Hi.</s>", [{"role": "assistant", "content": "x"}], TEMPLATE, MARKED, "assistant"),
        ("Hi.</s> and more", QUESTION, TEMPLATE, MARKED, "goes on behind"),
        ("Hi.</s>", QUESTION, TEMPLATE, CharacterTokenizer("<t>"), "no token at the end"),
        # The number of the message is printed before it.
        ("Hi.</s>", QUESTION, NUMBERED, MARKED, "depends on the history"),
    ],
)
def test_reasons_for_none(
    completion: str, new: list[dict[str, Any]], source: str, tokenizer: CharacterTokenizer, reason: str
) -> None:
    found = extend(completion, new, source.replace("KEEP", "true"), tokenizer)
    assert found.ids is None
    assert reason in found.reason


def test_turns_that_end_where_another_role_begins() -> None:
    tokenizer = CharacterTokenizer("<user>", "<assistant>", "<tool>", "<end>", eos="<end>")
    options = {"source": OPEN_ENDED, "tokenizer": tokenizer}
    prompt = "And now?<assistant>"
    for completion, added in (("Hi.", "<user>" + prompt), ("Hi.<user>", prompt), ("Hi.<end>", "<user>" + prompt)):
        found = extend(completion, QUESTION, **options)  # type: ignore[arg-type]
        assert read_added(found, completion, tokenizer) == added
    found = extend("Hi.<tool>", QUESTION, **options)  # type: ignore[arg-type]
    assert (found.ids, "another role" in found.reason) == (None, True)


SPACED = OPEN_ENDED.replace("{{ '<' + m.role", "{{ ' ' if not loop.first }}{{ '<' + m.role").replace("{{ '<assistant>'", "{{ ' <assistant>'")


def test_layout_before_another_role_begins_is_not_left_out() -> None:
    tokenizer = CharacterTokenizer("<user>", "<assistant>", "<tool>")
    found = extend("Hi.", QUESTION, SPACED, tokenizer)
    assert (found.ids, "no token at the end" in found.reason) == (None, True)


NUMBERED_CALLS = TEMPLATE.replace("KEEP", "true").replace(
    "{{ m.content or '' }}",
    "{% if m.role == 'tool' %}{% for e in messages %}{% for c in e.tool_calls or [] if c.id == m.tool_call_id %}"
    "{{ loop.index0 ~ ': ' }}{% endfor %}{% endfor %}{% endif %}{{ m.content or '' }}",
)


def test_a_result_belongs_to_the_one_call_whatever_id_the_client_gave_it() -> None:
    completion = '<do find {"a":"b"}/></s>'
    assert read_added(extend(completion, RESULT, NUMBERED_CALLS), completion) == "\n<tool>0: 42</s>\n<assistant>"


@pytest.mark.parametrize(
    "name",
    ["Qwen-Qwen3.6-35B-A3B", "zai-org-GLM-5.1", "moonshotai-Kimi-K2.6", "openai-gpt-oss-120b", "MiniMaxAI-MiniMax-M2.5"],
)
def test_real_templates_are_bridged_to_what_a_full_render_has(name: str) -> None:
    source = load_source(name)
    found = bridges.measure(source)
    assert found["reasoning, call"] == "equal"
    assert not any(result.isupper() for result in found.values())


@pytest.mark.skipif(not importlib.util.find_spec("renderers"), reason="needs the package renderers, which the extras leave out")
@pytest.mark.parametrize("model", ["Qwen/Qwen3.6-35B-A3B", "zai-org/GLM-5.1", "MiniMaxAI/MiniMax-M2.5"])
def test_the_derived_renderer_gives_what_a_handwritten_one_does(model: str) -> None:
    source = next(source for known, source in bridges.list_rivals() if known == model)
    assert bridges.compare_renders(model, source)["tokens"]
    results = dict(bridges.compare(model, source, everything=False))
    assert results["reasoning, call"] == "equal"
