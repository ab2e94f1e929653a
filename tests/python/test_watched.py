"""Programs that use the driver's interface through ctypes, on the virtual GPU, under `streamsan run`."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
import textwrap

import pytest

import streamsan

DRIVER = '''
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
P, U = ctypes.c_void_p, ctypes.c_uint64

def check(result):
    assert result == 0, result

def begin():
    context = P()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))

def stream():
    handle = P()
    check(cuda.cuStreamCreate(ctypes.byref(handle), 1))
    return handle

def alloc(size=4096):
    address = U()
    check(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
    return address

def race():
    """Two streams write one block, in no order."""
    block = alloc()
    for queue in (stream(), stream()):
        check(cuda.cuMemsetD8Async(block, ctypes.c_ubyte(1), ctypes.c_size_t(4096), queue))

def no_race():
    block, queue = alloc(), stream()
    for _ in range(2):
        check(cuda.cuMemsetD8Async(block, ctypes.c_ubyte(1), ctypes.c_size_t(4096), queue))
'''


def _vgpu() -> str:
    library = streamsan.installation().capture_library
    assert library
    return os.path.join(os.path.dirname(os.path.realpath(library)), "vgpu")


needs_vgpu = pytest.mark.skipif(
    not os.path.exists(os.path.join(_vgpu(), "libcuda.so.1")), reason="no virtual GPU in this installation"
)


@pytest.fixture
def watched(run_python, command, python_path, tmp_path):  # type: ignore[no-untyped-def]
    (tmp_path / "driver.py").write_text(DRIVER)

    def run(text, *options):  # type: ignore[no-untyped-def]
        return run_python(
            "from driver import *\nbegin()\n" + textwrap.dedent(text),
            before=(command, "run", *options, "--"),
            PYTHONPATH=f"{python_path}:{tmp_path}",
            LD_LIBRARY_PATH=_vgpu(),
        )

    return run


@needs_vgpu
def test_a_program_asks_what_was_found(watched) -> None:  # type: ignore[no-untyped-def]
    text = """
        import streamsan
        session = streamsan.session()
        print(session.active, session.answers, len(session.report()))
        streamsan.assert_clean()
        race()
        report = session.report()
        print([hazard.code for hazard in report], report.hazards[0].first.op > 0)
        print(len(session.report()))
        try:
            streamsan.assert_clean()
        except streamsan.HazardsFound as error:
            print("race-waw" in str(error), len(error.report))
    """
    done = watched(text)
    assert done.stdout.splitlines() == ["True True 0", "['race-waw'] True", "1", "True 1"], done.stderr
    assert done.returncode == 66


@needs_vgpu
def test_annotations_reach_the_report(watched) -> None:  # type: ignore[no-untyped-def]
    text = """
        from streamsan import annotate, session
        block, queues = alloc(), [stream(), stream()]
        annotate.buffer(block.value, 4096, "the block")
        for number, queue in enumerate(queues):
            annotate.stream_name(queue.value, f"queue {number}")
            check(cuda.cuMemsetD8Async(block, ctypes.c_ubyte(1), ctypes.c_size_t(4096), queue))
        hazard = session().report().hazards[0]
        print(hazard.buffer.name, hazard.first.lane, hazard.second.lane, sep=",")
    """
    done = watched(text)
    assert done.stdout.strip() == "the block,queue 0,queue 1", done.stderr


PINNED = """
    from streamsan import annotate, session
    pinned, device, queue = U(), alloc(), stream()
    check(cuda.cuMemHostAlloc(ctypes.byref(pinned), ctypes.c_size_t(4096), 0))
    def block(record):
        annotate.host_pool_alloc(7, pinned.value, 4096)
        annotate.host_access(pinned.value, 4096, annotate.Mode.WRITE)
        check(cuda.cuMemcpyHtoDAsync_v2(device, ctypes.c_void_p(pinned.value), ctypes.c_size_t(4096), queue))
        if record:
            annotate.pool_record_use(7, pinned.value, queue.value)
    def show():
        print([(hazard.code, hazard.confidence) for hazard in session().report()])
"""


@needs_vgpu
@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("block(False); annotate.pool_free(7, pinned.value)", "[('lifetime', 'certain')]"),
        ("block(True); annotate.pool_free(7, pinned.value); block(True)", "[]"),
        ("block(True); annotate.host_access(pinned.value, 8, annotate.Mode.WRITE)", "[('host-race', 'certain')]"),
        ("block(True); annotate.host_access(pinned.value, 8, annotate.Mode.READ)", "[]"),
        ("block(True); cuda.cuStreamSynchronize(queue); annotate.host_access(pinned.value, 8, annotate.Mode.WRITE)", "[]"),
    ],
    ids=["unrecorded", "recorded", "overwritten", "read-too", "waited"],
)
def test_pinned_memory_of_a_caching_allocator(watched, rest, found) -> None:  # type: ignore[no-untyped-def]
    done = watched(textwrap.dedent(PINNED) + rest + "\nshow()\n")
    assert done.stdout.strip() == found, done.stderr


@needs_vgpu
def test_what_a_framework_says_is_in_names_and_stacks(watched) -> None:  # type: ignore[no-untyped-def]
    text = """
        from streamsan import annotate, session
        text = lambda words: annotate._call("text", words)
        context = (ctypes.c_uint64 * 4).from_address(annotate._call("thread_context"))
        context[:] = [text(b"aten::zero_"), 0, text(b"layers.3"), text(b"main\\nmodel.py\\n17")]
        race()
        context[:] = [0, 0, 0, 0]
        check(cuda.cuMemsetD8Async(alloc(), ctypes.c_ubyte(1), ctypes.c_size_t(4096), stream()))
        site = session().report().hazards[0].first
        print(site.name, site.stack[0].fn, site.stack[0], site.stack[1].fn, len(site.stack) > 2, sep=",")
    """
    done = watched(text)
    assert done.stdout.strip() == "aten::zero_,main,model.py:17,module layers.3,True", done.stderr
    assert "model.py:17" in done.stderr, "the report names the program's line"


@pytest.fixture
def frames_library(tmp_path: pathlib.Path) -> str:
    """The part of the PyTorch helper that reads Python's frames, by itself."""
    include = sysconfig.get_path("include")
    if not shutil.which("cc") or not os.path.exists(os.path.join(include, "Python.h")):
        pytest.skip("no C compiler, or no headers of this Python")
    package = pathlib.Path(streamsan.__file__).parent
    stub = tmp_path / "stub.c"
    module_text = "unsigned long streamsan_torch_module_text(const void* module) { return (unsigned long)module; }"
    stub.write_text(f"int streamsan_torch_forked = 0, streamsan_torch_places = 1;\n{module_text}\n")
    library = str(tmp_path / "frames.so")
    words = ["cc", "-shared", "-fPIC", "-O2", "-DSTREAMSAN_PYTHON_FRAMES", f"-I{include}", f"-I{package / 'include'}"]
    subprocess.run([*words, str(package / "_torch_frames.c"), str(stub), "-o", library], check=True)
    return library


PLACE = """
    from streamsan import annotate
    class Place(ctypes.Structure):
        _fields_ = [("line", ctypes.c_uint64), ("module", ctypes.c_uint64)]
    place = ctypes.{load}({library!r}).streamsan_torch_python_place
    place.restype = Place

    def text(function, line):
        words = function + chr(10) + __file__ + chr(10) + str(line)
        return annotate._call("text", words.encode())
"""
with_and_without_the_gil = pytest.mark.parametrize("load", ["PyDLL", "CDLL"], ids=["with the GIL", "without"])


@needs_vgpu
@with_and_without_the_gil
def test_the_programs_line_is_read_from_the_interpreter(watched, frames_library, load) -> None:  # type: ignore[no-untyped-def]
    text = """
        class Model:
            def forward(self):
                return place().line

        def framework(call):
            return call()
        # A frame of the framework is passed over: what it was called from counts.
        inside = eval(compile("lambda: place().line", "/x/torch/nn/functional.py", "eval"))
        def called():
            return inside()

        here = [place().line for _ in range(2)]
        first = text("Model.forward", Model.forward.__code__.co_firstlineno + 1)
        second = text("called", called.__code__.co_firstlineno + 1)
        print(Model().forward() == first != 0, framework(called) == second != 0, here[0] == here[1] != first)
    """
    done = watched(textwrap.dedent(PLACE.format(load=load, library=frames_library)) + textwrap.dedent(text))
    assert done.stdout.strip() == "True True True", done.stderr


@needs_vgpu
@with_and_without_the_gil
def test_the_innermost_module_is_read_from_the_interpreter(watched, frames_library, load) -> None:  # type: ignore[no-untyped-def]
    text = """
        # As PyTorch has it: the way to forward() where there are hooks keeps `self` in a cell.
        source = (
            "class Module:\\n"
            "    def _wrapped_call_impl(self, x): return self._call_impl(x)\\n"
            "    def _call_impl(self, x): return (lambda: self.forward(x))()\\n"
            "    __call__ = _wrapped_call_impl\\n"
            "class Hookless(Module):\\n"
            "    def __call__(self, x): return self._quick_call_impl(x)\\n"
            "    def _quick_call_impl(self, x): return self.forward(x)\\n"
        )
        exec(compile(source, "/x/torch/nn/modules/module.py", "exec"))

        class Inner(Hookless):
            def forward(self, x):
                return place().module
        class Outer(Module):
            def __init__(self):
                self.inner = Inner()
            def forward(self, x):
                return place().module, self.inner(x), place().module
        outer = Outer()
        print(outer(1) == (id(outer), id(outer.inner), id(outer)), place().module, outer.forward(1)[0])
    """
    done = watched(textwrap.dedent(PLACE.format(load=load, library=frames_library)) + textwrap.dedent(text))
    assert done.stdout.strip() == "True 0 0", done.stderr


@needs_vgpu
def test_a_framework_is_asked_what_a_thread_does_when_it_calls(watched) -> None:  # type: ignore[no-untyped-def]
    text = """
        from streamsan import annotate, session
        text = lambda words: annotate._call("text", words)
        @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint64))
        def refresh(context):
            context[3] = text(b"main\\nmodel.py\\n%d" % line)
        annotate._call("watch_context", ctypes.cast(refresh, ctypes.c_void_p))
        block, queues = alloc(), [stream(), stream()]
        for line in (3, 4):
            check(cuda.cuMemsetD8Async(block, ctypes.c_ubyte(1), ctypes.c_size_t(4096), queues[line % 2]))
        annotate._call("watch_context", None)
        hazard = session().report().hazards[0]
        print(hazard.first.stack[0], hazard.second.stack[0], sep=",")
    """
    done = watched(text)
    assert done.stdout.strip() == "model.py:3,model.py:4", done.stderr


@needs_vgpu
def test_plug_ins_gaps_are_in_the_coverage(watched) -> None:  # type: ignore[no-untyped-def]
    done = watched("import streamsan; streamsan.annotate.plug_in(True, 'half of it is unseen')")
    assert "half of it is unseen" in done.stderr
    done = watched("import streamsan; streamsan.annotate.plug_in(False, 'all of it')", "--require-coverage")
    assert "all of it" not in done.stderr
    assert done.returncode == 0


@needs_vgpu
def test_what_is_done_in_a_pause_is_not_judged(watched) -> None:  # type: ignore[no-untyped-def]
    text = """
        import streamsan
        session = streamsan.session()
        with session.paused():
            race()
        print(len(session.report()))
        race()
        print(len(session.report()))
    """
    done = watched(text)
    assert done.stdout.split() == ["0", "1"], done.stderr
    assert "recording was paused by the program" in done.stderr
    assert "INCOMPLETE" in done.stderr


@needs_vgpu
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)", ""], ids=["killed", "left", "ended"])
def test_a_program_that_is_killed_leaves_what_it_was_at(watched, tmp_path, end) -> None:  # type: ignore[no-untyped-def]
    text = f"""
        import os, json
        from streamsan import annotate
        block, one, other = alloc(), stream(), stream()
        annotate.stream_name(one.value, "seen")
        annotate.stream_name(other.value, "unseen")
        check(cuda.cuMemsetD8Async(block, ctypes.c_ubyte(1), ctypes.c_size_t(64), one))
        check(cuda.cuStreamSynchronize(one))
        check(cuda.cuMemsetD8Async(U(block.value + 64), ctypes.c_ubyte(1), ctypes.c_size_t(64), other))
        {end}
    """
    report = tmp_path / "report.json"
    watched(text, "--format", "json", "--report", str(report))
    running = json.loads(report.read_text())["running"]
    assert [site["lane"] for site in running] == ([] if end == "" else ["unseen"])
    said = watched(text).stderr
    assert ("not seen to be over" in said) == (end != "")


@needs_vgpu
def test_recording_answers_nobody(run_python, command, python_path, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "driver.py").write_text(DRIVER)
    text = """
        from driver import *
        import streamsan
        begin(); race()
        streamsan.assert_clean()
        print(streamsan.session().active, streamsan.session().answers)
    """
    done = run_python(
        textwrap.dedent(text),
        before=(command, "record", "-o", str(tmp_path / "run.sst"), "--"),
        PYTHONPATH=f"{python_path}:{tmp_path}",
        LD_LIBRARY_PATH=_vgpu(),
    )
    assert done.stdout.split() == ["True", "False"], done.stderr
    assert [hazard.code for hazard in streamsan.check(tmp_path / "run.sst")] == ["race-waw"]


@needs_vgpu
def test_no_answer_folder_is_left_behind(watched, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    done = watched("import os, streamsan; streamsan.session().report(); print(os.environ['STREAMSAN_ANSWERS'])")
    folder = done.stdout.strip()
    assert folder and not os.path.exists(folder), done.stderr


PYTEST_FILE = """
import driver

def setup_module():
    driver.begin()

def test_clean():
    driver.no_race()

def test_racy():
    driver.race()

def test_clean_again():
    driver.no_race()

def test_fails_by_itself():
    assert 1 == 2
"""


@needs_vgpu
def test_pytest_fails_the_test_that_raced(pytester: pytest.Pytester, monkeypatch, python_path) -> None:  # type: ignore[no-untyped-def]
    pytester.makepyfile(driver=DRIVER, test_it=PYTEST_FILE)
    monkeypatch.setenv("PYTHONPATH", f"{python_path}:{pytester.path}")
    monkeypatch.setenv("LD_LIBRARY_PATH", _vgpu())
    plugin = () if _is_installed() else ("-p", "streamsan.pytest_plugin")
    result = pytester.runpytest_subprocess("-v", *plugin, "--streamsan")
    result.stdout.fnmatch_lines(
        [
            "*test_clean PASSED*",
            "*test_racy FAILED*",
            "*test_clean_again PASSED*",
            "*test_fails_by_itself FAILED*",
            "*StreamSan: 1 new hazard: race-waw H1*",
            "*2 failed, 2 passed*",
        ]
    )
    assert result.ret == 1


LATE_FILE = """
import ctypes
from driver import *
from streamsan import annotate

begin()
memory, owner, other = alloc(), stream(), stream()

def test_frees_too_early():
    annotate.pool_alloc(7, memory.value, 4096, owner.value)
    check(cuda.cuMemsetD8Async(memory, ctypes.c_ubyte(1), ctypes.c_size_t(4096), other))
    annotate.pool_free(7, memory.value)

def test_allocates():
    annotate.pool_alloc(7, memory.value, 4096, owner.value)
"""


@needs_vgpu
def test_pytest_names_the_test_that_freed_too_early(pytester: pytest.Pytester, monkeypatch, python_path) -> None:  # type: ignore[no-untyped-def]
    pytester.makepyfile(driver=DRIVER, test_late=LATE_FILE)
    monkeypatch.setenv("PYTHONPATH", f"{python_path}:{pytester.path}")
    monkeypatch.setenv("LD_LIBRARY_PATH", _vgpu())
    plugin = () if _is_installed() else ("-p", "streamsan.pytest_plugin")
    result = pytester.runpytest_subprocess("-v", *plugin, "--streamsan")
    result.stdout.fnmatch_lines(
        [
            "*test_frees_too_early PASSED*",
            "*test_allocates PASSED*",
            "*StreamSan: caused by test_late.py::test_frees_too_early, found in test_late.py::test_allocates*",
            "*StreamSan: 1 new hazard: lifetime H1*",
            "*2 passed*",
        ]
    )
    assert result.ret == 1


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(point.value == "streamsan.pytest_plugin" for point in entry_points(group="pytest11"))
