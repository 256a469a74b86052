#!/usr/bin/env bash
# The one test command: sets up where needed, then lints, checks types and runs all tests, among them one that builds
# the package and uses it in an empty environment. Arguments go to pytest: scripts/test.sh -k renderer
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
.venv/bin/ruff check .
.venv/bin/mypy
.venv/bin/python -m pytest "$@"
