"""Builds the PyTorch helper (_torch_helper.cpp) against the PyTorch that is installed, once, and loads it.

It lies in $XDG_CACHE_HOME/streamsan (~/.cache/streamsan), by a hash of everything that went into it. Ranks of
one job that start together wait for one build. No ninja, no setuptools: one compiler call a file.
"""

from __future__ import annotations

import ctypes
import fcntl
import glob
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any, Callable, Optional

_HERE = os.path.dirname(os.path.abspath(__file__))
_SOURCES = (
    "_torch_allocator.h",
    "_torch_arguments.h",
    "_torch_callers.h",
    "_torch_context.h",
    "_torch_experiment.h",
    "_torch_forwards.h",
    "_torch_frames.c",
    "_torch_got.h",
    "_torch_heard.h",
    "_torch_helper.cpp",
    "_torch_helper.h",
    "_torch_host_accesses.h",
    "_torch_host_allocator.h",
    "_torch_lists.h",
    "_torch_modules.h",
    "_torch_nodes.h",
    "_torch_operators.h",
    "_torch_pinned.h",
    "_torch_schema.h",
    "_torch_table.h",
    "_torch_tensors.h",
    "_torch_unheard.h",
)
_TIMEOUT = 600  # seconds of one compiler call


class _Counts(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "allocations",
            "frees",
            "recordings",
            "unseen_recordings",
            "fills",
            "out_of_memory",
            "host_allocations",
            "unknown_host_blocks",
            "host_accesses",
        )
    ]


class Helper:
    """The loaded library. Names as in _torch_helper.h."""

    def __init__(self, path: str) -> None:
        # PyDLL: the calls are short and must not release the GIL.
        library = ctypes.PyDLL(path)
        self.path = path
        self.attach_allocator = library.streamsan_torch_attach_allocator
        self.attach_allocator.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.attach_operators = library.streamsan_torch_attach_operators
        self.attach_operators.restype = None
        self.pause = library.streamsan_torch_pause
        self.pause.argtypes = [ctypes.c_int]
        self.pause.restype = None
        self.experiment = library.streamsan_torch_experiment
        self.experiment.argtypes = [ctypes.c_char_p]
        self.attach_host_allocator = library.streamsan_torch_attach_host_allocator
        self.host_read = library.streamsan_torch_host_read
        self.host_read.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        self.host_read.restype = None
        self._add_module = library.streamsan_torch_add_module
        self._add_module.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._add_module.restype = None
        self._set_parent = library.streamsan_torch_set_parent
        self._set_parent.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p]
        self._set_parent.restype = None
        self._forget_module = library.streamsan_torch_forget_module
        self._forget_module.argtypes = [ctypes.c_void_p]
        self._forget_module.restype = None
        self._on_unknown_module = library.streamsan_torch_on_unknown_module
        self._on_unknown_module.restype = None
        self._read_counts = library.streamsan_torch_read_counts
        self._read_counts.restype = None
        self.has_python_frames = bool(library.streamsan_torch_has_python_frames())

    def add_module(self, module: int, kind: str) -> None:
        """That an nn.Module is there, by its id, and what its class is called."""
        self._add_module(module, kind.encode())

    def set_parent(self, module: int, parent: int, name: str) -> None:
        self._set_parent(module, parent, name.encode())

    def forget_module(self, module: int) -> None:
        self._forget_module(module)

    def on_unknown_module(self, action: Callable[[], None]) -> None:
        """`action` runs in the main thread, soon after a module ran that was not added."""
        self._unknown = ctypes.PYFUNCTYPE(None)(action)
        self._on_unknown_module(self._unknown)

    def counts(self) -> _Counts:
        counts = _Counts()
        self._read_counts(ctypes.byref(counts))
        return counts


def cuda_include(torch_folder: str, cuda_version: str) -> Optional[str]:
    """Where cuda_runtime_api.h is: a toolkit, or the packages that PyTorch's own wheels depend on."""
    site = os.path.dirname(torch_folder)
    candidates = [
        os.path.join(os.environ.get("CUDA_HOME", "/nonexistent"), "include"),
        os.path.join(site, "nvidia", "cu" + cuda_version.split(".")[0], "include"),
        os.path.join(site, "nvidia", "cuda_runtime", "include"),
        "/usr/local/cuda/include",
        *sorted(glob.glob("/usr/local/cuda-*/include"), reverse=True),
    ]
    nvcc = shutil.which("nvcc")
    if nvcc:
        folder = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
        candidates.append(os.path.join(folder, "include"))
    for folder in candidates:
        if os.path.exists(os.path.join(folder, "cuda_runtime_api.h")):
            return folder
    return None


def _annotate_include() -> Optional[str]:
    for folder in (os.path.join(_HERE, "include"), os.path.join(_HERE, "..", "..", "include")):
        if os.path.exists(os.path.join(folder, "streamsan", "annotate.h")):
            return folder
    return None


def _compilers() -> Optional[tuple[str, str]]:
    for cxx, cc in ((os.environ.get("CXX"), os.environ.get("CC")), ("g++", "gcc"), ("c++", "cc"), ("clang++", "clang")):
        if cxx and shutil.which(shlex.split(cxx)[0]):
            return cxx, cc if cc and shutil.which(shlex.split(cc)[0]) else cxx
    return None


def _environment() -> dict[str, str]:
    """The compiler is not watched."""
    own = ("LD_PRELOAD", "STREAMSAN_SOCKET", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if name not in own}


def _run(command: list[str]) -> tuple[bool, str]:
    try:
        done = subprocess.run(
            command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    return done.returncode == 0, done.stdout


def _cache_folder() -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(home, "streamsan")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="streamsan-")  # a read-only home: built anew in every process


class _Plan:
    """The compiler calls, and the key of what comes out of them."""

    def __init__(self, torch: Any, compilers: tuple[str, str], cuda: str, annotate: str) -> None:
        folder = os.path.dirname(os.path.abspath(torch.__file__))
        libraries = os.path.join(folder, "lib")
        cxx, cc = (shlex.split(word) for word in compilers)
        self.frames = [
            *cc, "-O2", "-fPIC", "-fvisibility=hidden", f"-I{annotate}", f"-I{sysconfig.get_path('include')}",
            "-c", os.path.join(_HERE, "_torch_frames.c"),
        ]
        abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
        # NDEBUG: as PyTorch itself is built; classes of its headers have other members without.
        self.helper = [
            *cxx, "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-w",
            f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
            "-isystem", os.path.join(folder, "include"), "-isystem", cuda, f"-I{annotate}",
            "-isystem", sysconfig.get_path("include"), os.path.join(_HERE, "_torch_helper.cpp"),
        ]
        self.link = [f"-L{libraries}", "-lc10", "-lc10_cuda", "-ltorch_cpu", f"-Wl,-rpath,{libraries}", "-ldl"]
        self.version = str(torch.__version__)
        words = [self.version, str(torch.version.git_version), sys.version, *self.frames, *self.helper, *self.link]
        digest = hashlib.sha256("\0".join(words).encode())
        for name in (*_SOURCES, os.path.join(annotate, "streamsan", "annotate.h")):
            with open(os.path.join(_HERE, name), "rb") as file:
                digest.update(file.read())
        self.key = f"torch-{self.version}-{digest.hexdigest()[:16]}"


# What a PyTorch or a Python may lack, from nothing to all of it: its pinned memory's allocator; what nodes of
# autograd's graph that are written in Python look like.
_HOST, _NODES = "-DSTREAMSAN_NO_HOST_ALLOCATOR", "-DSTREAMSAN_NO_PYTHON_NODES"
_WITHOUT = ((), (_HOST,), (_NODES,), (_HOST, _NODES))


def _compile(plan: _Plan, target: str) -> str:
    """Makes `target`; "" or what went wrong."""
    print(f"StreamSan: building the PyTorch helper, once for PyTorch {plan.version}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as folder:
        frames = os.path.join(folder, "frames.o")
        good, _ = _run([*plan.frames, "-DSTREAMSAN_PYTHON_FRAMES", "-o", frames])
        if not good:  # no headers of this Python, or a version that is not known
            good, said = _run([*plan.frames, "-o", frames])
            if not good:
                return said
        library = os.path.join(folder, "helper.so")
        link = [frames, "-o", library, *plan.link]
        for without in _WITHOUT:
            good, said = _run([*plan.helper, *without, *link])
            if good:
                break
        else:
            return said
        os.replace(library, target)
    return ""


def build(torch: Any) -> tuple[Optional[Helper], str]:
    """The helper, or None and why there is none."""
    compilers = _compilers()
    if compilers is None:
        return None, "there is no C++ compiler to build the helper (install g++, or set CXX)"
    folder = os.path.dirname(os.path.abspath(torch.__file__))
    cuda = cuda_include(folder, str(torch.version.cuda))
    if cuda is None:
        return None, "cuda_runtime_api.h was not found to build the helper (set CUDA_HOME)"
    annotate = _annotate_include()
    if annotate is None:
        return None, "streamsan/annotate.h is missing from this installation"
    plan = _Plan(torch, compilers, cuda, annotate)
    cache = _cache_folder()
    target = os.path.join(cache, plan.key + ".so")
    with open(os.path.join(cache, plan.key + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        trouble = "" if os.path.exists(target) else _compile(plan, target)
    if trouble:
        first = next((line for line in trouble.splitlines() if "error" in line), trouble.strip()[:200])
        return None, f"the helper does not compile ({first})"
    try:
        return Helper(target), ""
    except (OSError, AttributeError) as error:
        return None, f"the helper does not load ({error})"
