"""The engines under test: how each is started with our parsers, and how a request tells it what to generate."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from cases import ROOT, Case
from clients import MODEL
from conversations import JsonObject
from serving import Server, serve, serve_fork
from tiny_model import LENGTH


class Engine(ABC):
    """An engine. `endpoints` are those (of `clients.ENDPOINTS`) whose output can be scripted."""

    name: str
    endpoints: Sequence[str] = ("chat", "responses", "messages")
    silencer: JsonObject = {}  # noqa: RUF012 - never changed
    """The field of a chat request that asks for no reasoning in the answer."""

    def is_installed(self) -> bool:
        return find_spec(self.name) is not None

    @abstractmethod
    def serve(
        self, model: Path, log: Path, options: Sequence[str] = (), parsers: str = "auto"
    ) -> AbstractContextManager[Server]:
        """A server with a scripted engine core, or the real one where there is no scripted one."""

    @abstractmethod
    def serve_real(
        self, model: Path, log: Path, options: Sequence[str] = (), parsers: str = "auto"
    ) -> AbstractContextManager[Server]:
        """A server with the real engine, whose model is made to write what is scripted."""

    @abstractmethod
    def script(self, case: Case) -> JsonObject:
        """The fields of a request's body that make the server generate the case's text."""


class Vllm(Engine):
    name = "vllm"
    silencer: JsonObject = {"include_reasoning": False}  # noqa: RUF012

    def __init__(self) -> None:
        if self.is_installed() and self._read_version() < (0, 29):
            self.endpoints = ("chat", "responses")  # no `vllm_xargs` in the others' requests

    def _read_version(self) -> tuple[int, ...]:
        return tuple(int(part) for part in version("vllm").split("+")[0].split(".")[:2])

    def _list_options(self, model: Path, options: Sequence[str], parsers: str) -> list[str]:
        tools, _, reasoning = parsers.partition(",")
        common = ["serve", str(model), "--served-model-name", MODEL, "--max-model-len", str(LENGTH)]
        flags = ["--enable-auto-tool-choice", "--tool-call-parser", tools, "--reasoning-parser", reasoning or tools]
        return [*common, *flags, *options]

    def serve(
        self, model: Path, log: Path, options: Sequence[str] = (), parsers: str = "auto"
    ) -> AbstractContextManager[Server]:
        return serve_fork("fake_core", self._list_options(model, options, parsers), log)

    def serve_real(
        self, model: Path, log: Path, options: Sequence[str] = (), parsers: str = "auto"
    ) -> AbstractContextManager[Server]:
        small = ["--load-format", "dummy", "--enforce-eager", "--max-num-seqs", "4"]
        scripted = ["--logits-processors", "scripted:Scripted"]
        command = Path(sys.executable).with_name("vllm")
        arguments = self._list_options(model, [*small, *scripted, *options], parsers)
        return serve([str(command), *arguments], log, path=[str(ROOT / "scripts")])

    def script(self, case: Case) -> JsonObject:
        return {"vllm_xargs": {"script": case.text, "burst": case.burst}}


ENGINES: dict[str, type[Engine]] = {"vllm": Vllm}
