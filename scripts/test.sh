#!/usr/bin/env bash
# The one test command: sets up where needed, then lints, checks types and runs all tests, among them one that builds
# the package and uses it in an empty environment. Arguments go to pytest: scripts/test.sh -k renderer
#
# With --engine vllm as the first arguments, the tests of tests/engines run instead, on servers of that engine: the version
# that scripts/setup_vllm.sh installs, then the oldest and the newest supported one with a scripted engine core. VERSIONS
# names others: VERSIONS="0.27.1" scripts/test.sh --engine vllm
set -euo pipefail
cd "$(dirname "$0")/.."

# The engines of today are tested with the engine of today's own warnings about itself.
quiet=(-W default)

if [ "${1:-}" = --engine ]; then
    engine=${2:?"which engine? --engine vllm"}
    shift 2
    if [ "$engine" != vllm ]; then
        echo "test: there are no tests of $engine here yet" >&2
        exit 2
    fi
    scripts/setup_vllm.sh
    build/vllm/bin/python -m pytest "${quiet[@]}" tests/engines --engine vllm "$@"
    for version in ${VERSIONS-0.25.1 0.33.0}; do
        scripts/overlay_vllm.sh "$version"
        echo "test: the same with vLLM $version and a scripted engine core" >&2
        PYTHONPATH=build/vllm-$version VLLM_TARGET_DEVICE=cpu \
            build/vllm/bin/python -m pytest "${quiet[@]}" tests/engines/test_servers.py --engine vllm "$@"
    done
    exit
fi

scripts/setup.sh
.venv/bin/ruff check .
.venv/bin/mypy
.venv/bin/python -m pytest "$@"
