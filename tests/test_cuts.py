"""Calls that are cut off, at every place of a turn: nothing is made up. The formats are drawn, and some are real templates."""

from __future__ import annotations

import random

import pytest
from corpus import load_source
from cuts import find_faults
from invent import draw
from invent.turns import Speaker, make_turns
from rendering import BOS, EOS
from study import study_template
from turns import list_turns

import chat_autoparser as ca

CALLS = ("call all types", "two calls", "reasoning, call")
TEMPLATES = ("Gryphe-Gemma-4-31B-StyleTune", "ewald1976-G4-Plainsong-12B", "praxisresearch-hf_seed_36b_sgtr_benign_0")
"""Texts between marks of several signs, arguments that may stand right behind the name, and lists as JSON between marks."""


@pytest.mark.parametrize("number", range(16))
def test_nothing_is_made_up_in_drawn_formats(number: int) -> None:
    design = draw(random.Random(f"cut:{number}"))
    speaker = Speaker(design)
    form = ca.analyze(speaker.source, bos_token=BOS, eos_token=EOS)
    turns = [turn for turn in make_turns(speaker, number) if turn.expected["tool_calls"] and not (turn.unreadable or turn.ended)]
    assert turns
    for turn in random.Random(number).sample(turns, min(3, len(turns))):
        assert find_faults(form, turn) == [], speaker.source


@pytest.mark.parametrize("name", TEMPLATES)
def test_nothing_is_made_up_in_real_templates(name: str) -> None:
    source = load_source(name)
    study = study_template(source.name, source.text)
    turns = {turn.name: turn for turn in list_turns(study)} if study else {}
    form = ca.analyze(source.text, bos_token=BOS, eos_token=EOS)
    chosen = [turns[label] for label in CALLS if label in turns and not turns[label].unreadable]
    assert chosen
    for turn in chosen:
        assert find_faults(form, turn) == []
