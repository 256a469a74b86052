"""Everything that depends on SGLang's version: what is imported from it, and what it does not offer ready-made.

Read in 0.5.23. The detectors subclass those of its `response_template` support (`srt/parser/response_template.py`), for the
serving layer treats these as it would have to treat any detector that is driven by a template: it hands them the rendered
prompt, keeps special tokens in the text of all requests, and asks them for the constraint of a request
(`srt/entrypoints/openai/serving_chat.py`, `srt/function_call/function_call_parser.py`).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from typing import Any, NamedTuple

from sglang.srt.arg_groups.overrides import declare_resolution, resolving_view
from sglang.srt.entrypoints.openai.chat_encoding import resolve_chat_encoding_spec
from sglang.srt.entrypoints.openai.protocol import ToolChoice
from sglang.srt.environ import envs
from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.conversation import chat_template_exists, get_conv_template_by_model_path
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.parser.response_template import (
    GRAMMAR_FROM_START,
    ResponseTemplateReasoningDetector,
    ResponseTemplateToolDetector,
)
from sglang.srt.plugins.hook_registry import HookRegistry, HookType
from sglang.srt.runtime_context import get_context
from sglang.srt.utils.hf_transformers_utils import get_config, get_tokenizer
from sglang.version import __version__
from xgrammar import Grammar, StructuralTag

__all__ = [
    "GRAMMAR_FROM_START",
    "BaseFormatDetector",
    "FunctionCallParser",
    "ReasoningParser",
    "ResponseTemplateReasoningDetector",
    "ResponseTemplateToolDetector",
    "ToolCallItem",
    "ToolChoice",
]

RESOLVE = "sglang.srt.parser.template_detection.resolve_auto_parsers"
SERVING_CHAT = "sglang.srt.entrypoints.openai.serving_chat.OpenAIServingChat"
WORKER_APP_VARIABLE = "SGLANG_HTTP_SERVER_APP_PATH"
TAG_BACKEND = "xgrammar"
"""The one of SGLang's grammar backends that knows structural tags other than the oldest form of them."""
PARSERS = ("reasoning_parser", "tool_call_parser")


class UnknownTemplate(Exception):
    """Prompts are not rendered by a chat template that can be questioned; the message says by what."""


class Template(NamedTuple):
    """The template in force: a tokenizer that renders with it, and what to call it."""

    tokenizer: Any
    name: str


def add_hook(target: str, hook: Callable[..., Any]) -> None:
    """Put a function around one of SGLang's, which must exist: its registry would only log that it does not."""
    try:
        pkgutil.resolve_name(target)
    except (ImportError, AttributeError) as error:
        raise ImportError(f"SGLang {__version__} has no {target}, which has to be extended") from error
    HookRegistry.register(target, hook, HookType.AROUND)


def guess_reasoning_parser(tokenizer: Any) -> str | None:
    """Return which of its reasoning parsers SGLang's own `auto` picks for a template (`resolve_auto_parsers`)."""
    try:
        from sglang.srt.parser import template_detection as detection

        forced, toggle = detection.detect_reasoning_pattern(tokenizer.chat_template)
        context = detection.build_detection_context(tokenizer.chat_template, tokenizer, toggle, forced)
        found: str | None = detection.match_rules(context, detection.REASONING_PARSER_RULES, "reasoning")
        return found
    except Exception:  # its rules look at any template and vocabulary; without a guess nothing is lost but its extras
        return None


def list_parsers(server_args: Any) -> dict[str, str | None]:
    """Return the parsers that are configured so far, by the name of their argument."""
    view = resolving_view(server_args)
    return {attribute: getattr(view, attribute) for attribute in PARSERS}


def declare_parsers(server_args: Any, parsers: dict[str, str | None]) -> None:
    """Decide what parsers are used."""
    declare_resolution(server_args, "chat-autoparser", **parsers)


def forwards_unknown_tools() -> bool:
    """Whether calls of tools that the request does not have go to the client."""
    return bool(envs.SGLANG_FORWARD_UNKNOWN_TOOLS.get())


def find_grammar_backend() -> str:
    """Return the name of what holds this server's outputs to grammars; where nothing is served, that of the usual one."""
    try:
        return str(get_context().config_leaf("grammar_backend") or TAG_BACKEND)
    except ValueError:
        return TAG_BACKEND


def compile_tag(tag: dict[str, Any]) -> Any:
    """Return a structural tag as SGLang takes it. Raises ValueError or RuntimeError where xgrammar refuses it."""
    Grammar.from_structural_tag(tag)
    return StructuralTag.model_validate(tag)


def load_template(server_args: Any) -> Template:
    """Load the tokenizer with the template that the server will render with.

    That is what TemplateManager (`srt/parser/template_manager.py`) will choose later, when the processes that need the
    format have long been started. Raises UnknownTemplate where something else makes the prompts, and whatever loading the
    tokenizer raises.
    """
    view = resolving_view(server_args)
    given = view.chat_template
    if given is not None and not (isinstance(given, str) and given.endswith(".jinja")):
        raise UnknownTemplate(f"--chat-template {given} is one of SGLang's own conversation templates")
    if given is not None and chat_template_exists(given):
        raise UnknownTemplate(f"--chat-template {given} is one of SGLang's own conversation templates")
    by_path = get_conv_template_by_model_path(view.model_path) if given is None else None
    if by_path is not None:
        raise UnknownTemplate(f"SGLang uses its own conversation template {by_path} for a model of this name")
    tokenizer = get_tokenizer(
        view.tokenizer_path,
        tokenizer_mode=view.tokenizer_mode,
        trust_remote_code=view.trust_remote_code,
        revision=view.revision,
        tokenizer_backend=view.tokenizer_backend,
    )
    _refuse_encoders(view, tokenizer)
    if given is not None:
        with open(given, encoding="utf-8") as file:
            tokenizer.chat_template = file.read().strip("\n").replace("\\n", "\n")
        return Template(tokenizer, f"the chat template {given}")
    return Template(tokenizer, _choose_named_template(tokenizer, view.hf_chat_template_name))


def _refuse_encoders(view: Any, tokenizer: Any) -> None:
    """Raise where SGLang has Python code instead of the model's template."""
    config = get_config(view.model_path, trust_remote_code=view.trust_remote_code, revision=view.revision)
    encoding = resolve_chat_encoding_spec(hf_config=config, tokenizer=tokenizer, tool_call_parser=view.tool_call_parser)
    if encoding is not None:
        raise UnknownTemplate(f"SGLang makes prompts for this model with its own encoder '{encoding}'")
    if view.chat_template is None and _has_python_template(config, getattr(tokenizer, "chat_template", None)):
        raise UnknownTemplate("SGLang replaces this model's chat template by Python code")


def _has_python_template(config: Any, template: Any) -> bool:
    from sglang.srt.parser.python_chat_template import resolve_python_chat_template

    return isinstance(template, str) and resolve_python_chat_template(config, template) is not None


def _choose_named_template(tokenizer: Any, name: str | None) -> str:
    """Of several named templates keep the one that the server will use: the one it is told, else the first."""
    templates = tokenizer.chat_template
    if not isinstance(templates, dict) or not templates:
        return "the model's chat template"
    chosen = name if name in templates else next(iter(templates))
    tokenizer.chat_template = templates[chosen]
    return f"the model's chat template '{chosen}'"
