from __future__ import annotations
from dataclasses import dataclass
from typing import Any
MODES = ("words", "brackets", "bare")
@dataclass
class Renamed:
    source: str
    turns: list[Any]
    failure: str | None
def rename(name: str, source: str, turns: list[Any], mode: str) -> Renamed:
    return Renamed(source, turns, "not yet")
