#!/usr/bin/env bash
# On a machine with an NVIDIA GPU and nvcc: the incidents with the kernels compiled for it, under `streamsan run`;
# programs of the CUDA runtime, linked both ways. The last line is `N passed, N failed`. `./dev gpu` runs this.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/gpu
passed=0 failed=0

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cmake --preset release -B $build -DSTREAMSAN_CUDA=ON -DSTREAMSAN_GPU_PROGRAMS=ON -DSTREAMSAN_TESTS=ON >/dev/null
targets=(streamsan streamsan_capture moe_combine zero3_reduce ep_combine_fill hello_rt_static hello_rt_shared kernels_e2e)
cmake --build $build --target "${targets[@]}"

# expect CODE WHAT ARGUMENTS...: `streamsan run ARGUMENTS` exits with CODE.
expect() {
  local wanted=$1 what=$2 got=0
  shift 2
  $build/bin/streamsan run -- "$@" >$build/last.out 2>$build/last.err || got=$?
  if [ "$got" -eq "$wanted" ]; then
    printf 'pass  %s\n' "$what"
    passed=$((passed + 1))
  else
    printf 'FAIL  %s: exit code %s, expected %s\n' "$what" "$got" "$wanted"
    cat $build/last.out $build/last.err
    failed=$((failed + 1))
  fi
}

expect 66 "incident 1, fault" $build/bin/moe_combine
expect 0 "incident 1, fix" $build/bin/moe_combine --fix=record-compute
expect 66 "incident 2, fault" $build/bin/zero3_reduce
expect 0 "incident 2, fix" $build/bin/zero3_reduce --fix=wait
expect 66 "incident 3, fault" $build/bin/ep_combine_fill
expect 0 "incident 3, fix" $build/bin/ep_combine_fill --fix=alloc-before-wait
expect 66 "unannotated kernels, race" $build/bin/kernels_e2e racy embedded
expect 0 "unannotated kernels, fixed" $build/bin/kernels_e2e fixed embedded
expect 0 "unannotated kernels, read by both streams" $build/bin/kernels_e2e lookalike embedded
expect 0 "static cudart" $build/bin/hello_rt_static
expect 0 "shared cudart" $build/bin/hello_rt_shared
printf '%d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
