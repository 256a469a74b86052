#!/usr/bin/env bash
# Makes .venv in the repository and installs the project into it, editable and with all that its tests need.
# Does nothing where that is done and pyproject.toml has not changed since. PYTHON names another interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
if ! command -v "$python" >/dev/null; then
    echo "setup: there is no '$python'. Install Python 3.10 or newer, or name one: PYTHON=/path/to/python3 $0" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "setup: '$python' is $("$python" --version 2>&1), and 3.10 or newer is needed." \
        "Name another: PYTHON=/path/to/python3 $0" >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "setup: '$python' cannot make virtual environments. Install its venv module" \
        "(on Debian and Ubuntu the package python3-venv)." >&2
    exit 1
fi

stamp=.venv/installed-from.toml
if ! cmp --silent pyproject.toml "$stamp"; then
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install -qq --disable-pip-version-check --upgrade pip
    .venv/bin/python -m pip install -qq --disable-pip-version-check --editable '.[test]'
    cp pyproject.toml "$stamp"
fi
