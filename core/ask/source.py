"""Chat templates and special tokens as they lie in files, read as transformers reads them.

The places and their order are those of transformers 5.x, ``tokenization_utils_base.py``: the ``.jinja`` files of a
model folder replace the ``chat_template`` of its ``tokenizer_config.json``, and special tokens of an older
``special_tokens_map.json`` count only where the configuration describes no added tokens. A ``chat_template.json``,
which older processors have, is read where there is nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import AutoparserError, MissingTemplateError, TemplateError

NO_TEMPLATE = (
    "A model without one was published as a base model, or its template lies elsewhere. Pass the template that it was "
    "trained with (a file of Jinja source, often in the repository of the model that it was tuned from), or, where there "
    "is none, teach the format by example: one or two raw outputs with the messages they mean."
)
"""What to do about a model without a chat template."""


@dataclass(frozen=True)
class Source:
    """Jinja sources by name (a single one is called ``default``), and special tokens by the names templates know; a ``bare``
    one is a file of Jinja source, which tells of no tokens."""

    templates: dict[str, str]
    special_tokens: dict[str, str]
    bare: bool = False


def read_source(path: Path) -> Source:
    """Read a file of Jinja source, a ``.json`` file with a ``chat_template``, or a model folder.

    Raises :class:`TemplateError` where it is missing, cannot be read, or holds no template.
    """
    if path.is_dir():
        config, templates = _read_folder(path)
        found = f"the folder {path} found neither chat_template.jinja nor a chat_template in tokenizer_config.json."
    elif path.suffix != ".json":
        return Source({"default": _read_text(path)}, {}, bare=True)
    else:
        config = _read_object(path)
        templates = _list_templates(config, path)
        found = f"{path} found no chat_template in it. Pass the folder of the model or the file that has the template."
    if not templates:
        raise MissingTemplateError(f"Reading the chat template from {found} {NO_TEMPLATE}")
    return Source(templates, _list_tokens(config))


def _read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the configuration of a model folder, and its templates."""
    config_path = folder / "tokenizer_config.json"
    config = _read_object(config_path) if config_path.is_file() else {}
    tokens_path = folder / "special_tokens_map.json"
    if "added_tokens_decoder" not in config and tokens_path.is_file():
        config = {**config, **_read_object(tokens_path)}
    templates = _read_jinja_files(folder) or _list_templates(config, config_path)
    processor_path = folder / "chat_template.json"
    if not templates and processor_path.is_file():
        templates = _list_templates(_read_object(processor_path), processor_path)
    return config, templates


def _read_jinja_files(folder: Path) -> dict[str, str]:
    paths = {path.stem: path for path in sorted((folder / "additional_chat_templates").glob("*.jinja"))}
    if (folder / "chat_template.jinja").is_file():
        paths.setdefault("default", folder / "chat_template.jinja")
    return {name: _read_text(path) for name, path in paths.items()}


def _list_templates(config: dict[str, Any], path: Path) -> dict[str, str]:
    """Return the templates of a configuration: one source, or a list of objects with name and template."""
    found = config.get("chat_template")
    if found is None:
        return {}
    if isinstance(found, str):
        return {"default": found}
    try:
        pairs = found.items() if isinstance(found, dict) else [(entry["name"], entry["template"]) for entry in found]
        templates = dict(pairs)
    except (TypeError, KeyError, ValueError):
        templates = {None: None}
    if not all(isinstance(text, str) for pair in templates.items() for text in pair):
        raise TemplateError(
            f"Reading the chat template from {path}: chat_template is neither a text nor a list of objects with name "
            "and template. Correct the file."
        )
    return templates


def _list_tokens(config: dict[str, Any]) -> dict[str, str]:
    """Return the special tokens of a configuration; a token is a text or an object with its content."""
    extra = config.get("extra_special_tokens")
    named = {name: value for name, value in config.items() if name.endswith("_token")}
    tokens = {**named, **(extra if isinstance(extra, dict) else {})}
    texts = {name: value.get("content") if isinstance(value, dict) else value for name, value in tokens.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def _read_text(path: Path, what: str = "", refuse: type[AutoparserError] = TemplateError) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        where = f"{error.reason} at byte {error.start}"
        raise refuse(f"Reading {what}{path}: it is not valid UTF-8 ({where}). Convert the file to UTF-8.") from None
    except OSError as error:
        raise refuse(f"Reading {what}{path}: {error.strerror or error}. Check the path.") from None


def read_json(path: Path, what: str = "", refuse: type[AutoparserError] = TemplateError) -> Any:
    """Return what a file of JSON holds; ``what`` that is, with a blank behind it, is told where it is refused."""
    try:
        return json.loads(_read_text(path, what, refuse))
    except (ValueError, RecursionError) as error:
        raise refuse(f"Reading {what}{path}: it is not valid JSON ({error}). Correct the file.") from None


def _read_object(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not isinstance(found, dict):
        raise TemplateError(f"Reading {path}: it holds {type(found).__name__} and not an object. Correct the file.")
    return found


def read_response_template(path: Path) -> Any:
    """Return the response template that a model folder or a ``tokenizer_config.json`` ships, None where there is none.

    It is what transformers (5.13 and later) reads as ``tokenizer.response_template``. Raises nothing.
    """
    config = path / "tokenizer_config.json" if path.is_dir() else path
    try:
        return _read_object(config).get("response_template") if config.suffix == ".json" else None
    except TemplateError:
        return None
