"""Builds what pyproject.toml describes, with two things that only a program can say.

The README's links also work where the repository's files are not: on an index. A link to a file of the repository leads to the
project's `Source` in pyproject.toml, or is plain text where there is none.

With CHAT_AUTOPARSER_COMPILE=1 in the environment the modules that read a stream are compiled with mypyc, from the same source. That
needs a C compiler and about a minute, and a token then costs a half to a fourth. Nothing else differs.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.compat.py310 import tomllib

ROOT = Path(__file__).resolve().parent
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")
COMPILED = ("delta.py", "schema.py", "format/cut.py", "format/units.py", "recover/*.py", "plan/*.py", "parse/*.py")
"""What is used for each token. Their constants are Final, which a compiled module reads without looking them up. A format stays as
it is: it is data that is copied, pickled and described by its annotations."""


def read_readme() -> str:
    """Return the README as an index is to show it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = project.get("urls", {}).get("Source")
    return LINK.sub(rf"[\1]({source}/\2)" if source else r"\1", text)


def list_extensions() -> list[Any]:
    """Return the modules to compile, under the name that the package has when it is installed."""
    from mypyc.build import mypycify

    folder = ROOT / "build" / "mypyc"
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / "chat_autoparser"
    if not package.is_symlink():
        package.symlink_to(ROOT / "core", target_is_directory=True)
    paths = [path for pattern in COMPILED for path in sorted(package.glob(pattern)) if path.name != "__init__.py"]
    options = ["--strict", "--ignore-missing-imports", f"--config-file={os.devnull}"]
    level = os.environ.get("CHAT_AUTOPARSER_COMPILE_LEVEL", "3")  # of the C compiler; with 0 it takes two thirds of the time
    sources = [*options, *(str(path.relative_to(ROOT)) for path in paths)]
    extensions: list[Any] = mypycify(sources, group_name="chat_autoparser", opt_level=level)
    return extensions


compiled = os.environ.get("CHAT_AUTOPARSER_COMPILE", "") not in ("", "0")
setup(
    long_description=read_readme(),
    long_description_content_type="text/markdown",
    setup_requires=["mypy>=1.11"] if compiled else [],
    # Who builds asks first what building needs, when that is not there yet.
    ext_modules=list_extensions() if compiled and find_spec("mypyc") else [],
)
