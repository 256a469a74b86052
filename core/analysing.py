"""From a template to a proven format."""

from __future__ import annotations

from typing import Any

from .ask.oracle import Oracle
from .budget import Budget
from .derive.record import derive_format
from .graph.chat_format import ChatFormat
from .renderer import load_renderer


def analyze(template: Any, **special_tokens: str) -> ChatFormat:
    """Derive how a model writes from its chat template."""
    renderer = load_renderer(template, **special_tokens)
    return derive_format(Oracle(renderer if renderer.is_accounted else renderer.within(Budget())))
