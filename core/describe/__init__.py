"""A format in words: for print, logs, the command and the page."""

from __future__ import annotations
