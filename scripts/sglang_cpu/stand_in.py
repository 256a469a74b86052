"""What the import-only stand-ins for packages without a CPU build are made of.

SGLang imports `sgl_kernel` and `torchvision` at module level, also where it then runs on a CPU and calls nothing of
them; the published builds of both need CUDA. A stand-in lets those imports pass: every attribute and every submodule
exists. Calling one raises, so that nothing is ever computed wrongly in silence. This folder goes first on PYTHONPATH.
"""

from __future__ import annotations

import sys
import types
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class StandIn:
    """A name of a package that is not there: it can be imported, compared and subclassed, but not called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise NotImplementedError(f"{self._name} was called, but this environment has a stand-in for it that does nothing")

    def __getattr__(self, name: str) -> StandIn:
        return make_getter(self._name)(name)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (object,)


def make_getter(prefix: str) -> Callable[[str], StandIn]:
    """Return a module's `__getattr__`: any public name exists below the prefix."""

    def get(name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{prefix}.{name}")

    return get


class _Submodules(MetaPathFinder, Loader):
    """Finds any submodule of one package."""

    def __init__(self, package: str) -> None:
        self._prefix = package + "."

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname.startswith(self._prefix) else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__getattr__ = make_getter(spec.name)  # type: ignore[method-assign]  # PEP 562, on one module
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def stand_in(package: str) -> Callable[[str], StandIn]:
    """Make every submodule of a package importable, and return the package's own `__getattr__`."""
    sys.meta_path.append(_Submodules(package))
    return make_getter(package)
