"""What is read where a model did not write what its template shows. Nothing here knows a graph or reads a stream."""

from __future__ import annotations

from .around_fields import APART, SPEAKS
from .fields import find_name, read_fields
from .habits import Habits
from .notation import Begun, Notation, compile_names
from .policy import REPAIR, Policy, PolicyName, get_policy
from .repair import CLOSERS, LITERALS, QUOTES, complete, read_literal, repair, unquote
from .shape import Envelope, FoundCall, find_tool_in, read_calls

__all__ = [
    "APART",
    "CLOSERS",
    "LITERALS",
    "QUOTES",
    "REPAIR",
    "SPEAKS",
    "Begun",
    "Envelope",
    "FoundCall",
    "Habits",
    "Notation",
    "Policy",
    "PolicyName",
    "compile_names",
    "complete",
    "find_name",
    "find_tool_in",
    "get_policy",
    "read_calls",
    "read_fields",
    "read_literal",
    "repair",
    "unquote",
]
