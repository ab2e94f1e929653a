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
    """Tells what each module is called: whose child it is, when it becomes that. Which of them runs is read from
    Python's frames at each call that is recorded. Nothing is hooked into the modules' calls: that makes each of them
    slower, and is among what torch.compile compiles for."""

    def __init__(self, torch: Any) -> None:
        self._module = torch.nn.modules.module
        self._helper: Optional[Helper] = None
        self._seen: dict[int, weakref.ref[Any]] = {}  # by id(module)
        self._untold: dict[int, dict[str, tuple[Any, ...]]] = {}  # until there is a helper: its calls, by module
        listen = getattr(self._module, "register_module_module_registration_hook", None)
        if listen is not None:
            listen(lambda parent, name, child: _guarded(self._on_child, parent, name, child))

    def tell(self, helper: Helper) -> None:
        for calls in self._untold.values():
            for call, arguments in calls.items():
                getattr(helper, call)(*arguments)
        self._untold.clear()
        self._helper = helper
        helper.on_unknown_module(lambda: _guarded(self._name_running))

    def _tell(self, call: str, key: int, *arguments: Any) -> None:
        if self._helper is None:
            self._untold.setdefault(key, {})[call] = (key, *arguments)
        else:
            getattr(self._helper, call)(key, *arguments)

    def _see(self, module: Any) -> int:
        key = id(module)
        if key not in self._seen:
            self._seen[key] = weakref.ref(module, lambda _: self._forget(key))
            self._tell("add_module", key, type(module).__name__)
        return key

    def _forget(self, key: int) -> None:
        if self._seen.pop(key, None) is None:
            return
        if self._helper is None:
            self._untold.pop(key, None)  # a program that makes modules and never uses a GPU
        else:
            self._helper.forget_module(key)

    def _on_child(self, parent: Any, name: str, child: Any) -> None:
        if child is not None:
            self._tell("set_parent", self._see(child), self._see(parent), name)

    def _name_running(self) -> None:
        """Modules that came into being in another way: copied, unpickled, put into their parent's table. Those that
        run now are named, with all below them."""
        for frame in sys._current_frames().values():
            roots = [module for module in self._called(frame) if id(module) not in self._seen]
            for root in reversed(roots):  # the outermost first
                self._name_below(root)

    def _called(self, frame: Any) -> list[Any]:
        file, modules = self._module.__file__, []
        while frame is not None:
            if frame.f_code.co_filename == file and frame.f_code.co_name == "_call_impl":
                modules.append(frame.f_locals["self"])
            frame = frame.f_back
        return modules

    def _name_below(self, root: Any) -> None:
        self._see(root)
        for module in root.modules():
            for name, child in module.named_children():
                self._on_child(module, name, child)


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
    global _modules
    if not annotate.active():
        return
    try:
        if torch.version.cuda is None:
            return
        if torch.cuda.is_initialized():
            _say(True, "CUDA was in use before the plug-in came: blocks of its allocator are not known")
            return
        _modules = _Modules(torch)
        torch.cuda._lazy_call(lambda: _guarded(_on_cuda, torch))
    except Exception as error:
        _say(True, f"the plug-in does not know this version ({error!r}): its allocator is not seen")


def pause(on: bool) -> None:
    """Takes out what is called at operators, or puts it in again."""
    if _helper is not None:
        _helper.pause(int(on))


def _guarded(action: Callable[..., None], *arguments: Any) -> None:
    try:
        action(*arguments)
    except Exception as error:
        _say(True, f"the plug-in failed ({error!r}): what its allocator does is not seen")


def _on_cuda(torch: Any) -> None:
    """Right after CUDA was initialised, before the first allocation."""
    global _helper
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
    if _modules is not None:
        _modules.tell(helper)
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
