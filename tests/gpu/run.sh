#!/usr/bin/env bash
# On a machine with an NVIDIA GPU and nvcc: the incidents with the kernels compiled for it, under `streamsan run`;
# programs of the CUDA runtime, linked both ways. The last line is `N passed, N failed`. `./dev gpu` runs this.
# With --samples DIR instead: every program in DIR (prebuilt; none is part of this repository) is recorded, checked
# at the lowest threshold and ablated; one line each, reports and traces under build/gpu/samples.out.
# With --pytorch: the PyTorch programs of incidents/pytorch instead (tests/gpu/pytorch.py), with the python3 that has it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/gpu
passed=0 failed=0
samples='' pytorch=''
case "${1:-}" in
  --pytorch) pytorch=yes ;;
  --samples) samples=$(realpath -e "${2:?--samples needs a directory}") ;;
  '') ;;
  *) printf 'run.sh: unknown argument %s (--samples DIR, --pytorch)\n' "$1" >&2; exit 2 ;;
esac

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
cmake --preset release -B $build -DSTREAMSAN_CUDA=ON -DSTREAMSAN_GPU_PROGRAMS=ON -DSTREAMSAN_TESTS=ON >/dev/null
targets=(streamsan streamsan_capture)
[ -z "$samples$pytorch" ] || targets+=(ablation_oracle)
breadth=(graph_capture graph_input graph_explicit graph_memory graph_update pdl memop vmm async_alloc managed rows batch)
[ -n "$samples$pytorch" ] || targets+=("${breadth[@]/#/breadth_}" breadth_ipc breadth_shareable breadth_refused)
[ -n "$samples$pytorch" ] || targets+=(moe_combine zero3_reduce ep_combine_fill hello_rt_static hello_rt_shared kernels_e2e)
cmake --build $build --target "${targets[@]}"

# The bare name of each executable of $samples, what `check` and `ablate` say in their last lines, and whether the
# oracle of tests/ablation agrees.
run_samples() {
  local out=$PWD/$build/samples.out tool=$PWD/$build/bin/streamsan program name code
  rm -rf "$out"
  mkdir -p "$out"
  for program in "$samples"/*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    name=$(basename "$program")
    code=0
    (cd "$out" && timeout 60 "$tool" record -o "$out/$name.sst" -- "$program") >"$out/$name.log" 2>&1 </dev/null || code=$?
    printf '%s: program exit code %s\n' "$name" "$code"
    code=0
    "$tool" check --min-confidence possible --report "$out/$name.txt" "$out/$name.sst" || code=$?
    case $code in
      0) passed=$((passed + 1)) ;;
      *) failed=$((failed + 1)) ;;
    esac
    sed -n 's/^==[0-9]*== StreamSan: \(.*Coverage:.*\)/  check   \1/p' "$out/$name.txt"
    "$tool" ablate --min-confidence possible "$out/$name.sst" >"$out/$name.ablate" || true
    sed -n 's/^\([0-9]* waits\? at .*\)/  ablate  \1/p' "$out/$name.ablate"
  done
  $build/bin/ablation_oracle --least 95 "$out"/*.sst || failed=$((failed + 1))
}

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

if [ -n "$pytorch" ]; then
  exec python3 tests/gpu/pytorch.py $build/bin/streamsan --jobs 12
fi
if [ -n "$samples" ]; then
  run_samples
  printf '%d without a hazard, %d with one or failed\n' $passed $failed
  [ $failed -eq 0 ]
  exit
fi

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
for program in "${breadth[@]}"; do
  expect 66 "$program, racy" $build/bin/breadth_"$program" racy
  expect 0 "$program, fixed" $build/bin/breadth_"$program" fixed
done
expect 66 "programmatic launch in a graph, racy" $build/bin/breadth_pdl racy graph
expect 0 "programmatic launch in a graph, fixed" $build/bin/breadth_pdl fixed graph
expect 66 "two processes, racy" $build/bin/breadth_ipc racy
expect 0 "two processes, fixed" $build/bin/breadth_ipc fixed
expect 66 "shareable handle, racy" $build/bin/breadth_shareable racy
expect 0 "shareable handle, fixed" $build/bin/breadth_shareable fixed
expect 66 "pool of two processes, racy" $build/bin/breadth_shareable racy pool
expect 0 "pool of two processes, fixed" $build/bin/breadth_shareable fixed pool
expect 0 "what the driver refuses" $build/bin/breadth_refused
printf '%d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
