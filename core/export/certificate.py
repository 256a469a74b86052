"""A format with its proof, kept beside a model: checked in milliseconds where an analysis would take hundreds.

A certificate is one JSON object. It fits a template if the hash of what decides a render is the same: the Jinja source
and the special tokens and switches that it names. Whoever takes one trusts the file as much as the template that lies
beside it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..ask.renderer import JinjaRenderer, NamedRenderer, Renderer
from ..ask.source import read_json
from ..errors import FormatError
from ..format import ChatFormat

FILE_NAME = "chat_autoparser.json"
"""What a certificate in a model's folder is called."""

_LAYOUT = 1


def find_version() -> str:
    """Return the version of this package."""
    try:
        return version("chat-autoparser")
    except PackageNotFoundError:
        return "(not installed)"


def hash_template(renderer: Renderer) -> str:
    """Return the hash of what decides how a renderer renders. Raises :class:`FormatError` for one that has no Jinja source."""
    told = []
    for part in renderer.parts if isinstance(renderer, NamedRenderer) else (renderer,):
        if not isinstance(part, JinjaRenderer):
            raise FormatError("certifying a format: the renderer has no Jinja source whose hash would tell that it is the same")
        told.append([part.source, {name: value for name, value in sorted(part.variables.items()) if name in (part.source or "")}])
    return sha256(json.dumps(told, ensure_ascii=True, default=repr).encode()).hexdigest()


def make_certificate(renderer: Renderer, format: ChatFormat) -> dict[str, Any]:
    """Return a format with its proof and the hash of its template, as JSON-serialisable data. Raises :class:`FormatError`."""
    verdict = format.verdict
    proof = {"proven": verdict.proven, "checked": verdict.checked, "passed": verdict.passed, "parts": dict(verdict.parts)}
    return {
        "certificate": _LAYOUT,
        "made_by": f"chat-autoparser {find_version()}",
        "template_sha256": hash_template(renderer),
        "proof": proof,
        "format": format.to_dict(),
    }


def read_certificate(data: Any, renderer: Renderer) -> ChatFormat:
    """Return the format of a certificate. Raises :class:`FormatError` where it is none, or one of another template or version."""
    if not isinstance(data, dict) or data.get("certificate") != _LAYOUT or not isinstance(data.get("format"), dict):
        raise FormatError("reading a certificate: this is none that this release reads; make it anew with chat-autoparser certify")
    if data.get("template_sha256") != hash_template(renderer):
        raise FormatError(
            "reading a certificate: it belongs to another template, or to other special tokens; "
            "make it anew with chat-autoparser certify"
        )
    return ChatFormat.from_dict(data["format"])


def is_certificate(path: Path) -> bool:
    """Whether a file has the look of a certificate, of whatever template and release."""
    with suppress(FormatError):
        data = read_json(path, "", FormatError)
        return isinstance(data, dict) and "certificate" in data
    return False


def load_certificate(path: str | Path, renderer: Renderer) -> ChatFormat:
    """Return the format of the certificate in a file, or in a model's folder. Raises :class:`FormatError`."""
    path = Path(path)
    file = path / FILE_NAME if path.is_dir() else path
    return read_certificate(read_json(file, "the certificate ", FormatError), renderer)
