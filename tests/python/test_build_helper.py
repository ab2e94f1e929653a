"""The helper's build without PyTorch: a compiler that only pretends, a PyTorch that is a few attributes."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile
import textwrap

import pytest

from streamsan import _build_helper

STUB = """
int streamsan_torch_attach_allocator(char* message, unsigned long size) { return 0; }
void streamsan_torch_attach_operators(void) {}
void streamsan_torch_add_module(const void* module, const char* type) {}
void streamsan_torch_set_parent(const void* module, const void* parent, const char* name) {}
void streamsan_torch_forget_module(const void* module) {}
void streamsan_torch_on_unknown_module(void (*unknown)(void)) {}
void streamsan_torch_read_counts(unsigned long* counts) { counts[3] = 5; }
int streamsan_torch_has_python_frames(void) { return 1; }
int streamsan_torch_experiment(const char* name) { return 0; }
void streamsan_torch_pause(int on) {}
int streamsan_torch_attach_host_allocator(void) { return 0; }
void streamsan_torch_host_read(unsigned long base, unsigned long bytes) {}
"""

COMPILER = """#!/bin/sh
echo "$@" >> {log}
sleep 0.3
while [ $# -gt 1 ]; do [ "$1" = -o ] && target=$2; shift; done
{body}
"""

PROGRAM = """
from streamsan import _build_helper
class torch:
    __file__ = {file!r}
    __version__ = "9.9"
    class version: cuda, git_version = "13.0", "abc"
    class _C: pass
helper, trouble = _build_helper.build(torch)
print(trouble or (helper.path, helper.counts().unseen_recordings, helper.has_python_frames))
"""


@pytest.fixture
def build(run_python, tmp_path: pathlib.Path):  # type: ignore[no-untyped-def]
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    (tmp_path / "stub.c").write_text(STUB)
    package = tmp_path / "site" / "torch"
    include = tmp_path / "site" / "nvidia" / "cu13" / "include"
    package.mkdir(parents=True)
    include.mkdir(parents=True)
    (include / "cuda_runtime_api.h").write_text("")
    program = textwrap.dedent(PROGRAM).format(file=str(package / "__init__.py"))

    def run(body: str = "cc -shared -fPIC -o $target {stub}", **environment: str):  # type: ignore[no-untyped-def]
        compiler = tmp_path / "compiler"
        text = COMPILER.format(log=tmp_path / "log", body=body.format(stub=tmp_path / "stub.c"))
        with tempfile.NamedTemporaryFile("w", dir=tmp_path, delete=False) as new:
            new.write(text)
        os.chmod(new.name, 0o700)
        os.replace(new.name, compiler)  # as a whole: another thread's child may be running it
        environment = {"CXX": str(compiler), "CC": str(compiler), "PATH": os.environ["PATH"], **environment}
        return run_python(program, XDG_CACHE_HOME=str(tmp_path / "cache"), **environment)

    return run


def _calls(tmp_path: pathlib.Path) -> int:
    log = tmp_path / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_is_built_once_and_loaded(build, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    first, second = build(), build()
    assert first.stdout.endswith(", 5, True)\n"), first.stdout + first.stderr
    assert second.stdout == first.stdout
    assert _calls(tmp_path) == 2  # the frames, the helper
    assert "building the PyTorch helper" in first.stderr
    assert "building" not in second.stderr


def test_ranks_that_start_together_wait_for_one_build(build, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: build(), range(4)))
    assert len({one.stdout for one in done}) == 1, [one.stderr for one in done]
    assert _calls(tmp_path) == 2


def test_another_compiler_call_is_another_helper(build, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    build()
    build(CXX=f"{tmp_path / 'compiler'} -DOTHER")
    assert _calls(tmp_path) == 4
    assert len(list((tmp_path / "cache" / "streamsan").glob("*.so"))) == 2


def test_what_does_not_compile_is_said(build, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    done = build("echo 'helper.cpp:7: error: no such thing'; exit 1")
    assert done.stdout.startswith("the helper does not compile (helper.cpp:7: error: no such thing)")
    assert not list((tmp_path / "cache" / "streamsan").glob("*.so"))


def test_no_compiler_and_no_cuda_are_said(build, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    empty = tmp_path / "empty"
    empty.mkdir()
    none = build(CXX="/nonexistent/c++", CC="", PATH=str(empty))
    assert "no C++ compiler" in none.stdout, none.stderr
    (tmp_path / "site/nvidia/cu13/include/cuda_runtime_api.h").unlink()
    if _build_helper.cuda_include(str(tmp_path / "site" / "torch"), "13.0") is None:
        assert "CUDA_HOME" in build().stdout


def test_the_compiler_is_not_watched(build, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    body = f"env > {tmp_path}/env; cc -shared -fPIC -o $target {{stub}}"
    build(body, STREAMSAN_SOCKET="@nobody", LD_PRELOAD="")
    names = {line.split("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert "STREAMSAN_SOCKET" not in names
    assert "PYTHONPATH" not in names


@pytest.mark.parametrize("lacks, calls", [("NO_HOST_ALLOCATOR", 3), ("NO_PYTHON_NODES", 4)])
def test_what_a_torch_lacks_the_helper_is_built_without(build, tmp_path: pathlib.Path, lacks: str, calls: int) -> None:  # type: ignore[no-untyped-def]
    last = f"tail -1 {tmp_path}/log"
    body = f"{last} | grep -q helper.cpp && ! {last} | grep -q {lacks} && exit 1; cc -shared -fPIC -o $target {{stub}}"
    done = build(body)
    assert done.stdout.endswith(", 5, True)\n"), done.stdout + done.stderr
    assert _calls(tmp_path) == calls  # the frames, the helper with all, and with ever less
