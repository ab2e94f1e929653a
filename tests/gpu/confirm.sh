#!/usr/bin/env bash
# confirm.sh BUILD_DIR OUT_DIR: `streamsan run --confirm` on a real GPU. Each incident's fault is recorded; then its
# first hazard is tried once with the fault and once with each fix. BUILD_DIR as of on_gpu.sh. Reports and traces
# stay in OUT_DIR. The last line is `N passed, N failed`.
set -u
build=${1:?usage: confirm.sh BUILD_DIR OUT_DIR}
out=${2:?usage: confirm.sh BUILD_DIR OUT_DIR}
hold=${HOLD:-2}
passed=0 failed=0
mkdir -p "$out"

# try WANTED NAME TRACE PROGRAM ARGUMENTS...: the trial's outcome is one of WANTED (a|b).
try() {
  local wanted=$1 name=$2 trace=$3 code=0 outcome data
  shift 3
  timeout 120 "$build/bin/streamsan" run --confirm H1 --from "$trace" --hold "$hold" --format json \
    --report "$out/$name.json" -- "$@" >"$out/$name.out" 2>"$out/$name.err" || code=$?
  outcome=$(sed -n '/"trials"/,/\]/s/.*"outcome": "\([a-z-]*\)".*/\1/p' "$out/$name.json" 2>/dev/null | head -1)
  data=$(grep -o 'data: [A-Za-z]*' "$out/$name.out" | head -1)
  case "|$wanted|" in
    *"|${outcome:-none}|"*) passed=$((passed + 1)); verdict=pass ;;
    *) failed=$((failed + 1)); verdict=FAIL ;;
  esac
  printf '%s  %-48s %-11s exit %-3s %s (expected %s)\n' $verdict "$name" "${outcome:-none}" $code "$data" "$wanted"
}

# incident PROGRAM FAULT FIX=WANTED...
incident() {
  local program=$1 fault=$2 trace fix
  shift 2
  trace=$out/$program.$fault.sst
  timeout 120 "$build/bin/streamsan" record -o "$trace" -- "$build/bin/$program" --fault="$fault" \
    >"$out/$program.$fault.record.out" 2>&1
  try confirmed "$program.$fault" "$trace" "$build/bin/$program" --fault="$fault"
  for fix in "$@"; do
    try "${fix#*=}" "$program.$fault.${fix%%=*}" "$trace" "$build/bin/$program" --fault="$fault" --fix="${fix%%=*}"
  done
}

incident moe_combine missing-compute-record 'record-compute=gone' 'wait=waited' 'host-sync=not-issued'
incident zero3_reduce wrong-producer 'wait=waited' 'host-sync=not-issued'
incident ep_combine_fill alloc-after-wait 'alloc-before-wait=waited|not-reached' 'wait=waited' 'host-sync=not-issued'
printf '%d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
