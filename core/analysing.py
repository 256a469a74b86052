"""From a template to a proven format."""

from __future__ import annotations

from typing import Any

from .derive.driver import derive_graph
from .graph.chat_format import ChatFormat
from .renderer import load_renderer


def analyze(template: Any, **special_tokens: str) -> ChatFormat:
    """Derive how a model writes from its chat template."""
    return ChatFormat(derive_graph(load_renderer(template, **special_tokens)))
