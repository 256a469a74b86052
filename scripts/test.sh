#!/usr/bin/env bash
# The one test command: sets up where needed, then lints, checks types and runs all tests, among them one that builds
# the package and uses it in an empty environment. Arguments go to pytest: scripts/test.sh -k renderer
#
# With --engine vllm as the first arguments, the tests of tests/engines run instead, on servers of that engine: the version
# that scripts/setup_vllm.sh installs, then fewer of them on the oldest and the newest supported one with a scripted engine
# core. VERSIONS names others: VERSIONS="0.27.1" scripts/test.sh --engine vllm
# With --engine sglang they run on the version of SGLang that scripts/setup_sglang.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."

lenient=(-W default) # an engine's environment is full of warnings that are not ours

if [ "${1:-}" = --engine ]; then
    engine=${2:?"which engine? --engine vllm, or --engine sglang"}
    shift 2
    if [ "$engine" = sglang ]; then
        scripts/setup_sglang.sh
        export PYTHONPATH=$PWD/scripts/sglang_cpu SGLANG_USE_CPU_ENGINE=1
        exec build/sglang/bin/python -m pytest "${lenient[@]}" tests/engines --engine sglang "$@"
    fi
    if [ "$engine" != vllm ]; then
        echo "test: there is no engine '$engine' here; there are vllm and sglang" >&2
        exit 2
    fi
    scripts/setup_vllm.sh
    build/vllm/bin/python -m pytest "${lenient[@]}" tests/engines --engine vllm "$@"
    for version in ${VERSIONS-0.25.1 0.33.0}; do
        scripts/overlay_vllm.sh "$version"
        echo "test: the same with vLLM $version and a scripted engine core" >&2
        PYTHONPATH=$PWD/build/vllm-$version VLLM_TARGET_DEVICE=cpu \
            build/vllm/bin/python -m pytest "${lenient[@]}" tests/engines/test_servers.py -m 'not more' \
            --engine vllm "$@"
    done
    exit
fi

scripts/setup.sh
.venv/bin/ruff check .
.venv/bin/mypy
.venv/bin/python -m pytest "$@"
