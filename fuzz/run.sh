#!/usr/bin/env bash
# fuzz/run.sh FOLDER [--seconds S | --runs N] [--jobs J] [--limit S] [--only TARGET] [--out DIR]
#
# The libFuzzer targets that lie in FOLDER/bin, J at a time: each for S seconds (60) or for N runs. Nothing is built
# and nothing but bash and coreutils, awk and find is used, so that FOLDER may be carried to a machine with more cores.
#
#   FOLDER/bin/TARGET    FOLDER/lib: shared libraries for them, if there
#   FOLDER/seeds/TARGET  executed whole once; then what of them reaches different things, in FOLDER/start/TARGET (made
#                        if it is not there), is mutated, cut to the length that the table below gives
#   DIR/corpus/TARGET    what reached something new     DIR/found: inputs that crashed, leaked or hung; DIR is FOLDER
#
# Prints for each target its runs (mutated inputs; neither the seeds nor what is read again of the corpus counts) and
# how many inputs were found. Exit code 1 when there is one, when a target did not run, or with --runs when --limit seconds
# were not enough; 2 for wrong usage. `--check` in place of FOLDER: are these options right ones?
set -euo pipefail

# Slow ones first: the last to finish should be quick. Most of what an input costs goes with its length.
targets=(trace_reader_fuzz:1024 sass_fuzz:2048 pipe_parser_fuzz:768 litmus_parser_fuzz:1024 pipe_recording_fuzz:2048
  cubin_reader_fuzz:2048 suppressions_fuzz:256)
pieces=80  # processes that share N runs of a target

usage() { printf 'run.sh: %s\n' "$*" >&2; exit 2; }

folder=$1 out='' runs=0 seconds=60 jobs=$(nproc) limit=0 only=''
shift
while [ $# -gt 0 ]; do
  case "$1" in
    --runs | --seconds | --jobs | --limit)
      [[ ${2:-} =~ ^[1-9][0-9]{0,17}$ ]] || usage "$1 takes a number above 0"
      printf -v "${1#--}" %s "$2" ;;
    --only) only=${2:?run.sh: --only takes a target} ;;
    --out) out=${2:?run.sh: --out takes a folder} ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
[ "$folder" != --check ] || exit 0
folder=$(realpath "$folder")
out=$(realpath -m "${out:-$folder}")
if [ -n "$only" ]; then
  mapfile -t targets < <(printf '%s\n' "${targets[@]}" | grep "^$only:")
  [ ${#targets[@]} -eq 1 ] || usage "no target $only"
fi
for target in "${targets[@]}"; do
  [ -x "$folder/bin/${target%:*}" ] || usage "no program $folder/bin/${target%:*}"
done
[ "$limit" -eq 0 ] || deadline=$((SECONDS + limit))

# A finding is run again by hand with a full stack; here each allocation keeping one is a third of all time. A small
# quarantine stays in the cache.
export ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=16
export UBSAN_OPTIONS=print_stacktrace=1
[ ! -d "$folder/lib" ] || export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# Target $1, its log $2, libFuzzer's options and corpora $3... Its artifacts bear its name. Entropic weights would cost
# more than the readers do.
fuzzer() {
  local name=$1 log=$2
  shift 2
  "$folder/bin/$name" -timeout=10 -rss_limit_mb=4096 -entropic=0 -artifact_prefix="$out/found/$name-" "$@" \
    >/dev/null 2>"$out/logs/$log" || true
}

# The seeds of target $1 as they are, then the smallest set of them, cut to $2 bytes, that reaches as much.
prepare() {
  local name=$1 length=$2
  mkdir -p "$out/corpus/$name"
  fuzzer "$name" "$name.seeds" -runs=0 -max_len=1000000 "$folder/seeds/$name"
  [ ! -d "$folder/start/$name" ] || return 0
  mkdir -p "$folder/start/$name"
  fuzzer "$name" "$name.merge" -merge=1 -max_len="$length" "$folder/start/$name" "$folder/seeds/$name" "$out/corpus/$name"
}

# Piece $3 of target $1.
piece() {
  local name=$1 length=$2 end=()
  if [ "$runs" -gt 0 ]; then
    end=(-runs=$((share + $(find "$folder/start/$name" "$out/corpus/$name" -type f | wc -l))))
    [ "$limit" -eq 0 ] || end+=(-max_total_time=$((deadline > SECONDS ? deadline - SECONDS : 1)))
  else
    end=(-max_total_time="$seconds")
  fi
  fuzzer "$name" "$name.piece.$3" -print_final_stats=1 -reload=0 -max_len="$length" "${end[@]}" "$out/corpus/$name" \
    "$folder/start/$name"
}

# Runs "$@" beside what runs already, at most $jobs at a time.
running=0
beside() {
  if [ "$running" -ge "$jobs" ]; then wait -n || true; else running=$((running + 1)); fi
  "$@" &
}

finish() { wait; running=0; }

# Of the logs of target $1: executed inputs less those that were there to begin with. None of a process that was ended
# from outside.
mutated() {
  local log sum=0
  for log in "$out/logs/$1".piece.*; do
    [ ! -f "$log" ] || sum=$((sum + $(awk '
      $2 == "INITED" { before = substr($1, 2) + 0 }
      $1 == "stat::number_of_executed_units:" { all = $2 + 0 }
      END { print (before && all > before ? all - before : 0) }' "$log")))
  done
  printf '%s\n' "$sum"
}

report() {
  local target name count found all=0
  for target in "${targets[@]}"; do
    name=${target%:*}
    count=$(mutated "$name")
    found=$(find "$out/found" -name "$name-*" | wc -l)
    printf '%s: %d runs, %d found\n' "$name" "$count" "$found"
    [ "$found" -eq 0 ] && [ "$count" -gt 0 ] && [ "$count" -ge "$runs" ] || all=1
  done
  return "$all"
}

mkdir -p "$out/found" "$out/logs"
rm -f "$out"/logs/*
for target in "${targets[@]}"; do beside prepare "${target%:*}" "${target#*:}"; done
finish
[ "$runs" -gt 0 ] || pieces=1
share=$(((runs + pieces - 1) / pieces))
for ((number = 0; number < pieces; ++number)); do
  for target in "${targets[@]}"; do
    [ "$limit" -eq 0 ] || [ "$SECONDS" -lt "$deadline" ] || break 2
    beside piece "${target%:*}" "${target#*:}" "$number"
  done
done
finish
report
