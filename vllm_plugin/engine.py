"""What depends on the version of vLLM, but for the classes that are extended; 0.32 and 0.33 were read and run."""

from __future__ import annotations

import inspect
import os
from importlib.util import find_spec
from typing import Any

from vllm import envs
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.parser.abstract_parser import structured_outputs_to_format
from vllm.renderers.chat_utils import load_chat_template
from vllm.renderers.hf import resolve_chat_template
from vllm.renderers.online_renderer import OnlineRenderer
from vllm.sampling_params import StructuredOutputsParams
from vllm.tool_parsers.utils import iter_response_function_tool_info

from chat_autoparser.serve import ToolChoice, describe_tools

TEMPLATE = "CHAT_AUTOPARSER_VLLM_TEMPLATE"
"""The environment variable by which a server tells the processes that it starts what ``--chat-template`` says."""

POLICY = "chat_autoparser_policy"
"""Under this name a request may ask for a policy in ``vllm_xargs``."""

TELLS_PROMPT = "set_prompt_token_ids" in inspect.unwrap(OnlineRenderer.preprocess_chat).__code__.co_names
"""Whether a parser is told the prompt before it adjusts the request (0.33)."""

MARKS_RESPONSES = "_grammar_from_parser" in ResponsesRequest.__private_attributes__
"""Whether the engine is told that the grammar of a parser holds from the first token in the Responses API, too (0.33)."""

HAS_STEPS = find_spec("vllm.entrypoints.openai.chat_completion.stream_processor") is not None
"""Whether one class decides for all streams of chat completions how they ended (0.33)."""

_JINJA = "transformers.tokenization_utils_base"
_WRAPPERS = "vllm.tokenizers.hf"


def renders_jinja(tokenizer: Any) -> bool:
    """Whether a tokenizer's ``apply_chat_template`` is that of transformers, and not an encoder written in Python."""
    for base in type(tokenizer).__mro__:
        function = vars(base).get("apply_chat_template")
        if function is not None and getattr(function, "__module__", "") != _WRAPPERS:
            return bool(function.__module__ == _JINJA)
    return False


def resolve_template(tokenizer: Any, given: str | None, tools: list[dict[str, Any]] | None, model_config: Any) -> str | None:
    """Return the Jinja source with which vLLM would render a request with these tools; None where there is none."""
    source: str | None
    if model_config is not None:
        source = resolve_chat_template(tokenizer, given, tools, model_config=model_config)
        return source
    try:
        source = tokenizer.get_chat_template(given, tools=tools)
    except Exception:  # transformers raises ValueError where there is none, other tokenizers what they like
        return given
    return source


def read_template_variable() -> str | None:
    """Return the template that the server which started this process was given, or None."""
    given = os.environ.get(TEMPLATE)
    try:
        loaded: str | None = load_chat_template(given) if given else None
    except Exception:  # vLLM itself reports a template that cannot be loaded
        return None
    return loaded


def is_chat(request: Any) -> bool:
    """Whether a request is one of chat completions, as the Messages API makes of its own too, not of the Responses API."""
    return not isinstance(request, ResponsesRequest)


def list_tools(request: Any) -> list[dict[str, Any]]:
    """Return all tools of a request, as dicts of the OpenAI chat API; also those that the Responses API groups."""
    given = getattr(request, "tools", None) or ()
    tools = describe_tools(given)
    known = {tool["function"]["name"] for tool in tools}
    for tool in given:
        if getattr(tool, "type", "function") != "function":
            infos = iter_response_function_tool_info(tool)
            described = [{"name": name, "parameters": parameters or {}} for name, parameters in infos if name not in known]
            tools += [{"type": "function", "function": function} for function in described]
    return tools


def read_choice(request: Any) -> ToolChoice:
    """Return what a request says about calls. Where nobody has chosen, vLLM passes on none."""
    if not getattr(request, "tools", None) or getattr(request, "tool_choice", None) is None:
        return ToolChoice("none")
    return ToolChoice.read(request.tool_choice)


def wants_one(request: Any) -> bool:
    """Whether a request wants one call at most."""
    return read_choice(request).single or request.parallel_tool_calls is False


def read_policy(request: Any) -> Any:
    """Return the policy that a request asks for in vLLM's field for what its extensions read; None where it asks for none."""
    return (getattr(request, "vllm_xargs", None) or {}).get(POLICY)


def hides_special(request: Any, default: bool = True) -> bool:
    """Whether special tokens are left out of the text of an answer: as the request says, or where it does not (0.33) by default."""
    asked = request.skip_special_tokens
    return default if asked is None else bool(asked)


def hides_special_by_default(model_config: Any) -> bool:
    """Whether they are left out where nobody asks: so they are, unless the model's generation config or the operator's says no."""
    defaults: dict[str, Any] = getattr(model_config, "get_diff_sampling_param", dict)()  # None is of a server that nobody knows
    return bool(defaults.get("skip_special_tokens", True))


def enforces_tools() -> bool:
    """Whether the operator wants structural tags for calls (``VLLM_ENFORCE_STRICT_TOOL_CALLING``)."""
    return bool(envs.VLLM_ENFORCE_STRICT_TOOL_CALLING)


def get_tag(request: Any) -> str | None:
    """Return the structural tag to which the output of a request, or of what the engine makes of it, is held, or None."""
    tag: str | None = getattr(getattr(request, "structured_outputs", None), "structural_tag", None)
    return tag


def has_form(request: Any) -> bool:
    """Whether the output of a request is held to a form, by what the client asked for or by a parser."""
    if getattr(request, "structured_outputs", None) is not None:
        return True
    wanted = getattr(request, "response_format", None) or getattr(getattr(request, "text", None), "format", None)
    return getattr(wanted, "type", "text") not in ("text", None)


def find_form(request: Any) -> dict[str, Any] | None:
    """Return the form that a client wants of an answer, as xgrammar takes it; None where there is none, or it is no such form."""
    try:
        wanted = request.extract_structured_outputs()
        form = wanted and structured_outputs_to_format(wanted)
        found: dict[str, Any] | None = form and form.model_dump()
    except Exception:  # what a client wants may be anything: whatever is wrong with it, vLLM will say
        return None
    return found


def hold(request: Any, tag: str | None, schema: dict[str, Any] | None) -> None:
    """Hold the output of a request to a structural tag, which holds from the first token on, or without one to a schema of JSON.

    What else the request asks for its output is taken away: vLLM accepts only one. That a grammar is a parser's, and has a
    place for reasoning, is what the private attribute says (0.32 chat, 0.33 also Responses; ``resolve_reasoning_ended``).
    """
    if tag is not None:
        request.structured_outputs = StructuredOutputsParams(structural_tag=tag)
        if hasattr(request, "_grammar_from_parser"):
            request._grammar_from_parser = True
    else:
        request.structured_outputs = StructuredOutputsParams(json=schema)
    if hasattr(request, "response_format"):
        request.response_format = None
    if hasattr(request, "text"):
        request.text = None
