"""Makes a model served by SGLang write an exact text, token by token, through each of its endpoints.

A request's body may have the field `script`, an object:

    text    the text to write, cut into tokens by the model's tokenizer; the end-of-sequence token follows
    spelled which parts of the text, in their order, are written with ordinary tokens though they read like special ones
    more    let the model, or the request's grammar, go on behind the text
    burst   tokens that come at a time, as with speculative decoding or under load (1)

The field is taken out before SGLang sees the body. A request without it is left alone. The server needs
`--enable-custom-logit-processor`, and this folder on PYTHONPATH: SGLang finds the plugin by the metadata beside this module.

Knowledge of the interfaces comes from SGLang 0.5.23: `srt/sampling/custom_logit_processor.py`,
`srt/managers/tokenizer_manager.py` and `srt/entrypoints/http_server.py`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

script: ContextVar[dict[str, Any] | None] = ContextVar("script", default=None)
"""What the request that is being served wants to be written."""

_SERVER = "sglang.srt.entrypoints.http_server"


def register() -> None:
    """SGLang's plugin: read scripts in the process that serves HTTP."""
    if multiprocessing.parent_process() is not None:
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    hook_generation()
    HookRegistry.register(f"{_SERVER}._setup_and_run_http_server", _add_reader, HookType.AROUND)
    os.environ["SGLANG_HTTP_SERVER_APP_PATH"] = "sglang_script_app:app"  # of the processes of `--tokenizer-worker-num`


def hook_generation() -> None:
    """Let requests of this process be generated as their scripts say."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register("sglang.srt.managers.tokenizer_manager.TokenizerManager.generate_request", _write, HookType.AROUND)


def _add_reader(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    from sglang.srt.entrypoints.http_server import app

    app.add_middleware(ScriptReader)
    return original(*args, **kwargs)


def encode_script(tokenizer: Any, wanted: dict[str, Any]) -> list[int]:
    """Return the tokens of a script's text."""
    ids: list[int] = []
    rest = wanted["text"]
    for part in wanted.get("spelled", ()):
        before, _, rest = rest.partition(part)
        ids += tokenizer.encode(before, add_special_tokens=False)
        ids += tokenizer.encode(part, add_special_tokens=False, split_special_tokens=True)
    return [*ids, *tokenizer.encode(rest, add_special_tokens=False)]


class ScriptReader:
    """ASGI middleware that takes the script out of a request's body."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        body, found = _take_script(body)
        headers = [(key, str(len(body)).encode() if key == b"content-length" else value) for key, value in scope["headers"]]
        pending = [{"type": "http.request", "body": body, "more_body": False}]

        async def give() -> Any:
            return pending.pop() if pending else await receive()

        if found is not None:
            script.set(found)  # each request is a task with a context of its own
        await self._app({**scope, "headers": headers}, give, send)


def _take_script(body: bytes) -> tuple[bytes, dict[str, Any] | None]:
    try:
        given = json.loads(body)
    except ValueError:
        return body, None
    if not isinstance(given, dict) or "script" not in given:
        return body, None
    found: dict[str, Any] = given.pop("script")
    return json.dumps(given).encode(), found


async def _write(original: Callable[..., Any], manager: Any, obj: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
    wanted = script.get()
    if wanted is None:
        async for output in original(manager, obj, *args, **kwargs):
            yield output
        return
    from sglang_script_processor import ScriptProcessor  # imports SGLang, which finds this plugin first

    ids = encode_script(manager.tokenizer, wanted)
    if not wanted.get("more"):
        ids = [*ids, manager.tokenizer.eos_token_id]
    params = dict(obj.sampling_params or {})
    params["custom_params"] = {**(params.get("custom_params") or {}), "script": ids}
    obj.sampling_params = params
    obj.custom_logit_processor = ScriptProcessor.to_str()
    burst, seen = int(wanted.get("burst", 1)), 0
    async for output in original(manager, obj, *args, **kwargs):
        # A step's text holds that of the steps before: leaving some out makes one large step of them.
        last = isinstance(output, list) or output["meta_info"]["finish_reason"] is not None
        seen += 1
        if last or seen % burst == 0:
            yield output
