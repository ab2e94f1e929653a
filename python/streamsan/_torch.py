"""Attaches StreamSan to PyTorch in a watched program: when torch is imported, and fully when it initialises
CUDA. Nothing of PyTorch's behaviour changes; whatever goes wrong here is said and the program goes on."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import sys
import threading
import weakref
from typing import Any, Callable, Optional

from . import annotate
from ._build_helper import Helper, build


class _Modules:
    """Tells what each module is called: the path of the attribute names below the outermost module that was
    called, known when that one is called first. Which of them runs is read from Python's frames at each operator."""

    def __init__(self, torch: Any, helper: Helper) -> None:
        self._hooks = torch.nn.modules.module
        self._compiling = torch.compiler.is_compiling
        self._helper = helper
        self._named: dict[int, weakref.ref[Any]] = {}  # by id(module)
        self._watching: Any = None
        self.watch(True)

    def watch(self, on: bool) -> None:
        if self._watching is not None:
            self._watching.remove()
        self._watching = self._hooks.register_module_forward_pre_hook(self._hook()) if on else None

    def _hook(self) -> Callable[[Any, Any], None]:
        compiling, named, name_below = self._compiling, self._named, self._name_below

        def enter(module: Any, _inputs: Any) -> None:
            if compiling() or id(module) in named:
                return
            name_below(module)

        return enter

    def _name_below(self, root: Any) -> None:
        for path, module in root.named_modules():
            self._helper.name_module(module, path or type(module).__name__)
            key = id(module)
            self._named[key] = weakref.ref(module, lambda _, key=key: self._named.pop(key, None))


_state = ""
_helper: Optional[Helper] = None
_modules: Optional[_Modules] = None
_attaching = threading.Lock()


def state() -> str:
    """What is attached, in words; "" where nothing is."""
    return _state


def _say(gap: bool, text: str) -> None:
    global _state
    _state = f"{_state}; {text}" if _state else text
    annotate.plug_in(gap, f"PyTorch: {text}")
    if gap:
        print(f"StreamSan: PyTorch: {text}", file=sys.stderr)


def attach(torch: Any) -> None:
    """Arranges for the rest to happen when `torch` initialises CUDA. Says so where that is over."""
    if not annotate.active():
        return
    try:
        if torch.version.cuda is None:
            return
        if torch.cuda.is_initialized():
            _say(True, "CUDA was in use before the plug-in came: blocks of its allocator are not known")
            return
        torch.cuda._lazy_call(lambda: _guarded(_on_cuda, torch))
    except Exception as error:
        _say(True, f"the plug-in does not know this version ({error!r}): its allocator is not seen")


def pause(on: bool) -> None:
    """Takes out what is called at operators and modules, or puts it in again."""
    if _helper is not None:
        _helper.pause(int(on))
    if _modules is not None:
        _modules.watch(not on)


def _guarded(action: Callable[[Any], None], torch: Any) -> None:
    try:
        action(torch)
    except Exception as error:
        _say(True, f"the plug-in failed ({error!r}): what its allocator does is not seen")


def _on_cuda(torch: Any) -> None:
    """Right after CUDA was initialised, before the first allocation."""
    global _helper, _modules
    with _attaching:
        if _helper is not None:
            return
        helper, trouble = build(torch)
        if helper is None:
            _say(True, f"{trouble}: what its allocator does is not seen, operators have no names")
            return
        _helper = helper
    experiment = os.environ.get("STREAMSAN_ALLOCATOR", "")  # streamsan run --allocator
    if experiment and helper.experiment(experiment.encode()) < 0:
        _say(True, f"--allocator={experiment} is not known")
    message = ctypes.create_string_buffer(256)
    attached = helper.attach_allocator(message, len(message))
    if attached < 0:
        _say(True, f"{message.value.decode()}: what its allocator does is not seen")
    else:
        _say(False, "cudaMallocAsync" if attached == 1 else "caching allocator")
    if experiment:
        natively = attached == 0
        _say(not natively, f"freed memory: {experiment}" if natively else "--allocator needs the caching allocator")
    if helper.attach_host_allocator() < 0:
        _say(True, "the allocator of pinned memory is not seen: its reuse is not judged")
    helper.attach_operators()
    _say(False, "operators" if helper.has_python_frames else "operators, without Python lines and modules")
    _modules = _Modules(torch, helper)
    _watch_reads(torch, helper)
    atexit.register(_guarded, _at_exit, helper)


def _at_exit(helper: Helper) -> None:
    counts = helper.counts()
    if counts.unseen_recordings:
        _say(True, f"{counts.unseen_recordings} blocks waited for streams that were recorded unseen")
    if counts.unknown_host_blocks:
        _say(True, f"{counts.unknown_host_blocks} pinned blocks whose end cannot be seen")


def _watch_reads(torch: Any, helper: Helper) -> None:
    """Methods that hand a tensor's memory to Python without an operator: the CPU reads it there."""

    def wrap(name: str) -> None:
        plain = getattr(torch.Tensor, name)

        @functools.wraps(plain)
        def read(self: Any, *arguments: Any, **named: Any) -> Any:
            plainly = type(self) is torch.Tensor and self.is_cpu and self.layout is torch.strided
            if plainly and not torch.compiler.is_compiling():
                helper.host_read(self.data_ptr(), self.nbytes)
            return plain(self, *arguments, **named)

        setattr(torch.Tensor, name, read)

    for name in ("numpy", "tolist"):
        wrap(name)
