"""What the command is given, and what it reads of it: templates, folders, names on a model hub, tools, prompts and
switches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..ask.renderer import HUB_NAME, JinjaRenderer, Renderer, load_renderer
from ..ask.source import read_source
from ..errors import AutoparserError, TemplateError
from ..schema import ToolSet

_CACHED = ("chat_template.jinja", "tokenizer_config.json", "chat_template.json")


class InputError(AutoparserError):
    """Input that cannot be used; the message is the line that the user sees."""


def load_template(given: str, name: str | None = None, switches: Mapping[str, Any] | None = None, **tokens: str) -> Renderer:
    """Make the renderer of a template: a file, a model folder or the name of a model in the hub's cache on this machine.

    ``name`` chooses among several templates. ``switches`` are the template arguments that hold unless a request sets
    others. Raises :class:`TemplateError` and :class:`InputError`.
    """
    path = find_path(given)
    renderer = _load(path, name, tokens)
    unknown = sorted(set(switches or ()) - renderer.switches - set(renderer.unknown_tokens))
    if unknown and renderer.source is not None:  # nothing would come of it
        known = ", ".join(sorted(renderer.switches)) or "none"
        raise InputError(f"--set {unknown[0]}: the template in {given} does not read it. It reads these switches: {known}")
    return _load(path, name, {**tokens, **switches}) if switches else renderer


def find_path(given: str) -> Path:
    """Return the file or folder that is meant. Raises :class:`InputError` for the name of a model that is not on this
    machine.
    """
    path = Path(given)
    if path.exists() or not HUB_NAME.fullmatch(given) or path.suffix in (".jinja", ".json"):
        return path
    folder = _find_cached(given)
    if folder is None and not path.parent.is_dir():
        raise InputError(
            f"{given} is no file or folder here. It looks like the name of a model on a hub: nothing is downloaded, and it "
            "is not in the cache of huggingface_hub on this machine. Fetch it first "
            f"(hf download {given} --include '*.json' '*.jinja'), or pass the model's folder"
        )
    return folder or path


def _find_cached(name: str) -> Path | None:
    """Return the folder of a model in the cache that transformers shares with huggingface_hub; None where there is
    neither.
    """
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    with suppress(ValueError):  # of a name that no hub has
        found = [try_to_load_from_cache(name, file) for file in _CACHED]
        return next((Path(file).parent for file in found if isinstance(file, str)), None)
    return None


def name_model(given: str) -> str:
    """Return the name of the model in what the command was given: a folder's, a file's, or the one on the hub."""
    path = Path(given)
    if not path.exists():
        return given
    path = path.resolve()
    if path.is_dir() or path.name in _CACHED:
        folder = path if path.is_dir() else path.parent
        cached = re.search(r"models--(.+?)--(.+)", str(folder.parent.parent.name))
        return f"{cached[1]}/{cached[2]}" if cached else folder.name
    return path.stem


def _load(path: Path, name: str | None, variables: Mapping[str, Any]) -> Renderer:
    if name is None:
        return load_renderer(path, **variables)
    source = read_source(path)
    if name not in source.templates:
        raise InputError(f"{path} has no template called {name!r}; it has {', '.join(map(repr, sorted(source.templates)))}")
    renderer = JinjaRenderer(source.templates[name], **{**source.special_tokens, **variables})
    return renderer.mark_unknown(stand_in=True) if source.bare else renderer


def list_templates(path: Path) -> list[str]:
    """Return the names of the templates that a file or folder has; none where it cannot be read."""
    try:
        return sorted(read_source(path).templates)
    except TemplateError:
        return []


def read_text(path: Path) -> str:
    """Return the text of a file. Raises :class:`InputError`."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not valid UTF-8: {error.reason} at byte {error.start}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file. Raises :class:`InputError`."""
    try:
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def read_tools(path: Path | None) -> list[dict[str, Any]] | None:
    """Read a file of OpenAI tool dicts; None where there is none, so the tools are unknown. Raises :class:`InputError`."""
    if path is None:
        return None
    try:
        tools = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(tools, list):
        raise InputError(f'{path} holds no list of tools but {type(tools).__name__}: pass the request\'s "tools"')
    for number, tool in enumerate(tools):
        if not ToolSet([tool]):
            raise InputError(f"{path}: tool {number} has no function with a name")
    return tools


def find_templates(paths: Iterable[str]) -> list[Path]:
    """Return the templates that are meant by paths: files as they are, and what folders hold, in the order of names.

    Raises :class:`TemplateError` for a path that does not exist and for a folder without templates.
    """
    found: list[Path] = []
    for path in map(find_path, paths):
        if not path.exists():
            raise TemplateError(f"{path} does not exist")
        inside = _walk(path) if path.is_dir() else [path]
        if not inside:
            raise TemplateError(f"{path} holds neither *.jinja files nor a model folder with a chat template")
        found += inside
    return list(dict.fromkeys(found))


def _walk(folder: Path) -> list[Path]:
    """Find model folders and template files; those that belong to a model folder are not counted once more."""
    model = _is_model_folder(folder)
    found = [folder] if model else []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if not (model and path.name == "additional_chat_templates"):
                found += _walk(path)
        elif path.suffix == ".jinja" and not model:
            found.append(path)
    return found


def _is_model_folder(folder: Path) -> bool:
    if (folder / "chat_template.jinja").is_file() or any((folder / "additional_chat_templates").glob("*.jinja")):
        return True
    configurations = [folder / name for name in ("tokenizer_config.json", "chat_template.json")]
    return any(path.is_file() and b'"chat_template"' in path.read_bytes() for path in configurations)
