#!/bin/sh
# usage.sh BUILD_DIR: the command line of the incident programs: output, exit codes, wrong usage.
set -u
build=${1:?usage: usage.sh BUILD_DIR}
LD_LIBRARY_PATH=$build/lib/vgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH VGPU_IDLE_MS=0
failed=0

# expect CODE PATTERN COMMAND...: exit code and a line of the output.
expect() {
  code=$1; pattern=$2; shift 2
  output=$("$@" 2>&1); got=$?
  [ $got -eq "$code" ] || { echo "FAILED: $*: exit $got, expected $code"; failed=1; }
  echo "$output" | grep -q -- "$pattern" || { echo "FAILED: $*: no '$pattern' in: $output"; failed=1; }
}

moe=$build/bin/moe_combine
fill=$build/bin/ep_combine_fill
expect 0 '^data: right$' "$moe"
expect 0 '^data: right$' "$moe" --check
expect 0 '^data: WRONG ([1-9][0-9]* NaN, 0 stale)$' env VGPU_SCHED=lazy "$fill"
expect 1 '^data: WRONG' env VGPU_SCHED=lazy "$fill" --check
expect 0 '^data: right$' env VGPU_SCHED=lazy "$fill" --fault=none --check
expect 0 '^data: right$' env VGPU_SCHED=lazy "$fill" --fill=off --check
expect 0 '50 seeds, [1-9][0-9]* wrong (first' "$moe" --seeds 1..50
expect 1 'wrong' "$moe" --seeds 1..50 --check
expect 0 '5 seeds, 0 wrong' "$moe" --fault none --steps 2 --elements 64 --seeds 3..7 --policy pct --check
expect 0 'record-compute' "$moe" --help
expect 2 'fault=nonsense: unknown' "$moe" --fault=nonsense
expect 2 'steps: x is no number' "$moe" --steps x
expect 2 'steps: needs a value' "$moe" --steps
expect 2 'expected A..B' "$moe" --seeds 5
expect 2 'empty' "$moe" --seeds 5..4
expect 2 'unexpected' "$moe" stray
expect 2 'policy that it knows' "$moe" --seeds 1..2 --policy nonsense
exit $failed
