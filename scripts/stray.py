"""On what the engines differ where an output is off the script: the switches of a policy as each test wants them."""

from __future__ import annotations

from conversations import JsonObject


def list_options(case: JsonObject) -> JsonObject:
    """The arguments of a parser that make it keep the conventions of a case's engine."""
    return {}
