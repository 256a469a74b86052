"""Which versions of SGLang the plugin can extend.

0.5.23 is the first that hands a parser the rendered prompt and the special tokens of all requests
(`srt/parser/response_template.py`), replaces some templates by code in a way that can be asked for
(`srt/parser/python_chat_template.py`), and lets its tokenizer workers have another application
(`SGLANG_HTTP_SERVER_APP_PATH` in `srt/environ.py`); the detokenizer of most older ones loads no plugins.
"""

from __future__ import annotations

from sglang.version import __version__

OLDEST = (0, 5, 23)


def check_version() -> None:
    """Raise ImportError for a version of SGLang that is known to be too old."""
    numbers = tuple(int(part) for part in __version__.split("+")[0].split(".")[:3] if part.isdigit())
    if len(numbers) == len(OLDEST) and numbers < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise ImportError(f"this is SGLang {__version__}, and {wanted} or newer is needed")
