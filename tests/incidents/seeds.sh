#!/bin/sh
# seeds.sh BUILD_DIR [FIX_SEEDS [FAULT_SEEDS]]: what the incidents' data look like over many schedules.
#
# Each fault: right under the eager schedule, wrong under some of FAULT_SEEDS seeds (default 1000) of random and
# of pct. Each fix: right under eager, lazy, and all of FIX_SEEDS seeds (default 10000) of both.
# ctest runs it with small numbers; the defaults take some minutes.
set -u
build=${1:?usage: seeds.sh BUILD_DIR [FIX_SEEDS [FAULT_SEEDS]]}
fix_seeds=${2:-10000}
fault_seeds=${3:-1000}
LD_LIBRARY_PATH=$build/lib/vgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH VGPU_IDLE_MS=0
failed=0

fail() { echo "FAILED: $*"; failed=1; }

# Data of one run under policy $1.
once() {
  policy=$1; shift
  VGPU_SCHED=$policy "$@" | grep -qx 'data: right'
}

# Number of wrong seeds.
wrong() { "$@" | sed -n 's/.* seeds, \([0-9]*\) wrong.*/\1/p'; }

fault() {
  binary=$build/bin/$1; name=$2
  once eager "$binary" --fault="$name" || fail "$1 fault=$name: eager data are not right"
  for policy in random pct; do
    count=$(wrong "$binary" --fault="$name" --seeds 1.."$fault_seeds" --policy $policy)
    echo "$1 fault=$name $policy: ${count:-no result} of $fault_seeds seeds wrong"
    [ "${count:-0}" -gt 0 ] || fail "$1 fault=$name: never struck under $policy"
  done
}

fixed() {
  binary=$build/bin/$1; name=$2; fix=$3
  for policy in eager lazy; do
    once $policy "$binary" --fault="$name" --fix="$fix" || fail "$1 fault=$name fix=$fix: wrong under $policy"
  done
  for policy in random pct; do
    count=$(wrong "$binary" --fault="$name" --fix="$fix" --seeds 1.."$fix_seeds" --policy $policy)
    echo "$1 fault=$name fix=$fix $policy: ${count:-no result} of $fix_seeds seeds wrong"
    [ "${count:-1}" -eq 0 ] || fail "$1 fault=$name fix=$fix: struck under $policy"
  done
}

incident() {
  incident=$1; broken=$2; shift 2
  [ "$broken" = none ] || fault "$incident" "$broken"
  for each in "$@"; do fixed "$incident" "$broken" "$each"; done
}

incident moe_combine none none
incident moe_combine missing-compute-record record-compute wait host-sync hold
incident moe_combine wait-after-alloc record-compute
incident moe_combine missing-input-record record-comm
incident moe_combine missing-gradient-record record-comm
incident zero3_reduce none none
incident zero3_reduce wrong-producer wait host-sync backward-on-default
incident zero3_reduce several-producers wait host-sync
incident zero3_reduce index-reset wait host-sync
incident ep_combine_fill none none
incident ep_combine_fill alloc-after-wait alloc-before-wait alloc-on-comm wait host-sync
exit $failed
