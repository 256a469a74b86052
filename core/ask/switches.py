"""The arguments beyond messages and tools that a template reads, and the values worth trying for each."""

from __future__ import annotations

from typing import Any

from .oracle import Oracle
from .question import Question, Switches
from .renderer import Renderer
from .words import make_word

GENERAL_SWITCHES = ("enable_thinking", "thinking", "reasoning_effort")
"""Template arguments that vLLM and SGLang themselves set from a request; tried where a renderer tells none."""

_MOST_VALUES = 8
_MOST_STATES = 12


def list_settings(renderer: Renderer) -> list[Switches]:
    """Return each switch with each value that is worth trying."""
    names = sorted(renderer.switches) if renderer.source else list(GENERAL_SWITCHES)
    compared = dict(renderer.hints.compared)
    settings: list[Switches] = []
    for name in names:
        values: list[Any] = [True, False, *compared.get(name, ())]
        if not renderer.source:
            values += ["low", "none"]
        settings += [((name, value),) for value in values[:_MOST_VALUES]]
    return settings


def find_switches(oracle: Oracle) -> tuple[list[Switches], list[tuple[str, str]]]:
    """Return the settings that change a prompt or a turn, each kind of change once, no setting first; and the prompts in which a
    value is printed and nothing else changes, each with that value."""
    reasoning, content = make_word("r"), make_word("c")
    looks: list[Any] = []
    kept: list[Switches] = []
    echoed: list[tuple[str, str]] = []
    for setting in [(), *list_settings(oracle.renderer)]:
        prompt = oracle.ask_prompt(Question(switches=setting))
        turns = [oracle.ask_turn(Question(each, content, switches=setting)) for each in (reasoning, None)]
        look = (prompt and prompt.added, turns)
        if look in looks or not any(turns):
            continue
        if looks and _is_echo(value := str(setting[0][1]), look, looks[0]):
            echoed.append((prompt.added if prompt else "", value))
            continue
        looks.append(look)
        kept.append(setting)
        if len(kept) == _MOST_STATES:
            break
    return kept, echoed


def _is_echo(value: str, look: Any, usual: Any) -> bool:
    """Whether a value is printed as it is, and nothing else changes: that is text, and no switch."""
    texts, known = _join_texts(look), _join_texts(usual)
    return bool(value) and texts.count(value) > known.count(value) and _is_same_around(value, texts, known)


def _is_same_around(value: str, text: str, other: str) -> bool:
    """Whether what stands around a value in a text stands in another one, too, around whatever is there."""
    first, *inner, last = text.split(value)
    at = len(first) if other.startswith(first) else -1
    for piece in inner:
        found = other.find(piece, at) if at >= 0 else -1
        at = found + len(piece) if found >= 0 else -1
    return 0 <= at <= len(other) - len(last) and other.endswith(last)


def _join_texts(look: Any) -> str:
    prompt, turns = look
    return "\n".join([prompt or "", *(turn.text for turn in turns if turn)])
