#!/usr/bin/env python3
"""Every function of cuda.h about streams, events, graphs or memory is intercepted, or ignored for a reason.

Reads the prototypes as the compiler sees them (three ways: plain, per-thread default stream, all old
versions), hooks.def and ignored.def. Also checks what cuGetProcAddress would call each row against
cudaTypedefs.h, where the toolkit has it.
"""
import argparse
import pathlib
import re
import subprocess
import sys

VIEWS = ([], ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"], ["-D__CUDA_API_VERSION_INTERNAL"])
# A function is ours to decide about if a parameter has one of these types or if its name begins so.
TYPES = re.compile(
    r"\b(CUstream|CUevent|CUgraph\w*|CUdeviceptr\w*|CUmemoryPool|CUmemGenericAllocationHandle\w*|CUipc\w+"
    r"|CUarray|CUmipmappedArray|CUlaunchConfig|CUDA_MEMCPY\w+|CUexternal\w+|CUhostFn|CUtensorMap"
    r"|CUtexObject|CUsurfObject|CUtexref|CUsurfref|CUgreenCtx)\b")
NAMES = re.compile(
    r"cu(Mem|Stream|Event|Graph|Launch|Ctx|Ipc|Multicast|Array|Mipmapped|Signal|Wait|Import|External"
    r"|Destroy|TensorMap|Pointer|UserObject|Checkpoint|GreenCtx|DevicePrimaryCtx|FlushGPU|Init$"
    r"|GetProcAddress|ModuleUnload|LibraryUnload)")
# Exported by drivers, and in cuda.h only as inline functions or not at all.
NOT_IN_HEADER = {"cuGetProcAddress_ptsz", "cuGetProcAddress_v2_ptsz"}
SUFFIX = re.compile(r"^(cu\w+?)(?:_v(\d))?(_ptsz|_ptds)?$")


def preprocess(compiler, header, defines):
    command = [compiler, "-E", "-P", "-x", "c", *defines, str(header)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def prototypes(compiler, header):
    found = {}
    for defines in VIEWS:
        text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", preprocess(compiler, header, defines))
        for match in re.finditer(r"\bCUresult\s+(cu\w+)\s*\(([^;{]*)\)\s*;", text, re.S):
            found[match[1]] = " ".join(match[2].split())
    return found


def header_version(header):
    return int(re.search(r"#define\s+CUDA_VERSION\s+(\d+)", header.read_text())[1])


def split(symbol):
    match = SUFFIX.match(symbol)
    return match[1], int(match[2] or 1), bool(match[3])


def read_hooks(path):
    row = re.compile(r"^(MODELLED|COUNTED)\((\w+), (\w+), (\d+), ([01]), (.+)\)$")
    return read_rows(path, row, ("MODELLED", "COUNTED"))


def read_ignored(path):
    return read_rows(path, re.compile(r'^(IGNORED)\((\w+), ("[^"]+")\)$'), ("IGNORED",))


def read_rows(path, pattern, kinds):
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.startswith(kinds):
            continue
        match = pattern.match(line)
        if not match:
            sys.exit(f"{path}:{number}: not a row: {line}")
        rows.append(match.groups())
    return rows


def known_versions(compiler, header):
    """(base, per-thread) -> CUDA versions in which its ABI changed, oldest first."""
    text = preprocess(compiler, header, ["-D__CUDA_API_VERSION_INTERNAL"])
    versions = {}
    for match in re.finditer(r"PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)", text):
        versions.setdefault((match[1], bool(match[3])), set()).add(int(match[2]))
    return {key: sorted(value) for key, value in versions.items()}


def check_versions(hooks, prototypes_, versions, cuda_version):
    """The n-th exported form of a function is the n-th of its typedefs."""
    exported = {}
    for symbol in prototypes_:
        base, form, threaded = split(symbol)
        exported.setdefault((base, threaded), []).append(form)
    for _, symbol, base, since, threaded, _ in hooks:
        own_base, form, own_threaded = split(symbol)
        if (own_base, own_threaded) != (base, threaded == "1"):
            yield f"{symbol}: its base and per_thread columns say {base}, {threaded}"
            continue
        key = (base, own_threaded)
        if symbol in NOT_IN_HEADER or int(since) > cuda_version or key not in versions:
            continue
        forms = sorted(exported.get(key, []))
        if form not in forms or len(forms) != len(versions[key]):
            yield f"{symbol}: {len(forms)} forms in cuda.h, {len(versions[key])} in cudaTypedefs.h"
        elif versions[key][forms.index(form)] != int(since):
            yield f"{symbol}: since {since}, cudaTypedefs.h says {versions[key][forms.index(form)]}"


def check_coverage(prototypes_, hooks, ignored, cuda_version):
    listed = [row[1] for row in hooks] + [row[1] for row in ignored]
    for symbol in sorted({s for s in listed if listed.count(s) > 1}):
        yield f"{symbol}: listed twice"
    since = {row[1]: int(row[3]) for row in hooks}
    for symbol in listed:
        newer = since.get(symbol, 0) > cuda_version
        if symbol not in prototypes_ and symbol not in NOT_IN_HEADER and not newer and symbol in since:
            yield f"{symbol}: listed, and not in this cuda.h ({cuda_version})"
    for symbol in sorted(prototypes_):
        ours = TYPES.search(prototypes_[symbol]) or NAMES.match(symbol)
        if ours and symbol not in listed:
            yield (f"{symbol}({prototypes_[symbol]}): neither in hooks.def nor in ignored.def; "
                   "add a row, at least COUNTED or IGNORED with the reason")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=pathlib.Path, required=True, help="folder of cuda.h")
    parser.add_argument("--tables", type=pathlib.Path, required=True, help="folder of hooks.def")
    parser.add_argument("--compiler", default="cc")
    options = parser.parse_args()
    header = options.include / "cuda.h"
    version = header_version(header)
    found = prototypes(options.compiler, header)
    if len(found) < 300:
        sys.exit(f"{header}: only {len(found)} prototypes understood")
    hooks = read_hooks(options.tables / "hooks.def")
    ignored = read_ignored(options.tables / "ignored.def")
    errors = list(check_coverage(found, hooks, ignored, version))
    typedefs = options.include / "cudaTypedefs.h"
    if typedefs.exists():
        errors += check_versions(hooks, found, known_versions(options.compiler, typedefs), version)
    for error in errors:
        print(error)
    modelled = sum(row[0] == "MODELLED" for row in hooks)
    print(f"cuda.h {version}: {len(found)} functions; {modelled} modelled, "
          f"{len(hooks) - modelled} counted, {len(ignored)} ignored; {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
