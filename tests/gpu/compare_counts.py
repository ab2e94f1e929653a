#!/usr/bin/env python3
"""Holds the capture library's counts per driver function against CUPTI's for the same process.

compare_counts.py CUPTI_FILE DUMP_FILE [--tables src/capture]
  CUPTI_FILE  lines "name count" of cupti_counts.cc
  DUMP_FILE   output of `streamsan dump` of the same process's trace

Prints every function of the hook table that either side saw; exits 1 when one differs that is not explained.
Two differences are expected and printed as such: what is called before CUPTI is loaded, and what the driver
calls for itself.
"""
import argparse
import pathlib
import re
import sys

# Before the driver loads CUPTI nothing is counted there.
BEFORE_CUPTI = {"cuInit", "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetProcAddress_v2_ptsz"}


def cupti_counts(path):
    counts = {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        name, count = line.split()
        counts[name] = counts.get(name, 0) + int(count)
    return counts


def own_counts(path):
    """The last Counters record, its ids resolved by the Text records."""
    texts, pairs = {}, []
    for line in path.read_text(errors="replace").splitlines():
        text = re.search(r"\bText text_id=(\S+) text=\"(.*)\"", line)
        if text:
            texts[int(text[1], 0)] = text[2]
        counters = re.search(r"\bCounters counts=\[?([^\]]*)\]?", line)
        if counters:
            pairs = [int(word, 0) for word in re.findall(r"0x[0-9a-fA-F]+|\d+", counters[1])]
    return {texts[pairs[i]]: pairs[i + 1] for i in range(0, len(pairs) - 1, 2)}


def hooked(tables):
    rows = re.findall(r"^(?:MODELLED|COUNTED)\((\w+),", (tables / "hooks.def").read_text(), re.M)
    return set(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cupti", type=pathlib.Path)
    parser.add_argument("dump", type=pathlib.Path)
    parser.add_argument("--tables", type=pathlib.Path, default=pathlib.Path("src/capture"))
    options = parser.parse_args()
    theirs, ours = cupti_counts(options.cupti), own_counts(options.dump)
    if not ours:
        sys.exit(f"{options.dump}: no Counters record")
    names = sorted((set(theirs) | set(ours)) & hooked(options.tables))
    different = 0
    print(f"{'function':44} {'streamsan':>10} {'CUPTI':>10}")
    for name in names:
        own, other = ours.get(name, 0), theirs.get(name, 0)
        note = ""
        if own != other:
            expected = name in BEFORE_CUPTI and own > other
            note = "before CUPTI was loaded" if expected else "DIFFERENT"
            different += not expected
        print(f"{name:44} {own:10} {other:10} {note}")
    print(f"{len(names)} functions, {sum(ours.get(n, 0) for n in names)} calls, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
