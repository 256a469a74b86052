#!/usr/bin/env bash
# Builds the package with its parser compiled, as CHAT_AUTOPARSER_COMPILE=1 pip install would, into build/compiled.
# To run something with it: PYTHONPATH=build/compiled .venv/bin/python scripts/bench.py
# Needs a C compiler and takes about two minutes. Does nothing where it is done and no source has changed since.
# CHAT_AUTOPARSER_COMPILE_LEVEL (0 to 3, else 3) says how much of the C compiler's time goes into the speed of the result.
set -euo pipefail
cd "$(dirname "$0")/.."

target=build/compiled
scripts/setup.sh
stamp=${CHAT_AUTOPARSER_COMPILE_LEVEL:-3}-$(cat setup.py pyproject.toml core/*.py core/*/*.py vllm_plugin/*.py sglang_plugin/*.py | sha256sum)
if [ "$(cat "$target/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$target" build/mypyc build/lib.* build/temp.* # what an earlier build has left would be taken along
    CHAT_AUTOPARSER_COMPILE=1 .venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps --target "$target" .
    echo "$stamp" >"$target/stamp"
fi
