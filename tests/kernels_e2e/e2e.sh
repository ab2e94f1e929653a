#!/bin/sh
# e2e.sh BUILD_DIR: from a cubin that the program loads to the verdict, without an annotation, on the virtual GPU.
# Uses STREAMSAN_NVDISASM where it is set, else the listing that was committed.
set -u
build=${1:?usage: e2e.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$build/lib/vgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
STREAMSAN_NVDISASM=${STREAMSAN_NVDISASM:-$here/nvdisasm.py}
STREAMSAN_CACHE=$work/cache
export LD_LIBRARY_PATH STREAMSAN_NVDISASM STREAMSAN_CACHE VGPU_IDLE_MS=0
failed=0

# expect CODE PATTERN CASE WAY [FILE]: exit code of `streamsan run` and a line of its report
expect() {
  code=$1; pattern=$2; shift 2
  "$build/bin/streamsan" run --report "$work/report" -- "$build/bin/kernels_e2e" "$@" >"$work/out" 2>&1
  got=$?
  [ $got -eq "$code" ] || { echo "FAILED: $*: exit $got, expected $code"; cat "$work/report"; failed=1; }
  grep -q -- "$pattern" "$work/report" || { echo "FAILED: $*: no '$pattern' in:"; cat "$work/report"; failed=1; }
  grep -q '^result 2$' "$work/out" || { echo "FAILED: $*: wrong data:"; cat "$work/out"; failed=1; }
}

for way in "memory $here/fixtures/kernels_sm90.cubin" "memory $here/fixtures/kernels_sm90.fatbin" \
           "file $here/fixtures/kernels_sm90.cubin" "library $here/fixtures/kernels_sm90.cubin" \
           "kernel $here/fixtures/kernels_sm90.cubin" "library-module $here/fixtures/kernels_sm90.cubin" embedded; do
  # shellcheck disable=SC2086
  expect 66 'H1' racy $way
  # shellcheck disable=SC2086
  expect 0 'launches with known accesses 100%' fixed $way
  # shellcheck disable=SC2086
  expect 0 'launches with known accesses 100%' lookalike $way
done
# A program that is over before its kernels are known waits for them, longer than a question to a running one does.
printf '#!/bin/sh\nsleep 4\nexec %s "$@"\n' "$STREAMSAN_NVDISASM" >"$work/slow"
chmod +x "$work/slow"
quick=$STREAMSAN_NVDISASM
STREAMSAN_NVDISASM=$work/slow STREAMSAN_CACHE=$work/slowly
expect 66 'H1' racy embedded
STREAMSAN_NVDISASM=$quick
# The machine code is what decides: without a disassembler nothing is claimed.
STREAMSAN_NVDISASM=false STREAMSAN_CACHE=$work/empty
expect 0 'launches with known accesses 0' racy embedded
exit $failed
