#!/usr/bin/env bash
# What fuzz/run.sh adds up and keeps, with targets that only print what libFuzzer prints.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
die() { printf 'fuzz_run: %s\n' "$*" >&2; exit 1; }

# Executes 725 inputs that are there, then what -runs says; with $FINDS it stops early at a crash.
mkdir -p "$folder/bin" "$folder/lib"
cat >"$folder/bin/target" <<'TARGET'
#!/usr/bin/env bash
for option in "$@"; do
  case "$option" in
    -runs=*) runs=${option#*=} ;;
    -artifact_prefix=*) prefix=${option#*=} ;;
    -max_total_time=*) runs=1000 ;;
  esac
done
printf '#725\tINITED cov: 1 ft: 1 corp: 1/1b exec/s: 0 rss: 30Mb\n' >&2
[ -z "${STOPS:-}" ] || exit 1
if [ -n "${FINDS:-}" ] && [[ $* == *print_final_stats* ]]; then runs=730; echo input >"${prefix}crash-$$"; fi
printf 'stat::number_of_executed_units: %d\nstat::average_exec_per_sec:     9\n' "$((runs + 725))" >&2
TARGET
chmod +x "$folder/bin/target"
for name in trace_reader sass pipe_parser litmus_parser pipe_recording cubin_reader suppressions; do
  ln "$folder/bin/target" "$folder/bin/${name}_fuzz"
  mkdir -p "$folder/seeds/${name}_fuzz" "$folder/start/${name}_fuzz"
done

# 80 pieces of 125,000 runs each; numbers, not texts, are compared ("125725" comes before "725").
STREAMSAN_FUZZ_TARGETS=$folder "$root/dev" fuzz --runs 10000000 --jobs 4 --out "$folder/out" >"$folder/said" ||
  die "enough runs, nothing found, and yet: $(cat "$folder/said")"
[ "$(grep -c ': 10000000 runs, 0 found$' "$folder/said")" -eq 7 ] || die "sums: $(cat "$folder/said")"

said=$("$root/fuzz/run.sh" "$folder" --seconds 1 --only sass_fuzz --out "$folder/one")
[ "$said" = "sass_fuzz: 1000 runs, 0 found" ] || die "one target: $said"

if said=$(FINDS=1 "$root/fuzz/run.sh" "$folder" --runs 8000 --only sass_fuzz --out "$folder/bad"); then
  die "something was found: exit code 0"
fi
[ "$said" = "sass_fuzz: 58400 runs, 80 found" ] || die "findings: $said"

# An hour would be needed, a second is given.
if "$root/fuzz/run.sh" "$folder" --runs 100000000 --limit 1 --only sass_fuzz --out "$folder/late" >"$folder/said"; then
  die "not enough runs: exit code 0, $(cat "$folder/said")"
fi

# A target that runs nothing has not passed, nor has one that is not there.
if STOPS=1 "$root/fuzz/run.sh" "$folder" --seconds 1 --only sass_fuzz --out "$folder/stopped" >"$folder/said"; then
  die "nothing ran: exit code 0, $(cat "$folder/said")"
fi
refused() {
  local code=0
  timeout 20 "$@" >"$folder/said" 2>&1 || code=$?
  if [ "$code" -ne 2 ] || [ "$(wc -l <"$folder/said")" -ne 1 ]; then die "$*: exit code $code, $(cat "$folder/said")"; fi
}
rm "$folder/bin/sass_fuzz"
refused "$root/fuzz/run.sh" "$folder" --seconds 1
refused "$root/fuzz/run.sh" "$folder" --only nothing
# Wrong options are refused before anything is built.
for options in --help --runs 'x' '--runs 0' '--runs -5' '--jobs 0 --runs 1' '--runs 1 --jobs' '--runs 1 more'; do
  # shellcheck disable=SC2086
  refused "$root/dev" fuzz $options
done
