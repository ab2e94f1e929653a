#!/usr/bin/env python3
"""Checks docs/corpus.md, the list of public bugs, against the litmus files that it promises.

usage: check_corpus.py ROOT [--corpus RECORDS.jsonl]

Each row has a status:
  case        corpus/ID.litmus names the hazard (or is refused), corpus/ID_fixed.litmus expects none;
              ID.pipe and ID_fixed.pipe for what happens inside one kernel
  clean       corpus/ID.litmus expects none (there may be a corpus/ID_racy.litmus, which names a hazard)
  limitation  no file; docs/limitations.md says why
"clean, limitation" is both. With --corpus, the records' ids (one JSON object a line) are compared, too.
"""
import argparse
import json
import pathlib
import re
import sys

ROW = re.compile(r"^\| ([A-Za-z0-9-]+) \| (.+?) \| (.+?) \| (case|clean|limitation|clean, limitation) \| (.*?) ?\|$")
HAZARD = re.compile(r"^expect (race-raw|race-war|race-waw|fill-race|host-race|lifetime|collective-order|"
                    r"collective-mismatch|pipeline-[a-z]+) ", re.M)


def rows_of(text, errors):
    """id -> (link, status, codes) of the table; every line of the table has to be readable."""
    rows = {}
    in_table = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| id ")]
    for line in in_table:
        match = ROW.match(line)
        if not match:
            errors.append(f"docs/corpus.md: not a row: {line[:60]}")
            continue
        ident, link, _, status, codes = match.groups()
        if ident in rows:
            errors.append(f"docs/corpus.md: {ident} is there twice")
        rows[ident] = (link, status, codes)
    return rows


class Files:
    def __init__(self, folder, errors):
        self.texts = {path.stem: path.read_text()
                      for path in folder.iterdir() if path.suffix in (".litmus", ".pipe")}
        self.errors, self.seen = errors, set()

    def hazards(self, name):
        """The codes that a file expects; none for a file that expects none; None without a file."""
        if name not in self.texts:
            self.errors.append(f"corpus/{name}.litmus: missing")
            return None
        self.seen.add(name)
        text = self.texts[name]
        if text.startswith("#!error"):
            return {"refused"}
        codes = set(HAZARD.findall(text))
        if not codes and not re.search(r"^expect none$", text, re.M):
            self.errors.append(f"corpus/{name}.litmus: neither a hazard nor 'expect none'")
        return codes

    def expect_clean(self, name):
        if self.hazards(name):
            self.errors.append(f"corpus/{name}.litmus: has to expect none")

    def check_case(self, ident, stated):
        codes = self.hazards(ident)
        if codes is None:
            return
        if not codes:
            self.errors.append(f"corpus/{ident}.litmus: names no hazard")
        if ", ".join(sorted(codes)) != stated:
            self.errors.append(f"docs/corpus.md: {ident} says '{stated}', the file {sorted(codes)}")
        self.expect_clean(ident + "_fixed")

    def check_clean(self, ident):
        self.expect_clean(ident)
        racy = ident + "_racy"
        if racy in self.texts and not self.hazards(racy):
            self.errors.append(f"corpus/{racy}.litmus: names no hazard")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--corpus", type=pathlib.Path)
    args = parser.parse_args()
    errors = []
    text = (args.root / "docs/corpus.md").read_text()
    rows = rows_of(text, errors)
    count = re.search(r"\b(\d+) records\b", text)
    if not count or int(count.group(1)) != len(rows):
        errors.append(f"docs/corpus.md: says {count and count.group(0)}, and has {len(rows)} rows")
    limits = set(re.findall(r"[A-Za-z0-9-]+", (args.root / "docs/limitations.md").read_text()))
    files = Files(args.root / "tests/litmus/corpus", errors)
    for ident, (link, status, codes) in rows.items():
        if "https://" not in link and link != "synthetic":
            errors.append(f"docs/corpus.md: {ident} has no link")
        if status == "case":
            files.check_case(ident, codes)
        if status.startswith("clean"):
            files.check_clean(ident)
        if status.endswith("limitation") and ident not in limits:
            errors.append(f"docs/limitations.md: does not say why {ident} is no case")
    for name in sorted(set(files.texts) - files.seen):
        errors.append(f"corpus/{name}.litmus: belongs to no row of docs/corpus.md")
    if args.corpus:
        ids = {json.loads(line)["id"] for line in args.corpus.read_text().splitlines() if line.strip()}
        errors += [f"docs/corpus.md: {ident} is missing" for ident in sorted(ids - set(rows))]
        errors += [f"docs/corpus.md: {ident} is no record" for ident in sorted(set(rows) - ids)]
    for error in errors:
        print(error)
    print(f"{len(rows)} records, {len(files.texts)} files, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
