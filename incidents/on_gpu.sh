#!/bin/sh
# on_gpu.sh BUILD_DIR [DELAY_MS]: the incidents on a real GPU (BUILD_DIR configured with -DSTREAMSAN_CUDA=ON).
#
# Each fault with a delay that makes it strike, each fix with the same delay, each fault without a delay (which
# usually goes well: that is what made these faults expensive). Prints; judges only the fixes.
set -u
build=${1:?usage: on_gpu.sh BUILD_DIR [DELAY_MS]}
delay=${2:-20}
failed=0

# shellcheck disable=SC2086  # $2 is several arguments
show() { printf '%-16s %-60s %s\n' "$1" "$2" "$("$build/bin/$1" $2)"; }

incident() {
  program=$1; fault=$2; shift 2
  show "$program" "--fault=$fault"
  show "$program" "--fault=$fault --delay-ms=$delay"
  for fix in "$@"; do
    show "$program" "--fault=$fault --fix=$fix --delay-ms=$delay"
    "$build/bin/$program" --fault="$fault" --fix="$fix" --delay-ms="$delay" --check > /dev/null || failed=1
  done
}

incident moe_combine missing-compute-record record-compute wait host-sync hold
incident moe_combine wait-after-alloc record-compute
incident moe_combine missing-input-record record-comm
incident moe_combine missing-gradient-record record-comm
incident zero3_reduce wrong-producer wait host-sync backward-on-default
incident zero3_reduce several-producers wait host-sync
incident zero3_reduce index-reset wait host-sync
incident ep_combine_fill alloc-after-wait alloc-before-wait alloc-on-comm wait host-sync
exit $failed
