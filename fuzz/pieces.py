#!/usr/bin/env python3
"""fuzz/pieces.py trace|cubin OUT FILE...: small seeds out of large files, which mutations would rarely hit twice.

A trace becomes pieces of its blocks' content, as fuzz/trace_reader_fuzz.cc takes them; a cubin one module for each
of its kernels.
"""
import pathlib
import struct
import subprocess
import sys

PIECE_BYTES = 400
TEXT_BYTES = 32


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def blocks(trace):
    """The unpacked content of each block; src/trace/format.h has the form."""
    at = 24 + struct.unpack_from("<I", trace, 16)[0]
    while at < len(trace):
        raw_bytes, stored_bytes = struct.unpack_from("<II", trace, at + 16)
        stored = trace[at + 48 : at + 48 + stored_bytes]
        at += 48 + stored_bytes
        if stored_bytes < raw_bytes:
            stored = subprocess.run(["zstd", "-dqc"], input=stored, stdout=subprocess.PIPE, check=True).stdout
        yield stored


def records(content):
    at = 0
    while at < len(content):
        _, begin = varint(content, at)
        length, begin = varint(content, begin)
        yield content[at : begin + length]
        at = begin + length


def trace_pieces(trace):
    yield b"f" + trace
    yield b"b" + trace[24 + struct.unpack_from("<I", trace, 16)[0] :]
    for content in blocks(trace):
        piece = b"c"
        for record in records(content):
            if len(piece) + len(record) > PIECE_BYTES and len(piece) > 1:
                yield piece
                piece = b"c"
            piece += record
        yield piece


class Table:
    """A string table under construction."""

    def __init__(self):
        self.text = b"\0"

    def add(self, name):
        self.text += name + b"\0"
        return len(self.text) - len(name) - 1


def sections(cubin):
    offset, count, names = struct.unpack_from("<Q", cubin, 40)[0], *struct.unpack_from("<HH", cubin, 60)
    headers = [list(struct.unpack_from("<IIQQQQIIQQ", cubin, offset + 64 * i)) for i in range(count)]
    table = headers[names][4]
    for header in headers:
        header[0] = cubin[table + header[0] : cubin.index(b"\0", table + header[0])]
    return headers


def content(cubin, header):
    return b"" if header[1] in (0, 8) else cubin[header[4] : header[4] + header[5]]


def module(cubin, headers, kept):
    """A cubin with the sections of numbers `kept` alone; of machine code only the beginning."""
    number = {old: new for new, old in enumerate(kept)}
    names, strings, bodies = Table(), Table(), {}
    for old in kept:
        header, body = headers[old], content(cubin, headers[old])
        if header[0] == b".symtab":
            old_strings, body = headers[header[6]][4], b""
            for at in range(header[4], header[4] + header[5], 24):
                name, info, other, section, value, size = struct.unpack_from("<IBBHQQ", cubin, at)
                if section in number:
                    text = cubin[old_strings + name : cubin.index(b"\0", old_strings + name)]
                    body += struct.pack("<IBBHQQ", strings.add(text), info, other, number[section], value, size)
        bodies[old] = body[:TEXT_BYTES] if header[0].startswith(b".text.") else body
    places = {old: names.add(headers[old][0]) for old in kept}
    out, table = b"", b""
    for old in kept:
        header = headers[old]
        body = {b".shstrtab": names.text, b".strtab": strings.text}.get(header[0], bodies[old])
        link, info = (number.get(value, 0) for value in header[6:8])
        table += struct.pack("<IIQQQQIIQQ", places[old], *header[1:4], 64 + len(out), len(body), link, info, *header[8:])
        out += body
    head = bytearray(cubin[:64])
    struct.pack_into("<QQ", head, 32, 0, 64 + len(out))
    struct.pack_into("<HHHH", head, 56, 0, 64, len(kept), kept.index(struct.unpack_from("<H", cubin, 62)[0]))
    return bytes(head) + out + table


def cubin_pieces(cubin):
    headers = sections(cubin)
    shared = {b"", b".shstrtab", b".strtab", b".symtab"}
    for header in headers:
        if not header[0].startswith(b".text."):
            continue
        kernel = header[0][len(b".text") :]
        kept = [i for i, one in enumerate(headers) if one[0] in shared or one[0].endswith(kernel)]
        yield module(cubin, headers, kept)


def main():
    kind, out, *files = sys.argv[1:]
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    for file in map(pathlib.Path, files):
        pieces = {"trace": trace_pieces, "cubin": cubin_pieces}[kind](file.read_bytes())
        for number, piece in enumerate(pieces):
            pathlib.Path(out, f"{file.stem}.{number}").write_bytes(piece)


main()
