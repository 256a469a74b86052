#!/usr/bin/env bash
# Makes every table of docs/measured.md anew: runs the scripts that they come from, one after the other, and writes what each
# prints to build/measured/NAME.txt, under the command, the commit and the time that it took. All of them together are in
# build/measured/all.md.
#
# Usage: scripts/measure.sh [--quick] [--engines] [NAME ...]
#
# Without a name, all that .venv can run; it takes some hours on two cores. With --quick, samples, in some twenty minutes. With
# --engines also what needs build/vllm and build/sglang (scripts/setup_vllm.sh, scripts/setup_sglang.sh). With names, only these:
#   generality coverage words brackets bare peers layouts taught attributions roundtrips bridges responses fuzz bench
#   constrain vllm sglang vllm-roundtrips sglang-roundtrips
set -uo pipefail
cd "$(dirname "$0")/.."

quick= engines= names=()
for word in "$@"; do
    case $word in
    --quick) quick=1 ;;
    --engines) engines=1 ;;
    -*)
        echo "measure: there is no option $word; there are --quick and --engines" >&2
        exit 2
        ;;
    *) names+=("$word") ;;
    esac
done

commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD -- core scripts vllm_plugin sglang_plugin || commit+=" with changes"
out=build/measured
mkdir -p "$out"
known=() failed=0

# measure NAME COMMAND ...: runs a command if it is asked for.
measure() {
    local name=$1 start=$SECONDS status=0
    shift
    known+=("$name")
    if [ ${#names[@]} -gt 0 ] && [[ " ${names[*]} " != *" $name "* ]]; then
        return
    fi
    echo "measure: $name" >&2
    "$@" >"$out/$name.body" 2>"$out/$name.err" || status=$?
    {
        echo "\$ $*"
        echo "commit $commit, $(date -u +%F), $((SECONDS - start)) s, exit status $status"
        echo
        cat "$out/$name.body"
        [ "$status" -le 1 ] || tail -n 20 "$out/$name.err"
    } >"$out/$name.txt"
    rm "$out/$name.body"
    [ "$status" -le 1 ] || failed=1 # 1 says that a bar was missed, and what was measured stands
}

# compare_roundtrips ENGINE PYTHON ...: holds an engine's own parsers against what `measure roundtrips` has written.
compare_roundtrips() {
    local engine=$1
    shift
    "$@" scripts/roundtrips.py --parser "${engine}_parse:make_parse" --jobs 1 --json "$out/$engine.json" ${quick:+--every 20} &&
        $python scripts/compare_roundtrips.py "$out/roundtrips.json" "$out/$engine.json"
}

python=.venv/bin/python
measure generality $python scripts/generality.py --seed measured ${quick:+--count 100}
measure coverage $python scripts/coverage.py ${quick:+--quick}
for mode in words brackets bare; do
    measure "$mode" $python scripts/coverage.py --rename "$mode" ${quick:+--quick}
done
measure peers $python scripts/peers.py
measure layouts $python scripts/layouts.py ${quick:+--only Qwen3}
measure taught $python scripts/taught.py --every ${quick:+2}3
measure attributions $python scripts/attributions.py ${quick:+--every 20}
measure roundtrips $python scripts/roundtrips.py --json "$out/roundtrips.json" ${quick:+--every 20}
measure bridges $python scripts/bridges.py ${quick:+--every 20}
measure responses $python scripts/responses.py ${quick:+--every 20}
measure fuzz $python scripts/fuzz.py --seconds $((quick ? 60 : 600)) --seed 1
measure bench $python scripts/bench.py ${quick:+--quick}
if [ -n "$engines" ] || [ ${#names[@]} -gt 0 ]; then
    measure constrain build/vllm/bin/python scripts/constrain.py ${quick:+--every 20}
    measure vllm build/vllm/bin/python scripts/compare_vllm.py --starts 5
    on_cpu="env PYTHONPATH=scripts/sglang_cpu SGLANG_USE_CPU_ENGINE=1"
    measure sglang $on_cpu build/sglang/bin/python -W ignore scripts/compare_sglang.py
    measure vllm-roundtrips compare_roundtrips vllm build/vllm/bin/python
    measure sglang-roundtrips compare_roundtrips sglang $on_cpu build/sglang/bin/python -W ignore
fi

for name in "${names[@]}"; do
    if [[ " ${known[*]} " != *" $name "* ]]; then
        echo "measure: there is no measurement '$name'; there are ${known[*]}" >&2
        exit 2
    fi
done
for name in "${known[@]}"; do
    [ -f "$out/$name.txt" ] && printf '## %s\n\n```text\n%s\n```\n\n' "$name" "$(cat "$out/$name.txt")"
done >"$out/all.md"
echo "measure: all results are in $out/all.md" >&2
exit "$failed"
