#!/usr/bin/env bash
# Makes tests/test_show_browser.py find what it needs: the package playwright in .venv, and a browser.
# A Chromium or Chrome of the system is taken as it is (CHROMIUM names one that is not on the path). Else the system's package is
# installed, where that is possible without asking (root on Debian or Ubuntu, as in CI), or playwright's own is downloaded. Ends with 3,
# and says why, where none can be had.
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
find_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chrome; } >/dev/null

if [ -n "${CHROMIUM:-}" ] || find_browser; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup_browser: installing the system's package chromium" >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 || true
    if find_browser; then exit 0; fi
fi
hint="install the system's Chromium instead: the package is chromium on Debian, Fedora and Arch, chromium-browser on Ubuntu."
fetch "$hint Or name one: CHROMIUM=/path/to/chromium" timeout 300 .venv/bin/python -m playwright install --only-shell chromium
