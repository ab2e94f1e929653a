#!/usr/bin/env python3
"""sass.py SOURCE_DIR WORK_DIR: safe_kernel and hand_kernel of sass.cu have as many instructions of each kind.

Exit 77 (skipped) without nvcc or nvdisasm; STREAMSAN_NVDISASM names the latter.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig


def find(name, variable):
    """A program: named by the environment, in PATH, in the usual toolkit, in NVIDIA's package of this Python."""
    packages = pathlib.Path(sysconfig.get_path("purelib"), "nvidia")
    usual = [pathlib.Path("/usr/local/cuda/bin", name), *sorted(packages.glob(f"*/bin/{name}"))]
    return os.environ.get(variable) or shutil.which(name) or next((path for path in usual if path.exists()), None)


def instructions(listing):
    """Per kernel: how many instructions of each opcode, operands left out."""
    kernels, current = {}, None
    for line in listing.splitlines():
        if section := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            current = kernels.setdefault(section[1], collections.Counter())
        elif (code := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", line)) and current is not None:
            current[code[1]] += 1
    return kernels


def main():
    source, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    nvcc, nvdisasm = find("nvcc", "STREAMSAN_NVCC"), find("nvdisasm", "STREAMSAN_NVDISASM")
    if not nvcc or not nvdisasm:
        print("skipped: no", "nvcc" if not nvcc else "nvdisasm (Python package nvidia-cuda-nvdisasm)")
        return 77
    cubin = work / "sass.cubin"
    subprocess.run(
        [nvcc, "-std=c++20", "-O2", "-cubin", "-gencode", "arch=compute_90,code=sm_90", "-I", source, "-I",
         source / "include", source / "tests/safe/sass.cu", "-o", cubin], check=True)
    listing = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True, text=True).stdout
    kernels = instructions(listing)
    safe, hand = kernels["safe_kernel"], kernels["hand_kernel"]
    # Padding behind the end is no instruction of the kernel.
    for kernel in (safe, hand):
        kernel.pop("NOP", None)
    print(f"safe {sum(safe.values())} instructions, by hand {sum(hand.values())}")
    for opcode in sorted(set(safe) | set(hand)):
        if safe[opcode] != hand[opcode]:
            print(f"  {opcode}: {safe[opcode]} and {hand[opcode]}")
    return 0 if sum(hand.values()) > 100 and safe.total() == hand.total() else 1


sys.exit(main())
