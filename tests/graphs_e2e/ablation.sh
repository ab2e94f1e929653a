#!/bin/sh
# ablation.sh BUILD_DIR: of graphs_e2e's right cases, recorded, every wait that the oracle of tests/ablation holds to be
# load-bearing is reported, with the graphs' launches among what is judged.
set -eu
build=${1:?usage: ablation.sh BUILD_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$build/lib/vgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH VGPU_IDLE_MS=0
for case in branch replay explicit change update child memory values mapped started batched managed switched ended freed over heldup synced; do
  "$build/bin/streamsan" record -o "$work/$case.sst" -- "$build/bin/graphs_e2e" $case fixed >"$work/out" 2>&1
done
"$build/bin/ablation_oracle" --least 100 "$work"/*.sst | tee "$work/said"
bearing=$(sed -n '$s/.* tried, \([0-9]*\) load-bearing.*/\1/p' "$work/said")
beyond=$(sed -n '$s/.*, \([0-9]*\) reported beyond/\1/p' "$work/said")
[ "$bearing" -ge 30 ] && [ "$beyond" -eq 0 ]
