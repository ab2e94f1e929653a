#!/usr/bin/env python3
"""Stands in for `nvdisasm -b` where there is none: knows the code of the fixture's two kernels, in any order.

What it prints for each is a listing of the real program, committed beside the cubin (regenerate.sh), with the
addresses moved to where the kernel lies in the file.
"""
import pathlib
import re
import struct
import sys

FIXTURES = pathlib.Path(__file__).resolve().parent / "fixtures"


def sections(cubin):
    offset, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, offset + i * size) for i in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        yield cubin[start:cubin.index(b"\0", start)].decode(), cubin[header[4]:header[4] + header[5]]


def moved(line, base):
    line = re.sub(r"/\*([0-9a-f]{4,})\*/", lambda m: f"/*{int(m[1], 16) + base:04x}*/", line, count=1)
    return re.sub(r"\bBRA 0x([0-9a-f]+)", lambda m: f"BRA {int(m[1], 16) + base:#x}", line)


def main():
    code = pathlib.Path(sys.argv[-1]).read_bytes()
    known = {data: name[len(".text."):]
             for name, data in sections((FIXTURES / "kernels_sm90.cubin").read_bytes())
             if name.startswith(".text.")}
    at = 0
    while at < len(code):
        found = next((data for data in known if code.startswith(data, at)), None)
        if found is None:
            sys.exit(f"{sys.argv[0]}: {sys.argv[-1]}@byte {at}: not a kernel of the fixture")
        for line in (FIXTURES / f"{known[found]}_sm90.raw").read_text().splitlines():
            if at == 0 or "/*" in line:
                print(moved(line, at))
        at += len(found)


if __name__ == "__main__":
    main()
