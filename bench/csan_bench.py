#!/usr/bin/env python3
"""torch CSAN's own event handler (torch.cuda._sanitizer.EventHandler) on the recorded operations.

  csan_bench.py ENGINE_BENCH    the engine's benchmark, which also records the operations; RATIO lines last
  csan_bench.py ENGINE_BENCH --omit-waits    workloads with hazards: the handler must see races

Two workloads: the training step (half of its operations are kernels), and launches with three ranges each.

The handler is plain Python and needs no GPU. It is called as torch's own hooks would call it, from one
shallow stack. What it does not know (host threads, queries, record_stream, host accesses) costs it nothing.
Two rates are measured: the handler as it is, and with the call stacks that it takes at every launch and
allocation left out (the engine gets the stacks' numbers with the operations). Each round times both, and the
engine in a process of its own in between, all by the time of one thread.

Exit code 77 where torch cannot be imported: nothing was measured then.
"""

import os
import statistics
import struct
import subprocess
import sys
import time
import traceback

MAGIC = b"SSOPS001"
OP = struct.Struct("<BBHHHIIIIQQ")  # bench/operation_file.h
ACCESS = struct.Struct("<QQBB6x")
OPERATIONS = 100_000
ROUNDS = 3


def op_kinds():
    """The enumerators of OpKind, in order, so that this file cannot silently disagree with the header."""
    header = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "program", "op.h")
    with open(header, encoding="utf-8") as file:
        body = file.read().split("enum class OpKind : uint8_t {")[1].split("};")[0]
    words = []
    for line in body.splitlines():
        words += [word.strip() for word in line.split("//")[0].split(",") if word.strip()]
    return {word: value for value, word in enumerate(words)}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != MAGIC:
        sys.exit(f"csan_bench: {path}: not a file of recorded operations (engine_bench --write makes one)")
    count, access_count = struct.unpack_from("<QQ", data, 8)
    begin = 24
    end = begin + count * OP.size
    ops = list(OP.iter_unpack(data[begin:end]))
    accesses = list(ACCESS.iter_unpack(data[end : end + access_count * ACCESS.size]))
    return ops, accesses


def calls(ops, accesses, kinds):
    """The operations as (method name, arguments); None where the handler has no method."""
    launch = {kinds[k] for k in ("kKernel", "kCopy", "kMemset")}
    alloc = {kinds[k] for k in ("kAlloc", "kAllocAsync")}
    free = {kinds[k] for k in ("kFree", "kFreeAsync")}
    on_event = {kinds["kEventRecord"]: "_handle_event_record", kinds["kStreamWaitEvent"]: "_handle_event_wait"}
    address, made = {}, set()
    result = []
    for kind, touched, _, _, _, stream, what, _, _, _, first in ops:
        if kind in launch:
            read_only, read_write, aliases = set(), set(), {}
            for begin, _, mode, _ in accesses[first : first + touched]:
                (read_write if mode & 2 else read_only).add(begin)
                aliases[begin] = ["self"]
            result.append(("_handle_kernel_launch",
                           (stream, read_only - read_write, read_write, read_write, "aten::add", aliases)))
        elif kind in alloc and touched:
            address[what] = accesses[first][0]
            segment = accesses[first][1] - accesses[first][0] > 1 << 20  # the allocator's own, unseen by CSAN
            result.append(None if segment else ("_handle_memory_allocation", (address[what],)))
        elif kind in free:
            result.append(("_handle_memory_deallocation", (address[what],)))
        elif kind in on_event:
            if what not in made:
                made.add(what)
                result.append(("_handle_event_creation", (what,)))
            result.append((on_event[kind], (what, stream)))
        elif kind == kinds["kEventDestroy"]:
            result.append(("_handle_event_deletion", (what,)))
        elif kind == kinds["kStreamCreate"]:
            result.append(("_handle_stream_creation", (stream,)))
        elif kind == kinds["kStreamSync"]:
            result.append(("_handle_stream_synchronization", (stream,)))
        elif kind == kinds["kEventSync"]:
            result.append(("_handle_event_synchronization", (what,)))
        elif kind == kinds["kDeviceSync"]:
            result.append(("_handle_device_synchronization", ()))
        else:
            result.append(None)
    return [call for call in result if call is not None]


def handler_seconds(sanitizer, todo):
    """Time for all calls and the number of races that the handler saw."""
    handler = sanitizer.EventHandler()
    bound = [(getattr(handler, name), arguments) for name, arguments in todo]
    errors = 0
    start = time.thread_time()
    for method, arguments in bound:
        found = method(*arguments)
        if found:
            errors += len(found)
    return time.thread_time() - start, errors


def without_stacks(sanitizer, todo):
    summary = traceback.StackSummary
    extract = summary.extract
    empty = summary()
    summary.extract = classmethod(lambda *_, **__: empty)
    try:
        return handler_seconds(sanitizer, todo)
    finally:
        summary.extract = extract


def engine_rate(engine, path):
    output = subprocess.run([engine, "--time", path], check=True, capture_output=True, text=True).stdout
    return float(output.split("RATE")[1])


def compare(engine, name, options, sanitizer):
    """RATIO lines of one workload: the handler without and with the stacks that it takes."""
    path = engine + ".operations"
    subprocess.run([engine, "--write", path, str(OPERATIONS), *options], check=True)
    ops, accesses = read(path)
    todo = calls(ops, accesses, op_kinds())
    print(f"{name}: {len(ops)} operations, {len(todo)} calls of the handler")
    whole, bare, engines = [], [], []
    for number in range(ROUNDS):
        seconds, races = handler_seconds(sanitizer, todo)
        whole.append(len(ops) / seconds)
        engines.append(engine_rate(engine, path))
        seconds, _ = without_stacks(sanitizer, todo)
        bare.append(len(ops) / seconds)
        print(f"round {number + 1}: CSAN {whole[-1]:.0f}, without stacks {bare[-1]:.0f}, "
              f"engine {engines[-1]:.0f} operations a second; CSAN saw {races} races", flush=True)
    os.remove(path)
    for what, rates in (("_without_stacks", bare), ("", whole)):
        ratio = statistics.median(engine / csan for engine, csan in zip(engines, rates))
        print(f"RATIO engine_vs_csan_{name}{what} {ratio:.1f}")


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--omit-waits"]):
        print("usage: csan_bench.py ENGINE_BENCH [--omit-waits]", file=sys.stderr)
        return 2
    try:
        import torch
        import torch.cuda._sanitizer as sanitizer
    except ImportError as error:
        print(f"csan_bench: torch cannot be imported, so CSAN was NOT measured: {error}", file=sys.stderr)
        return 77
    print(f"torch {torch.__version__}")
    compare(sys.argv[1], "step", sys.argv[2:], sanitizer)
    compare(sys.argv[1], "launches", ["--launches", *sys.argv[2:]], sanitizer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
