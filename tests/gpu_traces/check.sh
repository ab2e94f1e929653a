#!/usr/bin/env bash
# Traces that were recorded on an H200 (docs/results): judged again, each must give the exit code, hazard and
# first fix of its line in expected.txt. check.sh STREAMSAN
set -euo pipefail
streamsan=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
failed=0 seen=0
while IFS='|' read -r name wanted code fix; do
  [[ $name == \#* ]] && continue
  seen=$((seen + 1))
  got=0
  report=$("$streamsan" check "h200/$name.sst" 2>&1) || got=$?
  problem=
  [ "$got" -eq "$wanted" ] || problem="exit code $got, expected $wanted"
  [ -z "$code" ] || grep -q "StreamSan: $code  error" <<<"$report" || problem="no $code in the report"
  [ -z "$fix" ] || grep -qF "Fix   $fix" <<<"$report" || problem="the first fix is not '$fix'"
  if [ -n "$problem" ]; then
    printf 'FAIL  %s: %s\n%s\n' "$name" "$problem" "$report"
    failed=$((failed + 1))
  fi
done <expected.txt
printf '%d traces, %d failed\n' $seen $failed
[ "$seen" -gt 0 ] && [ $failed -eq 0 ]
