"""A Jinja environment that renders as transformers does, and in which no template can take more than its budget.

transformers 5.x (``utils/chat_template_utils.py``) is the model for what a template sees: the immutable sandbox,
``trim_blocks``, ``lstrip_blocks``, loop controls, the ``generation`` block, and its own ``tojson``,
``raise_exception``, ``strftime_now``, ``dict`` and ``namespace``. The bounds are ours, and leave the rendered text as
it is:

* *Time*: every pass of a loop, call, filter and intercepted operator looks at the clock (``Meter.tick``). Between two
  looks only operations run whose time is in proportion to the size of their operands.
* *Size*: whatever makes a value is charged for it (``Meter.charge``): each part of the output where it is written, the
  constant text of a loop or macro where its body begins, literals of lists and objects, slices, sums and the results of
  calls and filters. What could make much out of little is charged before it runs (:mod:`.growth`). So no value is ever
  larger than the budget, written out in full, and comparing, printing and hashing one needs no watching.

Statements and literals are reached by filters that are put into a template before it is compiled
(:mod:`.instrument`). Which render an operation belongs to is known from the context it runs in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from types import CodeType
from typing import Any

from jinja2 import TemplateError as JinjaError
from jinja2 import nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace, generate_lorem_ipsum

from ..errors import BudgetError
from . import growth
from .budget import Meter
from .instrument import TICK, WEIGH, Generator, Instrument

_LONGEST_PATH = 100
_LONGEST_SEPARATORS = 16
_PATH_POSITIONS = {
    "groupby": 0, "join": 1, "max": 1, "min": 1, "rejectattr": 0, "selectattr": 0, "sort": 2, "sum": 0, "unique": 1
}  # fmt: skip
"""Where filters take the path of an attribute that they follow for each item, if not by name."""


class Refusal(JinjaError):
    """What ``raise_exception`` raises in a template."""


class BoundedContext(Context):
    """The context of one render, with its meter."""

    meter: Meter

    def derived(self, locals: dict[str, Any] | None = None) -> Context:
        """Return a context for a block or a call, on the same meter."""
        context = super().derived(locals)
        context.meter = self.meter  # type: ignore[attr-defined]
        return context


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The environment; one is enough for all templates and threads, as all state of a render is in its context."""

    intercepted_binops = frozenset({"+", *growth.OPERATORS})
    context_class = BoundedContext
    code_generator_class = Generator

    def __init__(self) -> None:
        extensions = [_GenerationBlock, "jinja2.ext.loopcontrols"]
        # Folding constants would take longer than all renders of an analysis gain by it.
        super().__init__(trim_blocks=True, lstrip_blocks=True, optimized=False, extensions=extensions)
        self.filters["tojson"] = _write_json
        self.filters = {name: _bound_filter(name, function) for name, function in self.filters.items()}
        self.filters[WEIGH] = _weigh
        self.filters[TICK] = _tick
        self.globals.update(
            dict=_TemplateDict(),
            lipsum=_write_filler,
            namespace=_TemplateNamespace,
            raise_exception=_raise_exception,
            strftime_now=_write_time,
        )

    def compile_bounded(self, tree: nodes.Template) -> tuple[CodeType, frozenset[str]]:
        """Put into a parsed template what bounds it; return its code and the names of the variables it is to be given.

        Those are the names that it looks up, less those that it sets itself before it first reads them.
        """
        instrument = Instrument()
        code = self.compile(instrument.visit(tree))
        names = tree.variables - self.globals.keys()  # type: ignore[attr-defined]
        return code, frozenset(name for name in names if instrument.first_use.get(name) != "store")

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call a function or method for a template; its worst case is charged first."""
        meter: Meter = __context.meter  # type: ignore[attr-defined]
        meter.tick()
        # Jinja passes the variables of the surrounding loop or block under these names, and takes them out again.
        named = {key: value for key, value in kwargs.items() if key not in {"_loop_vars", "_block_vars"}}
        if isinstance(__obj, Macro):
            # Only these collect arguments into a value; what a macro writes is charged where it writes it.
            if __obj.catch_varargs or __obj.catch_kwargs:
                meter.weigh((args, named))
            return super().call(__context, __obj, *args, **kwargs)
        method = getattr(__obj, "__wrapped__", __obj)
        owner = getattr(method, "__self__", None)
        if isinstance(owner, (str, bytes, int)):
            args = _charge_method(meter, owner, method.__name__, args, named)
        elif not isinstance(owner, (dict, list, tuple)):
            meter.weigh((args, named))
        result = super().call(__context, __obj, *args, **kwargs)
        _charge_result(meter, result, deep=owner is None or isinstance(owner, _TemplateDict))
        return result

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Apply an operator for a template; what can make much out of little is charged first."""
        meter: Meter = context.meter  # type: ignore[attr-defined]
        meter.tick()
        if operator in growth.OPERATORS:
            meter.charge(growth.OPERATORS[operator](left, right))
        result = super().call_binop(context, operator, left, right)
        if operator == "+":
            meter.weigh(result)
        return result


def _charge_method(
    meter: Meter, owner: str | bytes | int, name: str, args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    """Charge the worst case of a method of a text or number, and return the arguments to call it with."""
    if name == "join":
        args = tuple(_listed(arg) for arg in args)
    if name in growth.METHODS:
        meter.charge(growth.METHODS[name](owner, *args, **named))
    if not isinstance(owner, int):
        meter.charge(growth.measure_search(owner, args))
    return args


def _charge_result(meter: Meter, result: Any, deep: bool) -> None:
    """Charge what a call or filter made: all of it, or only the container where what it holds was there before."""
    if isinstance(result, (str, bytes)):
        meter.charge(len(result))
    elif deep:
        meter.weigh(result)
    elif isinstance(result, (list, tuple, dict)):
        meter.charge(8 * len(result))


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, Iterator) else value


def _bound_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter with its time and size bounded, to be called with the context first."""
    # Jinja's decorators leave here what a function wants to be given first; there is no public way to ask.
    wants = getattr(getattr(function, "jinja_pass_arg", None), "name", None)
    own = {"eval_context": "eval_ctx", "environment": "environment"}.get(wants or "")
    measure = growth.FILTERS.get(name)
    path_position = _PATH_POSITIONS.get(name, growth.ENOUGH)
    deep = name in {"batch", "map"}

    @pass_context
    def bounded(context: BoundedContext, value: Any, *args: Any, **kwargs: Any) -> Any:
        meter = context.meter
        meter.tick()
        _check_path(kwargs.get("attribute", args[path_position] if path_position < len(args) else None))
        if measure is not None:
            value = _listed(value)
            meter.charge(measure(value, *args, **kwargs))
        elif args and isinstance(value, str):
            meter.charge(growth.measure_search(value, args))
        first = (context,) if wants == "context" else (getattr(context, own),) if own else ()
        result = function(*first, value, *args, **kwargs)
        if isinstance(result, Iterator):
            # Made at once: freeing thousands of generators that wait for each other would overflow the stack of the process.
            return iter(list(_watch(meter, result, deep)))
        _charge_result(meter, result, deep)
        return result

    return bounded


def _check_path(path: Any) -> None:
    if isinstance(path, str) and len(path) > _LONGEST_PATH:
        raise BudgetError(
            f"Rendering the chat template was stopped at an attribute path of {len(path)} characters; "
            f"at most {_LONGEST_PATH} are allowed."
        )


def _watch(meter: Meter, items: Iterator[Any], deep: bool) -> Iterator[Any]:
    """Hand on what is made item by item."""
    for item in items:
        meter.tick()
        _charge_result(meter, item, deep)
        yield item


@pass_context
def _weigh(context: BoundedContext, value: Any) -> Any:
    context.meter.weigh(value)
    return value


@pass_context
def _tick(context: BoundedContext, size: int) -> str:
    context.meter.tick()
    context.meter.charge(size)
    return ""


class _GenerationBlock(Extension):
    """``{% generation %}``: marks what the model generates, which changes nothing in the text."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_render_body"), [], [], body).set_lineno(line)

    def _render_body(self, caller: Callable[[], str]) -> str:
        return caller()


class _TemplateDict:
    """``dict`` in a template: callable, without the attributes of a class."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args, **kwargs)


class _TemplateNamespace(Namespace):
    """``namespace`` in a template: takes no private names.

    It cannot be printed: being mutable, it could come to hold itself many times over after it was charged.
    """

    def __init__(*args: Any, **kwargs: Any) -> None:  # so that a template may set `self`
        attributes = dict(*args[1:], **kwargs)
        for name in attributes:
            _check_attribute(name)
        Namespace.__init__(args[0], attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_attribute(name)
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        raise SecurityError("a namespace cannot be printed; print its attributes")


def _check_attribute(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace cannot have the private attribute {name!r}")


def _raise_exception(message: str) -> None:
    raise Refusal(message)


@pass_context
def _write_json(
    context: BoundedContext,
    x: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """``tojson`` in a template: without escaping HTML, unlike Jinja's own."""
    if not indent and len(str(separators)) <= _LONGEST_SEPARATORS:
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    context.meter.charge(abs(indent) if isinstance(indent, int) else len(indent or ""))
    encoder = json.JSONEncoder(ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    return "".join(_watch(context.meter, encoder.iterencode(x), deep=False))


@pass_context
def _write_time(context: BoundedContext, format: str) -> str:
    context.meter.charge(256 * len(format))
    return datetime.now().strftime(format)


@pass_context
def _write_filler(context: BoundedContext, n: int = 5, html: bool = True, min: int = 20, max: int = 100) -> str:
    context.meter.charge(abs(n) * (abs(min) + abs(max)) * 16)
    return generate_lorem_ipsum(n, html, min, max)


ENVIRONMENT = BoundedEnvironment()
