"""What depends on SGLang's version and is not offered ready-made; the classes that are extended are imported where they are.

Read in 0.5.23. The detectors subclass those of its `response_template` support (`srt/parser/response_template.py`), for the
serving layer treats these as it would have to treat any detector that is driven by a template: it hands them the rendered
prompt, keeps special tokens in the text of all requests, and asks them for the constraint of a request
(`srt/entrypoints/openai/serving_chat.py`, `srt/function_call/function_call_parser.py`).
"""

from __future__ import annotations

import copy
import pkgutil
from typing import Any

from sglang.srt.arg_groups.overrides import declare_resolution, resolving_view
from sglang.srt.entrypoints.openai.chat_encoding import resolve_chat_encoding_spec
from sglang.srt.environ import envs
from sglang.srt.parser.conversation import chat_template_exists, get_conv_template_by_model_path
from sglang.srt.parser.python_chat_template import resolve_python_chat_template
from sglang.srt.runtime_context import get_context, publish_role
from sglang.srt.utils.hf_transformers_utils import get_config, get_tokenizer
from xgrammar import Grammar, StructuralTag

WORKER_APP_VARIABLE = "SGLANG_HTTP_SERVER_APP_PATH"
TAG_BACKEND = "xgrammar"
"""The one of SGLang's grammar backends that knows structural tags other than the oldest form of them."""
PARSERS = ("reasoning_parser", "tool_call_parser")


class UnknownTemplate(Exception):
    """Prompts are not rendered by a chat template that can be questioned; the message says by what."""


def has_function(target: str) -> bool:
    """Whether SGLang has what a dotted path names. Its registry of hooks would only log that it has not, and later."""
    try:
        return callable(pkgutil.resolve_name(target))
    except (ImportError, AttributeError):
        return False


def list_parsers(server_args: Any) -> dict[str, str | None]:
    """Return the parsers that are configured so far, by the name of their argument."""
    view = resolving_view(server_args)
    return {attribute: getattr(view, attribute) for attribute in PARSERS}


def declare_parsers(server_args: Any, parsers: dict[str, str | None]) -> None:
    """Decide what parsers are used; the last to decide wins."""
    declare_resolution(server_args, "chat-autoparser", **parsers)


def forwards_unknown_tools() -> bool:
    """Whether calls of tools that the request does not have go to the client."""
    return bool(envs.SGLANG_FORWARD_UNKNOWN_TOOLS.get())


def read_setting(name: str, default: Any = None) -> Any:
    """Return a setting of the server of this process; the default where there is none, or nothing is served."""
    try:
        return get_context().config_leaf(name) or default
    except (ValueError, AttributeError):
        return default


def compile_tag(tag: dict[str, Any]) -> Any:
    """Return a structural tag as SGLang takes it. Raises ValueError or RuntimeError where xgrammar refuses it."""
    Grammar.from_structural_tag(tag)
    return StructuralTag.model_validate(tag)


def settle_template(tokenizer: Any) -> Any:
    """Return the tokenizer of a detector with the template by which this server renders.

    In the processes that render it has that already (`srt/parser/template_manager.py`). A scheduler's has the model's.
    """
    if publish_role() != "scheduler" or getattr(tokenizer, "chat_template", None) is None:
        return tokenizer
    tokenizer = copy.copy(tokenizer)
    _choose_template(tokenizer, resolving_view(get_context().server_args))
    return tokenizer


def load_template(server_args: Any) -> tuple[Any, str]:
    """Load the tokenizer with the template that the server will render with; returns it, and what to call the template.

    That is what TemplateManager (`srt/parser/template_manager.py`) will choose later, when the processes that need the
    format have long been started. Raises UnknownTemplate where something else makes the prompts, and whatever loading the
    tokenizer raises.
    """
    view = resolving_view(server_args)
    given = view.chat_template
    if given is not None and (not str(given).endswith(".jinja") or chat_template_exists(given)):
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
    return tokenizer, _choose_template(tokenizer, view)


def _choose_template(tokenizer: Any, view: Any) -> str:
    """Give a tokenizer the template that the server will use, and return what that is called.

    Of several named templates it is the one that the server is told, else the first.
    """
    given, own = view.chat_template, tokenizer.chat_template
    always = (view.default_chat_template_kwargs or {}).get("chat_template")
    if isinstance(always, str):
        tokenizer.chat_template = always
        return "the chat template of --default-chat-template-kwargs"
    if given is not None:
        with open(given, encoding="utf-8") as file:
            tokenizer.chat_template = file.read().strip("\n").replace("\\n", "\n")
        return f"the chat template {given}"
    name = f"the chat template of {view.model_path}"
    if not isinstance(own, dict) or not own:
        return name
    chosen = view.hf_chat_template_name if view.hf_chat_template_name in own else next(iter(own))
    tokenizer.chat_template = own[chosen]
    return f"{name} named '{chosen}'"


def _refuse_encoders(view: Any, tokenizer: Any) -> None:
    """Raise where SGLang has Python code instead of the model's template."""
    config = get_config(view.model_path, trust_remote_code=view.trust_remote_code, revision=view.revision)
    encoding = resolve_chat_encoding_spec(hf_config=config, tokenizer=tokenizer, tool_call_parser=view.tool_call_parser)
    if encoding is not None:
        raise UnknownTemplate(f"SGLang makes prompts for this model with its own encoder '{encoding}'")
    own = getattr(tokenizer, "chat_template", None)
    if view.chat_template is None and isinstance(own, str) and resolve_python_chat_template(config, own) is not None:
        raise UnknownTemplate("SGLang replaces this model's chat template by Python code")
