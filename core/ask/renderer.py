"""The oracle: whatever turns a conversation into text, asked through one call and bounded in what it may cost.

A :class:`Renderer` is called as ``renderer(messages, tools, add_generation_prompt, **kwargs)`` and returns the text, or
raises :class:`TemplateError` where the template cannot or will not render the conversation, and :class:`BudgetError`
where it takes too much. Renderers keep nothing between calls, and several threads may use one.

Knowledge of what a template is given comes from transformers 5.x: ``utils/chat_template_utils.py`` (variables, names
of the reasoning field) and ``tokenization_utils_base.py`` (choice among named templates, special tokens).
"""

from __future__ import annotations

import copy
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path, PurePath
from traceback import walk_tb
from typing import Any, NamedTuple

import jinja2
from jinja2 import nodes

from ..errors import BudgetError, MissingTemplateError, TemplateError, TemplateRefusal
from .budget import Account, Budget, Meter
from .hints import Hints, join_hints, read_hints
from .sandbox import ENVIRONMENT, Refusal
from .source import NO_TEMPLATE, read_source

_LONGEST_SOURCE = 300_000
_LONGEST_REASON = 500
_LONGEST_PATH = 4_096
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_TOKENIZER_MODULE = "transformers.tokenization_utils_base"
_GIVEN = {"messages", "tools", "documents", "add_generation_prompt", "additional_special_tokens"}
_REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")


class Conversation(NamedTuple):
    """What is to be rendered."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] | None
    add_generation_prompt: bool
    kwargs: dict[str, Any]


class Renderer(ABC):
    """Renders conversations. Subclasses implement ``_render``.

    ``source`` is the template's Jinja source, or None where there is none or it does not decide what is rendered.
    ``switches`` are the names of further arguments that the template reads, as far as that is known, and ``hints`` what else
    its source tells: both are those of the ``parts`` of a renderer that renders with others.
    """

    source: str | None = None
    parts: tuple[Renderer, ...] = ()
    _account: Account | None = None

    @property
    def switches(self) -> frozenset[str]:
        """Names of arguments beyond messages and tools that the template reads; empty where that is unknown."""
        return frozenset().union(*(part.switches for part in self.parts))

    @property
    def hints(self) -> Hints:
        """What the template's source tells of itself; nothing where that is unknown."""
        return join_hints(part.hints for part in self.parts)

    @property
    def unknown_tokens(self) -> dict[str, str]:
        """What stands for each special token that the template reads and nobody gave: a stand-in, or nothing."""
        return {name: text for part in self.parts for name, text in part.unknown_tokens.items()}

    @property
    def is_accounted(self) -> bool:
        """Whether all renders are drawn on one budget; see :meth:`within`."""
        return self._account is not None

    @property
    def budget(self) -> Budget:
        """The bounds within which it renders."""
        return self._account.budget if self._account else Budget()

    def within(self, budget: Budget) -> Renderer:
        """Return the same renderer with all its renders from now on drawn on one budget."""
        renderer = copy.copy(self)
        renderer._account = Account(budget)
        return renderer

    def __call__(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **kwargs: Any,
    ) -> str:
        """Render a conversation, changing nothing; raises :class:`TemplateError` and :class:`BudgetError`."""
        conversation = Conversation(messages, tools, add_generation_prompt, kwargs)
        text = self._render(conversation, (self._account or Account(Budget())).open_meter())
        if not isinstance(text, str):
            raise TemplateError(
                f"Rendering a conversation gave {type(text).__name__} instead of text. "
                "Make the tokenizer or function return a str (for a tokenizer: honour tokenize=False)."
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = text[error.start]
            raise TemplateError(f"Rendering a conversation gave half a character ({half!a}). Correct the template.") from None
        return text

    @abstractmethod
    def _render(self, conversation: Conversation, meter: Meter) -> str:
        """Render a conversation within what the meter allows."""


class JinjaRenderer(Renderer):
    """Renders a Jinja source exactly as transformers does, with the given variables (special tokens) in each render.

    Raises :class:`TemplateError` where the source is no Jinja. Costs one compilation, some ten milliseconds for a long
    template.
    """

    def __init__(self, source: str, /, **variables: Any) -> None:
        self.source = source
        self.variables = variables
        self._tree, self._template, self._names = _compile(source)
        self._unknown: dict[str, str] = {}

    def mark_unknown(self, stand_in: bool) -> JinjaRenderer:
        """Return a renderer that tells which special tokens it reads and was not given; ``<eos_token>`` may stand for one."""
        named = (name for name in self._names - set(self.variables) if name.endswith("_token") and not name.startswith("add_"))
        renderer = copy.copy(self)
        renderer._unknown = {name: f"<{name}>" if stand_in else "" for name in sorted(named)}
        renderer.variables = {**self.variables, **renderer._unknown} if stand_in else self.variables
        return renderer

    @property
    def unknown_tokens(self) -> dict[str, str]:
        """What stands for each special token that nobody gave, as far as :meth:`mark_unknown` was asked."""
        return self._unknown

    @property
    def switches(self) -> frozenset[str]:
        """Names of arguments beyond messages, tools and special tokens that the template reads."""
        return frozenset(name for name in self._names - _GIVEN - set(self.variables) if not name.endswith("_token"))

    @cached_property
    def hints(self) -> Hints:
        """What the template's source tells of itself."""
        return read_hints(self._tree, self.switches)

    def _render(self, conversation: Conversation, meter: Meter) -> str:
        variables = {
            "documents": None,
            **self.variables,
            **_copy_plain(conversation.kwargs),
            "messages": [_name_reasoning(_copy_plain(message)) for message in conversation.messages],
            "tools": _copy_plain(conversation.tools),
            "add_generation_prompt": conversation.add_generation_prompt,
        }
        context: Any = self._template.new_context(variables)
        context.meter = meter
        try:
            return "".join(self._template.root_render_func(context))
        except BudgetError as error:
            line = _find_line(error)
            raise BudgetError(f"{error} It was at line {line} of the template." if line else str(error)) from None
        except Refusal as error:
            reason = str(error)[:_LONGEST_REASON]
            message = f"The chat template refuses the conversation: {reason}"
            raise TemplateRefusal(message, _find_line(error), reason) from None
        except Exception as error:
            advice = "Check that the template supports such a conversation, and that it renders in transformers."
            missing = [name for name in self._unknown if f"'{name}'" in str(error)]
            advice = f"Give this special token ({missing[0]}=…)." if missing else advice
            message = f"Rendering the chat template failed: {_describe(error)}. {advice}"
            raise TemplateError(message, _find_line(error)) from error


class NamedRenderer(Renderer):
    """Renders with one of several named templates, chosen as transformers does.

    ``tool_use`` is taken when tools are given, else ``default``. ``source`` is that of ``default``. Raises
    :class:`TemplateError` where there is no template called ``default``.
    """

    def __init__(self, templates: Mapping[str, str], /, **variables: Any) -> None:
        if "default" not in templates:
            raise TemplateError(
                f"Loading the chat template found several, called {', '.join(sorted(templates))}, and none called "
                "default. Pass the source of the one that is meant."
            )
        default = JinjaRenderer(templates["default"], **variables)
        self.parts = default, JinjaRenderer(templates["tool_use"], **variables) if "tool_use" in templates else default
        self.source = default.source

    def _render(self, conversation: Conversation, meter: Meter) -> str:
        default, tool_use = self.parts
        return (default if conversation.tools is None else tool_use)._render(conversation, meter)


class CallableRenderer(Renderer):
    """Renders with a function ``render(messages, tools, add_generation_prompt, **kwargs)``, given copies to work on.

    Further arguments that the function does not take are left out, as a Jinja template ignores them. It is the caller's code, and
    trusted to come back: :class:`~chat_autoparser.ask.budget.Budget` tells what is checked then.
    """

    def __init__(self, function: Callable[..., Any], /, **kwargs: Any) -> None:
        self._function = function
        self._kwargs = kwargs
        self._accepted = _list_parameters(function)

    def _render(self, conversation: Conversation, meter: Meter) -> str:
        try:
            text: str = self._call(copy.deepcopy(conversation))
        except (TemplateError, BudgetError):
            raise
        except Exception as error:
            raise TemplateError(
                f"Rendering a conversation failed in {_name_of(self._function)}: {_describe(error)}. "
                "Check that it supports such a conversation."
            ) from error
        meter.check_return(_name_of(self._function))
        meter.charge(len(text) if isinstance(text, str) else 0)
        return text

    def _call(self, conversation: Conversation) -> Any:
        messages, tools, add_generation_prompt, kwargs = conversation
        return self._function(messages, tools, add_generation_prompt, **self._take({**self._kwargs, **kwargs}))

    def _take(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return those of the arguments that the function takes."""
        return {name: value for name, value in arguments.items() if self._accepted is None or name in self._accepted}


class TokenizerRenderer(CallableRenderer):
    """Renders with an object's ``apply_chat_template``, which may take only some of the usual arguments."""

    def __init__(self, tokenizer: Any, /, **kwargs: Any) -> None:
        super().__init__(tokenizer.apply_chat_template, **kwargs)

    def _call(self, conversation: Conversation) -> Any:
        messages, tools, add_generation_prompt, kwargs = conversation
        if tools is not None and self._accepted is not None and "tools" not in self._accepted:
            reason = "its apply_chat_template takes no tools"
            raise TemplateRefusal(f"The tokenizer refuses the conversation: {reason}.", reason=reason)
        usual = {"tools": tools, "add_generation_prompt": add_generation_prompt, "tokenize": False}
        return self._function(messages, **self._take({**self._kwargs, **kwargs, **usual}))


def load_renderer(template: Any, /, **special_tokens: Any) -> Renderer:
    """Make the renderer of a chat template.

    A ``str`` is Jinja source. A ``Path`` is a file of Jinja source, in which ``<eos_token>`` stands for an ``eos_token`` that was
    not given, a ``tokenizer_config.json`` or a model folder, read as transformers does. Otherwise it is a renderer, a
    tokenizer (anything with ``apply_chat_template``) or a function ``render(messages, tools, add_generation_prompt, **kwargs)``.
    The special tokens given here (``bos_token="<s>"``) go before those found. Raises :class:`TemplateError` where there is no
    template, or none that can be compiled. What a render may cost is told by :class:`~chat_autoparser.ask.budget.Budget`.
    """
    if isinstance(template, Renderer):
        return template
    if isinstance(template, str):
        _check_source(template)
        return JinjaRenderer(template, **special_tokens).mark_unknown(stand_in=False)
    if isinstance(template, PurePath):
        found = read_source(Path(template))
        if found.bare:
            return JinjaRenderer(found.templates["default"], **special_tokens).mark_unknown(stand_in=True)
        return _make_jinja_renderer(found.templates, {**found.special_tokens, **special_tokens})
    function = getattr(template, "apply_chat_template", None)
    if callable(function):
        if getattr(function, "__module__", None) != _TOKENIZER_MODULE:
            return TokenizerRenderer(template, **special_tokens)
        # A tokenizer that leaves rendering to transformers: rendering its Jinja source here bounds it.
        if not template.chat_template:
            raise MissingTemplateError(f"Loading the chat template failed: the tokenizer has none. {NO_TEMPLATE}")
        named = template.chat_template
        templates = {"default": named} if isinstance(named, str) else named
        return _make_jinja_renderer(templates, {**template.special_tokens_map, **special_tokens})
    if callable(template):
        return CallableRenderer(template, **special_tokens)
    raise TemplateError(
        f"Loading a chat template from {type(template).__name__} is not possible. Pass Jinja source as str, a Path, "
        "an object with apply_chat_template, or a function."
    )


def _make_jinja_renderer(templates: Mapping[str, str], variables: Mapping[str, Any]) -> Renderer:
    if set(templates) == {"default"}:
        return JinjaRenderer(templates["default"], **variables)
    return NamedRenderer(templates, **variables)


def _check_source(source: str) -> None:
    """Refuse a path or a name that was meant to be read and would be rendered as it stands."""
    if not source.strip():
        raise TemplateError("Loading the chat template: the text that was given is empty. Pass the template's Jinja source.")
    if "{" in source or len(source) > _LONGEST_PATH or "\n" in source:
        return
    try:
        exists = Path(source).exists()
    except (OSError, ValueError):
        return
    if exists:
        raise TemplateError(
            f"Loading the chat template {source!r}: a str is Jinja source, and this is the name of a file or folder. "
            "Pass pathlib.Path(...) to read it."
        )
    if HUB_NAME.fullmatch(source):
        raise TemplateError(
            f"Loading the chat template {source!r}: a str is Jinja source, and this looks like the name of a model. "
            "Nothing is downloaded here: pass the model's folder as pathlib.Path(...), or its tokenizer."
        )


def _compile(source: str) -> tuple[nodes.Template, jinja2.Template, frozenset[str]]:
    """Return a source's tree, what renders it and the names of the variables that it reads."""
    if len(source) > _LONGEST_SOURCE:
        raise TemplateError(
            f"Compiling the chat template was refused: it has {len(source)} characters, and at most {_LONGEST_SOURCE} "
            "are allowed. Check that this is a chat template."
        )
    try:
        tree = ENVIRONMENT.parse(source)
        code, names = ENVIRONMENT.compile_bounded(tree)
        return tree, ENVIRONMENT.template_class.from_code(ENVIRONMENT, code, ENVIRONMENT.make_globals(None)), names
    except jinja2.TemplateSyntaxError as error:
        message = f"Compiling the chat template failed: {error.message}. Correct the template's Jinja source."
        raise TemplateError(message, error.lineno) from None
    except Exception as error:
        message = f"Compiling the chat template failed: {_describe(error)}. Check that this is a Jinja template."
        raise TemplateError(message) from error


def _copy_plain(value: Any) -> Any:
    """Return a copy made of plain JSON types, so that a template gets hold of no object with methods of its own."""
    kind = type(value)
    if value is None or kind is str or kind is int or kind is float or kind is bool:
        return value
    if isinstance(value, Mapping):
        return {_copy_plain(key): _copy_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copy_plain(item) for item in value] if isinstance(value, list) else tuple(map(_copy_plain, value))
    if isinstance(value, str):
        return str.__str__(value)
    for plain in (int, float):
        if isinstance(value, plain):
            return plain(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _copy_plain(getattr(value, field.name)) for field in fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return _copy_plain(value.model_dump())
    return f"<{kind.__name__}>"


def _name_reasoning(message: Any) -> Any:
    """Put a message's reasoning under the names by which templates know it."""
    if not isinstance(message, dict):
        return message
    reasoning = next((message[name] for name in _REASONING_FIELDS if message.get(name) is not None), None)
    return message if reasoning is None else {"thinking": reasoning, **message, "reasoning_content": reasoning}


def _find_line(error: Exception) -> int | None:
    """Return the line of the template's source at which an exception was raised."""
    found = None
    for frame, line in walk_tb(error.__traceback__):
        template = frame.f_globals.get("__jinja_template__")
        found = found if template is None else template.get_corresponding_lineno(line)
    return found


def _describe(error: Exception) -> str:
    text = str(error)[:_LONGEST_REASON].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _list_parameters(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names that a function takes as keywords, or None where it takes any or that is unknown."""
    try:
        parameters: Iterable[inspect.Parameter] = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(parameter.name for parameter in parameters if parameter.kind in named)
