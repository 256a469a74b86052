"""Builds what pyproject.toml describes, with a README whose links also work where the repository's files are not: on an index.

A link to a file of the repository leads to the project's `Source` in pyproject.toml, or is plain text where there is none.
"""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup
from setuptools.compat.py310 import tomllib

ROOT = Path(__file__).resolve().parent
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


def read_readme() -> str:
    """Return the README as an index is to show it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = project.get("urls", {}).get("Source")
    return LINK.sub(rf"[\1]({source}/\2)" if source else r"\1", text)


setup(long_description=read_readme(), long_description_content_type="text/markdown")
