#!/bin/sh
# misuse.sh COMPILER SOURCE_DIR: every case of misuse.cc is refused by the compiler, for the reason that it names.
set -eu
compiler=$1
source=$2/tests/safe/misuse.cc
status=0
try() { "$compiler" -x c++ -std=c++20 -fsyntax-only -I "$2" -I "$2/include" -DCASE="$1" "$source" 2>&1; }

try 0 "$2" || { echo "case 0 does not compile"; exit 1; }
for case in 1 2 3 4 5 6 7 8 9; do
  wanted=$(sed -n "s/.*CASE == $case  \/\/ error: //p" "$source")
  [ -n "$wanted" ] || { echo "case $case names no error"; exit 1; }
  if said=$(try "$case" "$2"); then
    echo "case $case compiles"; status=1
  elif ! printf '%s\n' "$said" | grep -qE "error: .*($wanted)"; then
    printf 'case %s: expected "%s":\n%s\n' "$case" "$wanted" "$said"; status=1
  fi
done
exit $status
