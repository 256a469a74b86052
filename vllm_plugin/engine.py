"""All that differs between versions of vLLM, and what is learnt by looking at its objects; 0.25 to 0.33 were read.

vLLM makes a parser for each request out of two halves, and tells a half little of what it needs to know: not the other
half, not always the request. It is all in the calls that lead to ours, as local variables whose names have been the same
in all these versions: ``self``, an object with both ``reasoning_parser_cls`` and ``tool_parser_cls`` (``Parser.__init__``);
``request`` (``parse_delta``, ``_make_parser``); ``model_output_token_ids`` (``parse``). Where one is not found, the halves
do without it.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import vllm
from vllm.reasoning import ReasoningParser
from vllm.tool_parsers import ToolParser

OLDEST = "0.25"
_FOUND = getattr(vllm, "__version__", "an older one")

if not hasattr(ReasoningParser, "engine_based_streaming"):
    raise ImportError(
        f"chat-autoparser needs vLLM {OLDEST} or newer, and found {_FOUND}, which does "
        "not say where a stream ends. Upgrade vLLM, or name one of its own parsers."
    )

try:
    from vllm.entrypoints.generate.base.protocol import (
        DeltaFunctionCall,
        DeltaMessage,
        DeltaToolCall,
        ExtractedToolCallInformation,
        FunctionCall,
        ToolCall,
    )
except ImportError:  # before 0.28
    from vllm.entrypoints.openai.engine.protocol import (
        DeltaFunctionCall,
        DeltaMessage,
        DeltaToolCall,
        ExtractedToolCallInformation,
        FunctionCall,
        ToolCall,
    )

__all__ = [
    "DeltaFunctionCall",
    "DeltaMessage",
    "DeltaToolCall",
    "ExtractedToolCallInformation",
    "FunctionCall",
    "ReasoningParser",
    "ToolCall",
    "ToolParser",
]

_NEAR, _FAR = 2, 8  # how many calls are looked through: the longest ways are one and five
_DELEGATING = "vllm.parser.abstract_parser"
_JINJA = "transformers.tokenization_utils_base"
_WRAPPERS = "vllm.tokenizers.hf"


def find_owner() -> Any:
    """Return the parser that is being made of the half whose constructor asks, or None."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_NEAR):
        if frame is None:
            break
        found = frame.f_locals.get("self")
        if hasattr(found, "reasoning_parser_cls") and hasattr(found, "tool_parser_cls"):
            return found
        frame = frame.f_back
    return None


def find_local(name: str, attribute: str = "") -> Any:
    """Return the value of the nearest local variable of that name, having that attribute, in the calls that lead here."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_FAR):
        if frame is None:
            break
        found = frame.f_locals.get(name)
        if found is not None and (not attribute or hasattr(found, attribute)):
            return found
        frame = frame.f_back
    return None


def find_request() -> Any:
    """Return the request that a call of vLLM's is about, or None."""
    return find_local("request", "tool_choice")


def find_required(owner: Any, kind: type) -> type | None:
    """Return the class of half that an owner insists on, or None where it takes any.

    An owner that reads the output itself refuses halves but its own in its constructor (``HarmonyParser``). Which they are,
    the module of that constructor says: the one half of this kind that it imports.
    """
    for base in type(owner).__mro__:
        if base.__module__ == _DELEGATING:
            return None
        if "__init__" in vars(base):
            named = [value for value in vars(sys.modules[base.__module__]).values() if _is_half(value, kind)]
            return named[0] if len(named) == 1 else None
    return None


def _is_half(value: Any, kind: type) -> bool:
    return isinstance(value, type) and issubclass(value, kind) and value is not kind


def renders_jinja(tokenizer: Any) -> bool:
    """Whether a tokenizer's ``apply_chat_template`` is that of transformers, and not an encoder written in Python."""
    for base in type(tokenizer).__mro__:
        function = vars(base).get("apply_chat_template")
        if function is not None and getattr(function, "__module__", "") != _WRAPPERS:
            return bool(function.__module__ == _JINJA)
    return False


def resolve_template(tokenizer: Any, given: str | None, tools: list[dict[str, Any]] | None, model_config: Any) -> str | None:
    """Return the Jinja source with which vLLM would render a request with these tools; None where there is none."""
    if model_config is not None:
        try:
            from vllm.renderers.hf import resolve_chat_template
        except ImportError:
            pass
        else:
            source: str | None = resolve_chat_template(tokenizer, given, tools, model_config=model_config)
            return source
    try:
        source = tokenizer.get_chat_template(given, tools=tools)
    except Exception:  # transformers raises ValueError where there is none, other tokenizers what they like
        return given
    return source


def read_template_argument() -> str | None:
    """Return the template that the command line names, for the processes and moments that know no server."""
    arguments = sys.argv[1:]
    for place, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name.replace("_", "-") == "--chat-template":
            value = value or (arguments[place + 1] if place + 1 < len(arguments) else "")
            return _load_template(value)
    return None


def _load_template(value: str) -> str | None:
    try:
        try:
            from vllm.renderers.chat_utils import load_chat_template
        except ImportError:
            from vllm.entrypoints.chat_utils import load_chat_template
        loaded: str | None = load_chat_template(value)
    except Exception:  # vLLM itself reports a template that cannot be loaded
        return None
    return loaded


def list_tools(request: Any) -> list[dict[str, Any]]:
    """Return the tools that a request allows, as dicts of the OpenAI chat API; none where it allows no calls."""
    if request is None or not request.tools or request.tool_choice == "none":
        return []
    return [tool for given in request.tools for tool in _read_tool(given)]


def _read_tool(tool: Any) -> list[dict[str, Any]]:
    function = getattr(tool, "function", None)
    if function is not None:
        return [_make_tool(function.name, function.parameters, getattr(function, "strict", None))]
    if getattr(tool, "type", "") == "function":
        return [_make_tool(tool.name, tool.parameters, getattr(tool, "strict", None))]
    try:
        from vllm.tool_parsers.utils import iter_response_function_tool_info
    except ImportError:
        return []
    return [_make_tool(name, parameters, None) for name, parameters in iter_response_function_tool_info(tool)]


def _make_tool(name: str, parameters: Any, strict: bool | None) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name, "parameters": parameters or {}}
    if strict is not None:
        function["strict"] = strict
    return {"type": "function", "function": function}


REQUIRED = ""
"""What :func:`get_forced` returns where any call will do."""


def get_forced(request: Any) -> str | None:
    """Return the name of the tool that a request forces, or :data:`REQUIRED`; None where the model is free."""
    choice = getattr(request, "tool_choice", None)
    if choice is None or isinstance(choice, str):
        return REQUIRED if choice == "required" else None
    return getattr(getattr(choice, "function", choice), "name", None)


def uses_tag(request: Any) -> bool:
    """Whether the output of a request is held to a structural tag."""
    return getattr(getattr(request, "structured_outputs", None), "structural_tag", None) is not None


def uses_json(request: Any) -> bool:
    """Whether the output of a request is held to a form, by what the client asked for or by vLLM."""
    if getattr(request, "structured_outputs", None) is not None:
        return True
    wanted = getattr(request, "response_format", None) or getattr(getattr(request, "text", None), "format", None)
    return getattr(wanted, "type", "text") not in ("text", None)


def set_structured_outputs(request: Any, tag: str | None) -> None:
    """Hold the output of a request to a structural tag, or to vLLM's own JSON for forced calls.

    What else the request asks for its output is taken away: vLLM accepts only one.
    """
    from vllm.sampling_params import StructuredOutputsParams
    from vllm.tool_parsers.utils import get_json_schema_from_tools

    if tag is not None:
        request.structured_outputs = StructuredOutputsParams(structural_tag=tag)
    else:
        schema = get_json_schema_from_tools(tool_choice=request.tool_choice, tools=request.tools)
        if schema is None:
            return
        request.structured_outputs = StructuredOutputsParams(json=schema)
    if hasattr(request, "response_format"):
        request.response_format = None
    if hasattr(request, "text"):
        request.text = None
