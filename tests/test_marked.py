"""Arguments in which marks of the format stand: a recovery changes nothing of what a template can render (`scripts/marked.py`)."""

from __future__ import annotations

import marked
import pytest
from corpus import load_corpus
from test_unseen import FOLDER

NAMES = sorted(path.stem for path in FOLDER.glob("*.jinja"))[::48]


@pytest.mark.parametrize("name", NAMES)
def test_marks_in_arguments_of_made_up_templates_are_text(name: str) -> None:
    (source,) = (each for each in load_corpus(name, FOLDER) if each.name == name)
    assert marked.measure(source, count=4).misread == ()


def test_marks_in_arguments_of_real_templates_are_text() -> None:
    sources = [source for source in load_corpus() if "tool_calls" in source.text][::48]
    outcomes = [marked.measure(source, count=4) for source in sources]
    assert [outcome for outcome in outcomes if outcome.misread] == []
    assert sum(outcome.right for outcome in outcomes) > 20
