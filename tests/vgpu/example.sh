#!/bin/sh
# example.sh BUILD_DIR: the program of vgpu/README.md, racy and fixed.
set -u
build=${1:?usage: example.sh BUILD_DIR}
LD_LIBRARY_PATH=$build/lib/vgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH VGPU_IDLE_MS=0
failed=0

# expect CODE PATTERN [ARGUMENT]: exit code and a line of the report.
expect() {
  code=$1; pattern=$2; shift 2
  report=$("$build/bin/streamsan" run --report /dev/stdout -- "$build/bin/vgpu_example" "$@"); got=$?
  [ $got -eq "$code" ] || { echo "FAILED: $*: exit $got, expected $code: $report"; failed=1; }
  echo "$report" | grep -q -- "$pattern" || { echo "FAILED: $*: no '$pattern' in: $report"; failed=1; }
}

expect 66 'race-raw  error, likely'
expect 0 'StreamSan: 0 hazards' fixed
exit $failed
