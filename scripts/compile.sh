#!/usr/bin/env bash
# Builds the package with its parser compiled, as CHAT_AUTOPARSER_COMPILE=1 pip install would, into build/compiled.
# To run something with it: PYTHONPATH=build/compiled .venv/bin/python scripts/bench.py
# Needs a C compiler and takes about a minute and a half. Does nothing where it is done and no source has changed since.
set -euo pipefail
cd "$(dirname "$0")/.."

target=build/compiled
scripts/setup.sh
stamp=$(cat setup.py pyproject.toml core/*.py core/*/*.py vllm_plugin/*.py sglang_plugin/*.py | sha256sum)
if [ "$(cat "$target/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$target" build/mypyc build/lib.* build/temp.* # what an earlier build has left would be taken along
    CHAT_AUTOPARSER_COMPILE=1 .venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target "$target" .
    echo "$stamp" >"$target/stamp"
fi
