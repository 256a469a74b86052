#!/bin/sh
# Show what chat-autoparser does, from nothing but Python: makes an environment of its own in build/demo, installs the
# project there and runs scripts/demo.py.
#
# Usage: scripts/demo.sh [TEMPLATE]     a chat template's file or a model's folder (default: scripts/demo.jinja)
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
