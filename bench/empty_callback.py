"""The floor under what hearing of operators costs: a RecordFunction callback that does nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

NOTHING, COUNT, RECORD = range(3)
HERE = os.path.dirname(os.path.abspath(__file__))


def _compile(torch: Any, target: str) -> None:
    folder = os.path.dirname(os.path.abspath(torch.__file__))
    abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    command = [
        os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-w",
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}", "-isystem", os.path.join(folder, "include"),
        "-I", os.path.join(HERE, "..", "include"), os.path.join(HERE, "empty_callback.cc"), "-o", target,
        f"-L{folder}/lib", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{folder}/lib",
    ]  # fmt: skip
    unwatched = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(command, check=True, env=unwatched)


class EmptyCallback:
    def __init__(self, torch: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            _compile(torch, os.path.join(folder, "empty_callback.so"))
            self._library = ctypes.PyDLL(os.path.join(folder, "empty_callback.so"))
        self._library.empty_callback_attach.restype = ctypes.c_uint64
        self._library.empty_callback_detach.argtypes = [ctypes.c_uint64]
        self._library.empty_callback_count.restype = ctypes.c_uint64

    @contextlib.contextmanager
    def attached(self, arguments: bool = False, kind: int = NOTHING) -> Iterator[None]:
        handle = self._library.empty_callback_attach(int(arguments), kind)
        try:
            yield
        finally:
            self._library.empty_callback_detach(handle)

    def operators_of(self, work: Callable[[], None]) -> int:
        """How many operators and nodes of autograd's graph `work` runs, those inside others included."""
        with self.attached(kind=COUNT):
            self._library.empty_callback_count()
            work()
            return int(self._library.empty_callback_count())
