#!/usr/bin/env bash
# The one test command: sets up where needed, lints, checks types, and runs all tests: those of the library, then those of
# the plugins, on real servers of vLLM and SGLang. An engine that this machine cannot run is left out, and so are the tests in a
# browser where there is none, and that is said; where CI is true it fails instead.
#
# Usage: scripts/test.sh [--unit | --engine none|vllm|sglang] [PYTEST ARGUMENT ...]
#
# With --unit, the library's tests that are done within two minutes, for a quick look while one works: all but those that read many
# templates, drawn formats or floods. With --engine, the library's tests or those of one engine alone. For vLLM these run on the version that
# scripts/setup_vllm.sh installs, the oldest supported one, and those of the server on the newest, with a scripted engine core in place
# of the real one. VERSIONS names the versions that run so, and all tests with them: VERSIONS="0.33.0" scripts/test.sh --engine vllm
# What a quick run can do without is left out; with -m "" all runs, and with SGLANG_TESTS=tests/engines all files of SGLang's.
# What is known to fail is listed in tests/known_failures.txt, runs too, and is counted as expected.
set -euo pipefail
cd "$(dirname "$0")/.."

newest_vllm=0.33.0
# What a quick run tests with it.
newest_tests="tests/engines/test_servers.py tests/engines/test_vllm_launch.py tests/engines/test_vllm_safety.py"
# What a quick run tests of SGLang; SGLANG_TESTS=tests/engines tests all of it.
sglang_tests="tests/engines/test_servers.py tests/engines/test_sglang_plugin.py tests/engines/test_sglang_resolution.py"
# What is tested once more with the parser compiled.
compiled_tests="tests/test_code.py tests/test_confused.py tests/test_conventions.py tests/test_cuts.py tests/test_fields.py tests/test_fuzz.py tests/test_names.py
    tests/test_offscript.py tests/test_parser.py tests/test_shapes.py tests/test_slips.py tests/test_streaming.py tests/test_uninvented.py
    tests/test_values.py"
# What --unit leaves out.
long_tests="tests/test_bridge.py tests/test_budget.py tests/test_constrain.py tests/test_corpus.py tests/test_cuts.py tests/test_formats.py
    tests/test_fuzz.py tests/test_generality.py tests/test_offscript.py tests/test_offscript_policy.py tests/test_packaging.py
    tests/test_parser.py tests/test_renderer.py tests/test_roundtrip.py tests/test_show_browser.py tests/test_show_command.py
    tests/test_show_page.py tests/test_splitter.py tests/test_streaming.py tests/test_uninvented.py tests/test_unseen.py tests/test_write.py"
lenient=(-W default) # an engine's environment is full of warnings that are not ours

test_library() {
    scripts/setup.sh
    if ! scripts/setup_browser.sh; then
        [ "${CI:-}" != true ] || return 1
        echo "test: the tests in a browser are left out; the reason is above" >&2
    fi
    .venv/bin/ruff check .
    .venv/bin/mypy
    .venv/bin/lint-imports --no-cache
    .venv/bin/python -m pytest -n auto --dist loadfile -m 'not more' "$@"
}

# The parser's tests once more, with the parser compiled at a level that is made in two thirds of the time.
test_compiled() {
    if ! command -v "${CC:-cc}" >/dev/null && [ "${CI:-}" != true ]; then
        echo "test: there is no C compiler here; the tests of the compiled parser are left out" >&2
        return
    fi
    echo "test: the parser's tests once more, compiled" >&2
    CHAT_AUTOPARSER_COMPILE_LEVEL=0 scripts/compile.sh || return
    PYTHONPATH=build/compiled .venv/bin/python -m pytest -n auto --dist loadfile -m 'not more' $compiled_tests "$@"
}

# Ends with 3 where the machine cannot run the engine, and with any other status but 0 where something failed.
set_up() {
    local status=0
    "scripts/setup_$1.sh" || status=$?
    [ "$status" != 4 ] || status=3
    return "$status"
}

test_vllm() {
    local version tests=tests/engines
    [ -n "${VERSIONS+named}" ] || tests=$newest_tests
    set_up vllm || return
    build/vllm/bin/python -m pytest "${lenient[@]}" tests/engines -m 'not more' --engine vllm "$@" || return 1
    for version in ${VERSIONS-$newest_vllm}; do
        if ! scripts/overlay_vllm.sh "$version"; then
            [ -z "${VERSIONS+named}" ] && [ "${CI:-}" != true ] || return 1
            echo "test: the tests with vLLM $version were left out; the reason is above" >&2
            continue
        fi
        echo "test: the same with vLLM $version and a scripted engine core" >&2
        PYTHONPATH=$PWD/build/vllm-$version VLLM_TARGET_DEVICE=cpu \
            build/vllm/bin/python -m pytest "${lenient[@]}" $tests \
            -m 'not more' --engine vllm "$@" || return 1
    done
}

test_sglang() {
    set_up sglang || return
    PYTHONPATH=$PWD/scripts/sglang_cpu SGLANG_USE_CPU_ENGINE=1 \
        build/sglang/bin/python -m pytest "${lenient[@]}" ${SGLANG_TESTS-$sglang_tests} -m 'not more' --engine sglang "$@" || return 1
}

if [ "${1:-}" = --unit ]; then
    shift
    scripts/setup.sh
    exec .venv/bin/python -m pytest -n auto --dist loadfile $(printf -- '--ignore=%s ' $long_tests) "$@"
fi
if [ "${1:-}" = --engine ]; then
    engine=${2:?"which engine? --engine none, --engine vllm, or --engine sglang"}
    shift 2
    case $engine in
    none)
        test_library "$@"
        test_compiled "$@"
        ;;
    vllm | sglang) "test_$engine" "$@" ;;
    *)
        echo "test: there is no engine '$engine' here; there are none, vllm and sglang" >&2
        exit 2
        ;;
    esac
    exit
fi

test_library "$@"
# Beside each other, as most of the engines' time is waiting for servers that start, and vLLM's tests take the longest.
trap 'trap - TERM; kill 0' INT TERM
mkdir -p build
echo "test: the tests of vLLM and SGLang run now; what they print is shown when they are done (build/test_*.log)" >&2
test_vllm "$@" >build/test_vllm.log 2>&1 &
vllm=$!
test_sglang "$@" >build/test_sglang.log 2>&1 &
sglang=$!
failed=0

# Waits for the tests of an engine, and shows what they printed.
await() {
    local status=0
    wait "${!1}" || status=$?
    cat "build/test_$1.log"
    if [ "$status" = 3 ] && [ "${CI:-}" != true ]; then
        echo "test: the tests of $1 were left out; the reason is above" >&2
    elif [ "$status" != 0 ]; then
        failed=$status
    fi
}

await sglang
test_compiled "$@" || failed=$?
await vllm
exit "$failed"
