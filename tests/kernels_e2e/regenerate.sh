#!/bin/sh
# Makes the fixtures anew from kernels.cu; needs nvcc, nvdisasm and python3. The fat binary is not compressed,
# because the virtual GPU reads it.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
nvdisasm=${STREAMSAN_NVDISASM:-nvdisasm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$nvcc" -std=c++17 -I../../vgpu/include -arch=sm_90 -cubin -o fixtures/kernels_sm90.cubin kernels.cu
"$nvcc" -std=c++17 -I../../vgpu/include -fatbin -no-compress -gencode arch=compute_90,code=sm_90 \
  -o fixtures/kernels_sm90.fatbin kernels.cu
for kernel in fill twice; do
  python3 - "$kernel" "$work/code" <<'PYTHON'
import pathlib, sys
import nvdisasm
cubin = pathlib.Path("fixtures/kernels_sm90.cubin").read_bytes()
pathlib.Path(sys.argv[2]).write_bytes(dict(nvdisasm.sections(cubin))[".text." + sys.argv[1]])
PYTHON
  "$nvdisasm" -b SM90a "$work/code" >"fixtures/${kernel}_sm90.raw"
done
