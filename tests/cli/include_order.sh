#!/bin/sh
# The folders of src/ are the data flow: each may include only itself and those before it. The capture
# library, which lives in other people's processes, includes only what is written for that.
# Usage: include_order.sh SOURCE_DIR
set -eu
cd "$1"

order="base trace program kernels litmus import model detect pipeline explain report cli"
status=0

# Prints FILE:LINE:INCLUDE of every project include below src/$1.
includes() {
  grep -rnE '^#include "(src|tests|vgpu|incidents)/' "src/$1" --include='*.h' --include='*.cc' --include='*.cu' || true
}

# complain FILE:LINE... where the include of src/$1 does not match the pattern $2
check() {
  bad=$(includes "$1" | grep -vE "#include \"src/($2)" || true)
  [ -z "$bad" ] && return
  printf '%s\nsrc/%s may include only: %s\n' "$bad" "$1" "$2"
  status=1
}

allowed=""
for folder in $order; do
  allowed="${allowed:+$allowed|}$folder/"
  [ -d "src/$folder" ] && check "$folder" "$allowed"
done
check capture 'capture/|base/|trace/(ring|encode|ring_client|ring_protocol|crc32c|crumbs|trial)\.h|trace/schema\.def|trace/nccl\.(h|def)'
# So is the library that watches mbarriers.
check sanitizer 'sanitizer/|pipeline/log_format\.h'
public=$(grep -rnE '#include "(src|vgpu)/' include || true)
[ -z "$public" ] || { printf '%s\ninclude/ may include nothing of src/\n' "$public"; status=1; }
for folder in $order capture sanitizer; do
  bad=$(grep -rnE '#include .*vgpu' "src/$folder" || true)
  [ -z "$bad" ] || { printf '%s\nsrc/ knows nothing of vgpu/\n' "$bad"; status=1; }
done
exit $status
