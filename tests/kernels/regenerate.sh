#!/bin/sh
# Makes the fixtures anew from the .cu files; needs nvcc, nvdisasm and zstd. The truth lines are checked
# against what comes out by kernels_truth_test, so a new compiler version may ask for a look at them.
# Usage: regenerate.sh [SET...]    default: basic basicg tma more odd small
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
nvdisasm=${STREAMSAN_NVDISASM:-nvdisasm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# one SET ARCH [SOURCE [OPTION...]]: fixtures/SET_smARCH.{cubin,sass}.zst; from Hopper on the "a" variant
one() {
  set=$1 arch=$2 source=${3:-$1} suffix=
  if [ $# -lt 3 ]; then shift 2; else shift 3; fi
  [ "$arch" -lt 90 ] || suffix=a
  "$nvcc" -std=c++17 "$@" -arch="sm_$arch$suffix" -cubin -o "$work/$set.cubin" "$source.cu"
  "$nvdisasm" -c "$work/$set.cubin" >"$work/$set.sass"
  for kind in cubin sass; do
    zstd -q -19 -f "$work/$set.$kind" -o "fixtures/${set}_sm$arch.$kind.zst"
  done
}

# The code sections of the cubin that one() left, one after the other, disassembled without the file.
raw() {
  python3 - "$work/$1.cubin" "$work/$1.bin" <<'PYTHON'
import struct, sys
data = open(sys.argv[1], "rb").read()
offset, = struct.unpack_from("<Q", data, 40)
size, count, names = struct.unpack_from("<HHH", data, 58)
sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
def name(section):
    start = sections[names][4] + section[0]
    return data[start:data.index(b"\0", start)]
with open(sys.argv[2], "wb") as out:
    for section in sections:
        if name(section).startswith(b".text."):
            out.write(data[section[4]:section[4] + section[5]])
PYTHON
  "$nvdisasm" -b "SM$2a" "$work/$1.bin" >"$work/$1.raw"
  zstd -q -19 -f "$work/$1.raw" -o "fixtures/$1_sm$2.raw.zst"
}

fat() {
  "$nvcc" -fatbin -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
    -gencode arch=compute_90,code=compute_90 --compress-mode=speed -o fixtures/small_lz4.fatbin small.cu
  "$nvcc" -fatbin -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=compute_90 \
    --compress-mode=size -o fixtures/small_zstd.fatbin small.cu
}

[ $# -gt 0 ] || set -- basic basicg tma more odd small
for set in "$@"; do
  case $set in
    small) fat ;;
    tma) for arch in 90 100; do one tma $arch; done ;;
    basic)
      for arch in 80 100 90; do one basic $arch; done
      raw basic 90
      ;;
    basicg) for arch in 80 90 100; do one basicg $arch basic -G; done ;;
    *) for arch in 80 90 100; do one "$set" $arch; done ;;
  esac
done
