#!/bin/sh
# installed.sh BUILD_DIR: what `cmake --install` puts somewhere else works there, by itself.
set -eu
build=${1:?usage: installed.sh BUILD_DIR}
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

cmake --install "$build" --prefix "$prefix" >/dev/null
status=0
LD_LIBRARY_PATH=$build/lib/vgpu "$prefix/bin/streamsan" run -- "$build/bin/moe_combine" >/dev/null 2>"$prefix/report" || status=$?
[ $status -eq 66 ] || { cat "$prefix/report"; echo "FAILED: exit code $status, expected 66"; exit 1; }
grep -q 'lifetime  error' "$prefix/report" || { cat "$prefix/report"; echo "FAILED: no lifetime hazard"; exit 1; }
"$prefix/bin/streamsan" doctor 2>&1 | grep -qF "$prefix/" || { echo "FAILED: not the installed capture library"; exit 1; }

# The header alone, from C, in a program that is not watched.
printf '#include <streamsan/annotate.h>\nint main(void) { streamsan_buffer((void*)8, 4, "b"); return 0; }\n' >"$prefix/a.c"
cc -Wall -Wextra -Werror -I "$prefix/include" "$prefix/a.c" -o "$prefix/a" -ldl
"$prefix/a"
