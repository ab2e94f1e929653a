#!/bin/sh
# e2e.sh BUILD_DIR: each case of graphs_e2e gets the exit code that it should, and a racy one really computes wrong
# numbers under some schedule, a right one under none.
set -u
build=${1:?usage: e2e.sh BUILD_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$build/lib/vgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH VGPU_IDLE_MS=0
failed=0

fail() { echo "FAILED: $*"; failed=1; }

# expect CODE CASE WAY: the verdict, with everything seen
expect() {
  code=$1; shift
  "$build/bin/streamsan" run --report "$work/report" -- "$build/bin/graphs_e2e" "$@" >"$work/out" 2>&1
  got=$?
  [ $got -eq "$code" ] || { fail "$*: exit $got, expected $code"; cat "$work/out" "$work/report"; }
  grep -q 'not modelled\|incomplete' "$work/report" && { fail "$*: incomplete"; cat "$work/report"; }
}

# strikes CASE WAY: how many of some schedules give wrong numbers
strikes() {
  struck=0
  for seed in lazy 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    policy=random
    [ $seed = lazy ] && policy=lazy seed=1
    VGPU_SCHED=$policy VGPU_SEED=$seed "$build/bin/graphs_e2e" "$@" >"$work/out" 2>&1 || fail "$*: seed $seed: $(cat "$work/out")"
    grep -q 'result bad' "$work/out" && struck=$((struck + 1))
  done
}

for case in branch replay explicit change update child external memory values mapped started batched anytime chained boxes columns managed \
    switched ended freed over heldup synced; do
  expect 66 $case racy
  expect 0 $case fixed
  expect 0 $case lookalike
  strikes $case racy
  # What a graph's memory node gives back is nobody else's before the graph is gone.
  [ $struck -gt 0 ] || [ $case = memory ] || [ $case = freed ] || fail "$case racy: no wrong numbers under any schedule"
  for way in fixed lookalike; do
    strikes $case $way
    [ $struck -eq 0 ] || fail "$case $way: wrong numbers under $struck schedules"
  done
done
"$build/bin/graphs_e2e" refused fixed | grep -q 'result good' || fail "refused"
exit $failed
