"""From a template, or from examples, to a format."""

from __future__ import annotations

from typing import Any

from .ask.oracle import Oracle
from .budget import Budget
from .derive.driver import derive
from .derive.record import make_format
from .errors import MissingTemplateError
from .graph.chat_format import ChatFormat
from .renderer import Renderer, load_renderer
from .source import NO_TEMPLATE
from .teach.learn import learn
from .teach.lesson import load_lessons


def analyze(template: Any = None, *, examples: Any = None, **special_tokens: str) -> ChatFormat:
    """Derive how a model writes from its chat template, and from examples what the template does not print."""
    lessons = load_lessons(examples) if examples else ()
    try:
        if template is None:
            raise MissingTemplateError(f"Analysing a chat template: there is none. {NO_TEMPLATE}")
        known = _derive(load_renderer(template, **special_tokens))
    except MissingTemplateError:
        if not lessons:
            raise
        return learn(lessons)
    return learn(lessons, known) if lessons else known


def _derive(renderer: Renderer) -> ChatFormat:
    oracle = Oracle(renderer if renderer.is_accounted else renderer.within(Budget()))
    return make_format(oracle, derive(oracle))
