"""The application of SGLang's tokenizer workers with our plugin, which also reads scripts: see `sglang_scripted`."""

from __future__ import annotations

from sglang_scripted import ScriptReader, hook_generation

hook_generation()

from chat_autoparser.sglang_plugin.app import app  # noqa: E402  # importing it applies the hooks

app.add_middleware(ScriptReader)
