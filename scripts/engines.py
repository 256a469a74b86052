"""The serving engines: how each is started with our parsers, and how a request tells it what to generate."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cases import Case
from serving import STAND_INS, Server, list_sglang, serve, serve_fork
from tiny_model import LENGTH

MODEL = "tiny"
"""The name that models are served under."""

JsonObject = dict[str, Any]
Watch = Callable[[float], None]


class Engine(ABC):
    """An engine. `endpoints` are those of "chat", "responses" and "messages" whose output can be scripted."""

    name: str
    endpoints: Sequence[str] = ("chat", "responses", "messages")
    silencer: JsonObject = {}  # noqa: RUF012 - never changed
    """The field of a chat request that asks for no reasoning in the answer."""
    doubled: Sequence[str] = ()
    """The options for two processes that serve the API, where it has that."""
    renames: Sequence[str] = ()
    """The endpoints that give calls ids of their own, whatever the parser says."""

    def is_installed(self) -> bool:
        """Whether this environment has it."""
        return find_spec(self.name) is not None

    @abstractmethod
    def list_command(self, model: Path, parsers: str = "auto") -> list[str]:
        """The command that serves a model for real. `parsers` is TOOL or TOOL,REASONING."""

    @abstractmethod
    def serve(self, model: Path, log: Path, parsers: str = "auto", options: Sequence[str] = ()) -> AbstractContextManager[Server]:
        """A server with a scripted engine core, or the real one where there is no scripted one."""

    def serve_real(
        self, model: Path, log: Path, parsers: str = "auto", watch: Watch | None = None, options: Sequence[str] = ()
    ) -> AbstractContextManager[Server]:
        """A server with the real engine, whose model is made to write what is scripted.

        `watch` is told the seconds; the `options` are added to the engine's.
        """
        command = [*self.list_command(model, parsers), *options]
        return serve(command, log, path=[str(Path(__file__).parent)], watch=watch)

    def adapt(self, case: Case, endpoint: str) -> Case | None:
        """The case as an endpoint can be asked it, or None where its requests cannot set the template's switches."""
        return case

    def find_lack(self) -> str:
        """Why the engine that is installed can run no model for real; empty where it can."""
        return ""

    @abstractmethod
    def script(self, text: str, burst: int = 1, *, bound: bool = True) -> JsonObject:
        """The fields of a request's body that make the server generate a text, so many tokens a step if it can do that.

        Where it is not `bound`, it is generated even if the request's constraint refuses it.
        """


class Vllm(Engine):
    """vLLM on a CPU. What the real engine makes a tiny model write is forced by a logits processor."""

    name = "vllm"
    doubled = ("--api-server-count", "2")
    silencer: JsonObject = {"include_reasoning": False}  # noqa: RUF012

    def _list_options(self, model: Path, parsers: str) -> list[str]:
        tools, _, reasoning = parsers.partition(",")
        flags = ["--enable-auto-tool-choice", "--tool-call-parser", tools, "--reasoning-parser", reasoning or tools]
        return ["serve", str(model), "--served-model-name", MODEL, "--max-model-len", str(LENGTH), *flags]

    def find_lack(self) -> str:
        found = find_spec("vllm")
        folders = map(Path, found.submodule_search_locations or ()) if found else ()
        compiled = any(path for folder in folders for path in folder.glob("_C*.so"))
        return "" if compiled else f"vLLM {version('vllm')} is here without its compiled parts: see scripts/overlay_vllm.sh"

    def list_command(self, model: Path, parsers: str = "auto") -> list[str]:
        small = ["--load-format", "dummy", "--enforce-eager", "--max-num-seqs", "4"]
        scripted = ["--logits-processors", "scripted:Scripted"]
        return [str(Path(sys.executable).with_name("vllm")), *self._list_options(model, parsers), *small, *scripted]

    def serve(self, model: Path, log: Path, parsers: str = "auto", options: Sequence[str] = ()) -> AbstractContextManager[Server]:
        return serve_fork("fake_core", [*self._list_options(model, parsers), *options], log)

    def serve_renderer(self, model: Path, log: Path) -> AbstractContextManager[Server]:
        """The server without an engine, that renders prompts and reads what was generated for them."""
        return serve_fork("fake_core", ["launch", "render", *self._list_options(model, "auto")[1:]], log)

    def script(self, text: str, burst: int = 1, *, bound: bool = True) -> JsonObject:
        return {"vllm_xargs": {"script": text, "burst": burst, **({} if bound else {"unbound": 1})}}


class Sglang(Engine):
    """SGLang on a CPU; what it generates is scripted by scripts/sglang_cpu."""

    name = "sglang"
    doubled = ("--tokenizer-worker-num", "2")
    renames = ("responses",)

    def _list_options(self, model: Path, parsers: str) -> list[str]:
        tools, _, reasoning = parsers.partition(",")
        common = ["--model-path", str(model), "--served-model-name", MODEL, "--context-length", str(LENGTH)]
        return [*common, "--tool-call-parser", tools, "--reasoning-parser", reasoning or tools]

    def list_command(self, model: Path, parsers: str = "auto") -> list[str]:
        return list_sglang(self._list_options(model, parsers))

    def serve(self, model: Path, log: Path, parsers: str = "auto", options: Sequence[str] = ()) -> AbstractContextManager[Server]:
        arguments = [*self._list_options(model, parsers), *options]
        return serve_fork("fake_sglang", arguments, log, health="/v1/models", path=[str(STAND_INS)])

    def serve_real(
        self, model: Path, log: Path, parsers: str = "auto", watch: Watch | None = None, options: Sequence[str] = ()
    ) -> AbstractContextManager[Server]:
        command = self.list_command(model, parsers)
        if options:  # the other launcher has to work as well
            launcher = (str(Path(sys.executable).with_name("sglang")), "serve")
            command = list_sglang([*self._list_options(model, parsers), *options], launcher)
        return serve(command, log, path=[str(STAND_INS)], watch=watch)

    def adapt(self, case: Case, endpoint: str) -> Case | None:
        """Messages have no `chat_template_kwargs` (0.5.23): reasoning can be turned on and off, and nothing else."""
        if endpoint != "messages" or not case.kwargs:
            return case
        [(switch, value), *more] = case.kwargs.items()
        if switch not in ("thinking", "enable_thinking") or more:
            return None
        thinking = {"type": "enabled", "budget_tokens": 1024} if value else {"type": "disabled"}
        return replace(case, options={**case.options, "thinking": thinking})

    def script(self, text: str, burst: int = 1, *, bound: bool = True) -> JsonObject:
        return {"script": {"text": text, "burst": burst}}


ENGINES: dict[str, type[Engine]] = {"vllm": Vllm, "sglang": Sglang}
