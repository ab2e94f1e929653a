"""What a program may tell StreamSan that the driver's interface cannot show (streamsan/annotate.h).

Every function does nothing where the tool is absent, so programs may leave the calls in. Pointers are
addresses (``tensor.data_ptr()``), sizes bytes, streams ``cudaStream_t`` values
(``torch.cuda.current_stream().cuda_stream``; 0 is the legacy default stream).
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
from collections.abc import Iterator
from typing import Any, Optional

__all__ = [
    "Mode",
    "access",
    "acquire",
    "active",
    "buffer",
    "device_flag",
    "fill",
    "host_access",
    "host_pool_alloc",
    "in_pool",
    "kernel_access",
    "mark",
    "pause",
    "plug_in",
    "pool_alloc",
    "pool_free",
    "pool_record_use",
    "release",
    "stream_name",
    "tensor",
    "thread_name",
]

_POINTER, _SIZE, _U32, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_char_p


class Mode(enum.IntEnum):
    """How memory is touched."""

    READ = 1
    WRITE = 2
    READ_WRITE = 3
    ATOMIC = 4


class _Table(ctypes.Structure):
    """streamsan_table, the part of it that is used here. It only ever grows at its end."""

    _fields_ = [
        ("size", _U32),
        ("version", _U32),
        ("buffer", ctypes.CFUNCTYPE(None, _POINTER, _SIZE, _TEXT)),
        ("kernel_access", ctypes.CFUNCTYPE(None, _POINTER, _U32, _U32)),
        ("access", ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _SIZE, _U32)),
        ("host_access", ctypes.CFUNCTYPE(None, _POINTER, _SIZE, _U32)),
        ("release", ctypes.CFUNCTYPE(None, _POINTER)),
        ("acquire", ctypes.CFUNCTYPE(None, _POINTER)),
        ("pool_alloc", ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _SIZE, _POINTER)),
        ("pool_free", ctypes.CFUNCTYPE(None, _POINTER, _POINTER)),
        ("pool_record_use", ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER)),
        ("fill", ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _SIZE)),
        ("device_flag", ctypes.CFUNCTYPE(None, _POINTER, _SIZE)),
        ("stream_name", ctypes.CFUNCTYPE(None, _POINTER, _TEXT)),
        ("thread_name", ctypes.CFUNCTYPE(None, _TEXT)),
        ("pool_enter", ctypes.CFUNCTYPE(None, _POINTER)),
        ("pool_leave", ctypes.CFUNCTYPE(None, _POINTER)),
        ("text", ctypes.CFUNCTYPE(ctypes.c_uint64, _TEXT)),
        ("thread_context", ctypes.CFUNCTYPE(_POINTER)),
        ("plug_in", ctypes.CFUNCTYPE(None, _U32, _TEXT)),
        ("mark", ctypes.CFUNCTYPE(_U32, ctypes.c_uint64)),
        ("host_pool_alloc", ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _SIZE)),
        ("pause", ctypes.CFUNCTYPE(None, _U32)),
        ("operator_tensors", ctypes.CFUNCTYPE(None, _POINTER, _U32, _U32)),
        ("watch_context", ctypes.CFUNCTYPE(None, _POINTER)),
        ("wants_stacks", ctypes.CFUNCTYPE(_U32)),
    ]


def _find() -> Optional[_Table]:
    try:
        table = _Table.in_dll(ctypes.CDLL(None), "streamsan_annotate_table_v1")
    except (ValueError, OSError):
        return None
    return table


_table = _find()


def active() -> bool:
    """True where the capture library is in this process."""
    return _table is not None


def _call(name: str, *arguments: Any) -> Any:
    if _table is None or _table.size <= getattr(_Table, name).offset:
        return None
    return getattr(_table, name)(*arguments)


def buffer(base: int, size: int, name: str) -> None:
    """Gives [base, base + size) a name in reports."""
    _call("buffer", base, size, name.encode())


def tensor(value: Any, name: str) -> None:
    """Names the memory of a CUDA tensor (anything with ``data_ptr``, ``numel`` and ``element_size``)."""
    _call("buffer", value.data_ptr(), value.numel() * value.element_size(), name.encode())


def kernel_access(function: int, parameter_offset: int, mode: Mode) -> None:
    """Kernel `function` (CUfunction) uses the pointer at that byte of its parameters in `mode`."""
    _call("kernel_access", function, parameter_offset, mode)


def access(stream: int, base: int, size: int, mode: Mode) -> None:
    """The next operation that this thread queues on `stream` touches exactly [base, base + size)."""
    _call("access", stream, base, size, mode)


def host_access(base: int, size: int, mode: Mode) -> None:
    """The CPU touches [base, base + size) now, in this thread."""
    _call("host_access", base, size, mode)


def release(tag: int) -> None:
    """What this thread knows here is known after a later acquire of the tag, by whatever thread."""
    _call("release", tag)


def acquire(tag: int) -> None:
    """See :func:`release`."""
    _call("acquire", tag)


def pool_alloc(pool: int, base: int, size: int, stream: int) -> None:
    """A custom caching allocator gives out a block that belongs to `stream`."""
    _call("pool_alloc", pool, base, size, stream)


def host_pool_alloc(pool: int, base: int, size: int) -> None:
    """The same for a caching allocator of pinned memory, whose blocks belong to no stream."""
    _call("host_pool_alloc", pool, base, size)


def pool_free(pool: int, base: int) -> None:
    """The last reference is dropped: the block may be handed out again at once to its owner stream."""
    _call("pool_free", pool, base)


def pool_record_use(pool: int, base: int, stream: int) -> None:
    """The allocator was told that `stream` uses the block."""
    _call("pool_record_use", pool, base, stream)


@contextlib.contextmanager
def in_pool(pool: int) -> Iterator[None]:
    """This thread runs the allocator's own code: an event that it queries orders nothing else."""
    _call("pool_enter", pool)
    try:
        yield
    finally:
        _call("pool_leave", pool)


def fill(stream: int, base: int, size: int) -> None:
    """The next operation of this thread on `stream` is the allocator's own initialising write."""
    _call("fill", stream, base, size)


def device_flag(base: int, size: int) -> None:
    """Device code synchronises through this memory: findings on it are at most `possible`."""
    _call("device_flag", base, size)


def stream_name(stream: int, name: str) -> None:
    """Gives a stream a name in reports."""
    _call("stream_name", stream, name.encode())


def plug_in(gap: bool, text: str) -> None:
    """A framework's plug-in says what it sees or, with `gap`, what it cannot: that makes the report's
    coverage incomplete."""
    _call("plug_in", int(gap), text.encode())


def mark(token: int) -> bool:
    """Asks `streamsan run` what it has found up to here: use ``streamsan.session().report()``. False: nothing
    was recorded of this process."""
    return bool(_call("mark", token))


def pause(on: bool) -> None:
    """Records nothing from here on (False: again): use ``streamsan.session().paused()``."""
    _call("pause", int(on))


def thread_name(name: str) -> None:
    """Gives this thread a name in reports."""
    _call("thread_name", name.encode())
