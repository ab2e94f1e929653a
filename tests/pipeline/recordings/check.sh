#!/usr/bin/env bash
# check.sh STREAMSAN RECORD [--write]: the recordings of expected.txt. Those with a protocol are made by RECORD
# (tests/pipeline/record.cc) from it, and must be what it makes; the others are a GPU's. Each must give its exit code, its
# hazards and no others, and its words. --write makes them anew.
set -euo pipefail
streamsan=$(realpath "$1") record=$(realpath "$2") write=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")"
made=$(mktemp)
trap 'rm -f "$made"' EXIT
failed=0 seen=0
while IFS='|' read -r name protocol seed options wanted codes words; do
  [[ $name == \#* ]] && continue
  seen=$((seen + 1)) problem='' got=0
  if [ "$protocol" != - ]; then
    # shellcheck disable=SC2086  # several options
    "$record" "$protocol" "$seed" $options >"$made" 2>/dev/null || problem="it cannot be made"
    [ "$write" != --write ] || cp "$made" "$name.sslog"
    cmp -s "$made" "$name.sslog" || problem="it is not what record makes now (check.sh ... --write)"
  fi
  report=$("$streamsan" pipeline check "$name.sslog" 2>&1) || got=$?
  found=$(sed -n 's/^StreamSan: \([a-z-]*\)  error.*/\1/p' <<<"$report" | sort | paste -sd ' ')
  [ "$got" -eq "$wanted" ] || problem="exit code $got, expected $wanted"
  [ "$found" = "$codes" ] || problem="found '$found', expected '$codes'"
  grep -qF -- "$words" <<<"$report" || problem="not in the report: $words"
  if [ -n "$problem" ]; then
    printf 'FAIL  %s: %s\n%s\n' "$name" "$problem" "$report"
    failed=$((failed + 1))
  fi
done <expected.txt
printf '%d recordings, %d failed\n' $seen $failed
[ "$seen" -gt 0 ] && [ $failed -eq 0 ]
