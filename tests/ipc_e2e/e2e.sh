#!/bin/sh
# e2e.sh BUILD_DIR: each case of ipc_e2e gets the exit code that it should, live, from its traces and by several processes;
# a racy one really computes wrong numbers under some schedule, a right one under none.
set -u
build=${1:?usage: e2e.sh BUILD_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$build/lib/vgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# A process that waits for the other one's word calls nothing: its device goes on by itself.
export LD_LIBRARY_PATH VGPU_IDLE_MS=100
failed=0

fail() { echo "FAILED: $*"; failed=1; }

# expect CODE OPTIONS CASE WAY: the verdict, with everything seen, and the same from the traces
expect() {
  code=$1 options=$2; shift 2
  rm -rf "$work/traces"
  "$build/bin/streamsan" run $options -o "$work/traces" --report "$work/report" -- "$build/bin/ipc_e2e" "$@" >"$work/out" 2>&1
  got=$?
  [ $got -eq "$code" ] || { fail "$*: exit $got, expected $code"; cat "$work/out" "$work/report"; }
  grep -q 'not modelled\|incomplete\|not known' "$work/report" && { fail "$*: incomplete"; cat "$work/report"; }
  "$build/bin/streamsan" check $options --report "$work/again" "$work/traces" >"$work/out" 2>&1
  got=$?
  [ $got -eq "$code" ] || { fail "$* from its traces: exit $got, expected $code"; cat "$work/out" "$work/again"; }
}

# strikes CASE WAY: how many of some schedules give wrong numbers
strikes() {
  struck=0
  for seed in lazy 1 2 3 4 5 6; do
    policy=random
    [ $seed = lazy ] && policy=lazy seed=1
    VGPU_SCHED=$policy VGPU_SEED=$seed "$build/bin/ipc_e2e" "$@" >"$work/out" 2>&1 || fail "$*: seed $seed: $(cat "$work/out")"
    grep -q 'result bad' "$work/out" && struck=$((struck + 1))
  done
}

for case in read write through told freed posted ended mapped pieces unmapped pool returned; do
  expect 66 "" $case racy
  expect 0 "" $case fixed
  expect 0 "" $case lookalike
  strikes $case racy
  # What is freed is not written by anybody else, and this device waits where memory is unmapped.
  [ $struck -gt 0 ] || [ $case = freed ] || [ $case = unmapped ] || fail "$case racy: no wrong numbers under any schedule"
  for way in fixed lookalike; do
    strikes $case $way
    [ $struck -eq 0 ] || fail "$case $way: wrong numbers under $struck schedules"
  done
done

# What only a message orders that the driver does not see, --strict takes for a race.
expect 66 --strict told fixed
expect 66 --strict freed fixed
expect 0 --strict read fixed
expect 0 --strict through fixed

# What kernels order that wait for each other is never more than possible.
expect 66 "--min-confidence possible" posted fixed

# The commands about a program take both as one, or say that they cannot.
expect 66 "" read racy
"$build/bin/streamsan" explain "$work/traces" H1 >"$work/out" 2>&1 || { fail "explain"; cat "$work/out"; }
grep -q 'rank[01] producer' "$work/out" && grep -q 'rank[01] consumer' "$work/out" || { fail "explain: lanes"; cat "$work/out"; }
"$build/bin/streamsan" whatif "$work/traces" --first-fixes >"$work/out" 2>&1 || { fail "whatif"; cat "$work/out"; }
expect 0 "" read fixed
"$build/bin/streamsan" ablate "$work/traces" >"$work/out" 2>&1 || { fail "ablate"; cat "$work/out"; }
grep -q 'load-bearing.*rank[01] consumer waits for an event of rank[01] producer' "$work/out" || { fail "ablate"; cat "$work/out"; }

# One of the two traces alone: its own part, and that the other's is not known.
expect 66 "" read racy
for trace in "$work"/traces/*.sst; do
  "$build/bin/streamsan" check --report "$work/report" "$trace" >"$work/out" 2>&1
  got=$?
  [ $got -eq 0 ] || { fail "one trace alone: exit $got"; cat "$work/report"; }
  grep -q 'shared with other processes, whose part is not known' "$work/report" || { fail "one trace alone"; cat "$work/report"; }
  "$build/bin/streamsan" explain "$trace" H1 >"$work/out" 2>&1 && fail "explain: one trace alone"
  grep -q 'name the folder that holds the traces of all of them' "$work/out" || { fail "explain: one trace alone"; cat "$work/out"; }
  "$build/bin/streamsan" ablate "$trace" >"$work/out" 2>&1
  grep -q 'whose part is not known' "$work/out" || { fail "ablate: one trace alone"; cat "$work/out"; }
  "$build/bin/streamsan" whatif "$trace" --first-fixes >"$work/out" 2>&1
  grep -q 'whose part is not known' "$work/out" || { fail "whatif: one trace alone"; cat "$work/out"; }
done
exit $failed
