#!/usr/bin/env bash
# Makes tests/test_show_browser.py find what it needs: the package playwright in .venv, and a browser.
# A Chromium or Chrome of the system is taken as it is (CHROMIUM names one that is not on the path); else playwright's own
# is downloaded. Ends with 3, and says why, where neither can be had.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh

# Runs a command that needs the network; where it fails, what it says of errors is the reason, and a hint follows.
fetch() {
    local hint=$1 said
    shift
    if ! said=$("$@" 2>&1); then
        echo "setup_browser: '$*' failed:" >&2
        { grep -i -E '(error|fail|timed out)' <<<"$said" || cat <<<"$said"; } | grep -v '^ *at ' | tail -n 3 | cut -c 1-300 >&2 || true
        echo "setup_browser: $hint" >&2
        exit 3
    fi
}

if ! .venv/bin/python -c 'import playwright' 2>/dev/null; then
    fetch "without the package playwright no browser can be driven; pip's configuration says where packages come from." \
        .venv/bin/python -m pip install -qq --disable-pip-version-check --editable '.[browser]'
fi
[ -z "${CHROMIUM:-}" ] || exit 0
for name in chromium chromium-browser google-chrome chrome; do
    ! command -v "$name" >/dev/null || exit 0
done
hint="install the system's Chromium instead: the package is chromium on Debian, Fedora and Arch, chromium-browser on Ubuntu."
fetch "$hint Or name one: CHROMIUM=/path/to/chromium" timeout 300 .venv/bin/python -m playwright install --only-shell chromium
