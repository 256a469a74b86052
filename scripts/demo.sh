#!/bin/sh
# Show what chat-autoparser does, from nothing but Python: makes an environment of its own in build/demo, installs the
# project there and runs scripts/demo.py.
#
# Usage: scripts/demo.sh [TEMPLATE]     a chat template's file or a model's folder (default: scripts/demo.jinja)
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
environment="$root/build/demo"
installed="$environment/installed"

find_python() {
    for name in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "demo: needs Python 3.10 or newer; name it in the variable PYTHON" >&2
    exit 1
}

if [ ! "$installed" -nt "$root/pyproject.toml" ]; then
    python=$(find_python)
    echo "Setting up in $environment (once) ..." >&2
    if ! "$python" -m venv --clear "$environment"; then
        echo "demo: this Python cannot make an environment (on Debian and Ubuntu: apt install python3-venv)" >&2
        exit 1
    fi
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$root[cli]"
    touch "$installed"
fi

exec "$environment/bin/python" "$root/scripts/demo.py" "$@"
