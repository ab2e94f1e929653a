#!/bin/sh
# compiles.sh SOURCE WORK_DIR: nvcc makes code for sm_90 of it, without a warning. Exit 77 (skipped) without nvcc.
set -eu
nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
[ -x "$nvcc" ] || { echo "no nvcc: not compiled"; exit 77; }
code=$2/$(basename "$1" .cu).cubin
rm -f "$code"
"$nvcc" -std=c++17 -O2 -lineinfo -arch=sm_90 -Werror all-warnings -cubin -o "$code" "$1"
[ -s "$code" ] || { echo "nvcc left no $code"; exit 1; }
