"""The application of SGLang's tokenizer workers (`--tokenizer-worker-num`), which are processes that load no plugins.

SGLang 0.5.23, `srt/entrypoints/http_server.py`: uvicorn imports the application by a path that an environment variable
names, and nothing else of the launcher runs there.
"""

from __future__ import annotations

from sglang.srt.plugins import load_plugins

load_plugins()

from sglang.srt.entrypoints.http_server import app  # noqa: E402  # its imports must see the plugins

__all__ = ["app"]
