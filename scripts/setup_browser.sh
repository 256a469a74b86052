#!/usr/bin/env bash
# Makes tests/test_page_browser.py find what it needs: the package playwright in .venv, and a browser.
# A Chromium or Chrome of the system is taken as it is (CHROMIUM names one that is not on the path); else playwright's own
# is downloaded. Ends with 3, and says why, where neither can be had.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh

# Runs a command that needs the network; where it fails, its last words are the reason.
fetch() {
    local said
    if ! said=$("$@" 2>&1); then
        echo "setup_browser: '$*' failed: $(tail -n 1 <<<"$said")" >&2
        exit 3
    fi
}

if ! .venv/bin/python -c 'import playwright' 2>/dev/null; then
    fetch .venv/bin/python -m pip install -qq --disable-pip-version-check --editable '.[browser]'
fi
[ -z "${CHROMIUM:-}" ] || exit 0
for name in chromium chromium-browser google-chrome chrome; do
    ! command -v "$name" >/dev/null || exit 0
done
fetch timeout 300 .venv/bin/python -m playwright install --only-shell chromium
