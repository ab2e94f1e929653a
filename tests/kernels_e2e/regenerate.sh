#!/bin/sh
# Makes the fixtures anew from kernels.cu; needs nvcc. The fat binary is not compressed, because the virtual
# GPU reads it.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
"$nvcc" -std=c++17 -I../../vgpu/include -arch=sm_90 -cubin -o fixtures/kernels_sm90.cubin kernels.cu
"$nvcc" -std=c++17 -I../../vgpu/include -fatbin -no-compress -gencode arch=compute_90,code=sm_90 \
  -o fixtures/kernels_sm90.fatbin kernels.cu
