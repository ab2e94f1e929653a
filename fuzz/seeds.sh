#!/usr/bin/env bash
# fuzz/seeds.sh FOLDER: real files for each libFuzzer target, under FOLDER/TARGET. From anywhere.
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Copies files $2... into the folder of target $1, each under a name of its own.
seed() {
  local target=$1 file
  shift
  mkdir -p "$out/$target"
  for file in "$@"; do cp "$file" "$out/$target/${file//\//_}"; done
}

files() { git ls-files "$@"; }

mapfile -t litmus < <(files 'tests/litmus/*.litmus')
mapfile -t pipes < <(files 'tests/litmus/*.pipe')
mapfile -t traces < <(find tests/gpu_traces -name '*.sst' -size -16k)
seed litmus_parser_fuzz "${litmus[@]}"
seed pipe_parser_fuzz "${pipes[@]}"
python3 fuzz/pieces.py trace "$out/trace_reader_fuzz" "${traces[@]}"
# A newer version's schema, a record that only it knows with a field of each type, and one with a field too many.
{
  printf 'n900 Future U64:a I64:b WORDS:c TEXT:d BLOB:e PTR:f\n101 CaptureEnd U64:s U64:c U64:g U64:r U64:k U64:more\n\0'
  printf '\204\007\017\001\001\005\003\002\006\007\002ab\002\001\377\011\145\010\001\001\001\001\001\001\001\001'
} >"$out/trace_reader_fuzz/newer"
printf 'c\003\005\007' >"$out/trace_reader_fuzz/note"
mapfile -t recordings < <(files 'tests/pipeline/recordings/*.sslog')
seed pipe_recording_fuzz "${recordings[@]}"

fixtures=tests/kernels/fixtures
seed cubin_reader_fuzz $fixtures/*.fatbin
seed sass_fuzz tests/fuzz/sass/*.sass  # those: what was found before
for file in "$fixtures"/{tma,more}_sm*.cubin.zst; do
  zstd -qdf "$file" -o "$out/cubin_reader_fuzz/$(basename "$file" .zst)"
done
python3 fuzz/pieces.py cubin "$out/cubin_reader_fuzz" "$out"/cubin_reader_fuzz/*.cubin
# One function each: mutations of a whole module would mostly be of what was read already. The first byte is the target's.
for file in "$fixtures"/*_sm*.sass.zst; do
  zstd -qdc "$file" | awk -v name="$out/sass_fuzz/$(basename "$file" .sass.zst)" '
    /\.section[ \t]+\.text\./ { if (to) close(to); to = name "." ++n; lines = 0; printf "e" > to }
    to && ++lines < 400 { print > to }'
done
for file in "$fixtures"/*.raw.zst; do
  zstd -qdc "$file" | awk 'BEGIN { printf "r" } NR <= 300' >"$out/sass_fuzz/$(basename "$file" .zst)"
done

seed suppressions_fuzz tests/fuzz/suppressions/*.supp
