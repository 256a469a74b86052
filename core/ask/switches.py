"""The arguments beyond messages and tools that a template reads, and the values worth trying for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .oracle import Oracle
from .question import PARTS, Part, Question, Shape, Switches
from .renderer import Renderer
from .shapes import make_test_call
from .words import make_word

GENERAL_SWITCHES = ("enable_thinking", "thinking", "reasoning_effort")
"""Template arguments that vLLM and SGLang themselves set from a request; tried where a renderer tells none."""

_Look = list[str | None]
"""What is added by a prompt, and the texts of turns."""

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


class Effects(NamedTuple):
    """What switches do: the ``settings`` that change a prompt or a turn without calls, each kind of change once, no setting first;
    the prompts in which a value is ``echoed`` and nothing else changes, each with that value; and what parts of a turn are written
    otherwise under further settings, or with their values in them, which ``varies``."""

    settings: list[Switches]
    echoed: list[tuple[str, str]]
    varies: dict[Part, Switches]


def find_switches(oracle: Oracle, calling: Sequence[Shape]) -> Effects:
    """Return what switches do, with calls in the first of some shapes."""
    reasoning, content = make_word("r"), make_word("c")
    turns = [(Question(each, content), oracle.shape) for each in (reasoning, None)]
    turns += [(Question(calls=(make_test_call(shape),)), shape) for shape in calling[:1]]
    looks: list[_Look] = []
    found = Effects([], [], {})
    for setting in [(), *list_settings(oracle.renderer)]:
        prompt = oracle.ask_prompt(Question(switches=setting))
        asked = (oracle.ask_turn(replace(question, switches=setting), shape) for question, shape in turns)
        look = [prompt and prompt.added, *(turn and turn.text for turn in asked)]
        if look in looks or not any(look[1:]):
            continue
        echo = bool(looks) and _is_echo(value := str(setting[0][1]), look, looks[0])
        changed = [part for part, text, usual in zip(PARTS, look[1:], looks[0][1:], strict=False) if text != usual] if looks else []
        if echo or any(look[:3] == known[:3] for known in looks):
            found.varies.update((part, setting) for part in changed if part not in found.varies)
            found.echoed.extend([(look[0] or "", value)] if echo else [])
            continue
        looks.append(look)
        found.settings.append(setting)
        if len(looks) == _MOST_STATES:
            break
    return found


def _is_echo(value: str, look: _Look, usual: _Look) -> bool:
    """Whether a value is printed as it is, and nothing else changes: that is text, and no switch."""
    texts, known = ("\n".join(text or "" for text in texts) for texts in (look, usual))
    return bool(value) and texts.count(value) > known.count(value) and _is_same_around(value, texts, known)


def _is_same_around(value: str, text: str, other: str) -> bool:
    """Whether what stands around a value in a text stands in another one, too, around whatever is there."""
    first, *inner, last = text.split(value)
    at = len(first) if other.startswith(first) else -1
    for piece in inner:
        found = other.find(piece, at) if at >= 0 else -1
        at = found + len(piece) if found >= 0 else -1
    return 0 <= at <= len(other) - len(last) and other.endswith(last)
