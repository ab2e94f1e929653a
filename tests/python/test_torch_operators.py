"""The part of the PyTorch helper that needs no GPU: what operators say of the driver calls inside them. With the Python
that STREAMSAN_TORCH_PYTHON names, which has a PyTorch for CUDA; the calls go to the virtual GPU."""

from __future__ import annotations

import os
import subprocess
import textwrap

import pytest
from test_watched import DRIVER, _vgpu, needs_vgpu

TORCH_PYTHON = os.environ.get("STREAMSAN_TORCH_PYTHON", "")

pytestmark = [needs_vgpu, pytest.mark.skipif(not TORCH_PYTHON, reason="STREAMSAN_TORCH_PYTHON is not set")]

PROGRAM = """
import torch
from driver import *
from streamsan import _build_helper, _torch, session

begin()
helper, trouble = _build_helper.build(torch)
assert helper, trouble
helper.attach_operators()
_torch._Modules(torch).tell(helper)
memory, queues = alloc(), [stream(), stream()]

def touch(queue):
    check(cuda.cuMemsetD8Async(memory, ctypes.c_ubyte(1), ctypes.c_size_t(4096), queues[queue]))

class Touch(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        touch(0)
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        result = Spread.apply(gradient)
        return result

class Spread(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        touch(1)
        return x * 2

class Layer(torch.nn.Module):
    def forward(self, x):
        return Touch.apply(x + 1)  # the forward line

model = torch.nn.Sequential(torch.nn.Linear(2, 2), Layer())

def show(places):
    for place in places:
        modules = [frame.fn for frame in place.stack if (frame.fn or "").startswith("module ")]
        print(place.name, str(place.stack[0]).split("/")[-1], *modules, sep="|")
"""


@pytest.fixture
def run(run_python, command, python_path, tmp_path):  # type: ignore[no-untyped-def]
    (tmp_path / "driver.py").write_text(DRIVER)

    def go(text: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        before = (command, "run", "--", TORCH_PYTHON)
        program = PROGRAM + textwrap.dedent(text)
        path = f"{python_path}:{tmp_path}"
        environment.update(PYTHONPATH=path, LD_LIBRARY_PATH=_vgpu())
        done = run_python(program, before=before, interpreter=(), **environment)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return go


def test_forward_and_backward_are_named(run) -> None:  # type: ignore[no-untyped-def]
    text = """
        model(torch.ones(2, requires_grad=True)).sum().backward()
        hazard = session().report().hazards[0]
        show([hazard.first, hazard.second])
    """
    first, second = run(text).stdout.splitlines()
    lines = PROGRAM.splitlines()
    forward, backward = ([f"program.py:{at + 1}" for at, line in enumerate(lines) if words in line][0]
                         for words in ("# the forward line", "Spread.apply"))  # fmt: skip
    assert first == f"Touch|{forward}|module 1"
    assert second == f"Spread (backward of Touch)|{backward}|module 1"


# Calls the driver inside the operators that PyTorch's own kernels of forward and backward call.
INSIDE = """
from torch.utils._python_dispatch import TorchDispatchMode

class Inside(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.expand.default and torch._C._current_graph_task_id() == -1:
            touch(0)
        if func is torch.ops.aten.sum.dim_IntList:  # in the backward of expand
            touch(1)
        return func(*args, **(kwargs or {}))

def work(heard):
    x = torch.ones(1, 3, requires_grad=True)
    with Inside(), heard:
        x.expand_as(torch.ones(4, 3)).sum().backward()  # the line
"""


@pytest.mark.parametrize(
    "heard",
    ["contextlib.nullcontext()", "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])"],
    ids=["alone", "beside a profiler"],
)
def test_views_and_operators_made_of_others_name_their_backward(run, heard) -> None:  # type: ignore[no-untyped-def]
    text = f"""
        import contextlib
        heard = {heard}
        work(heard)
        hazard = session().report().hazards[0]
        show([hazard.first, hazard.second])
        if hasattr(heard, "events"):
            print(*sorted({{event.name for event in heard.events()}} & {{"aten::expand_as", "aten::expand", "aten::sum"}}))
    """
    printed = run(textwrap.dedent(INSIDE) + textwrap.dedent(text)).stdout.splitlines()
    line = [at + 1 for at, words in enumerate((PROGRAM + INSIDE).splitlines()) if "# the line" in words][0]
    scope = "PythonDispatchMode"  # PyTorch's own, around what the mode does
    assert printed[:2] == [f"{scope}|program.py:{line}", f"{scope} (backward of aten::expand_as)|program.py:{line}"]
    assert printed[2:] == ([] if "nullcontext" in heard else ["aten::expand aten::expand_as aten::sum"])


# Operators whose CPU kernels call the driver: at their begin, and after an operator inside them is over.
KERNELS = """
library = torch.library.Library("aten", "IMPL")

def sinh(x):
    touch(0)
    return x.clone()

def cosh(x):
    result = x.clone()
    touch(1)
    return result

library.impl("sinh", sinh, "CPU")
library.impl("cosh", cosh, "CPU")
x = torch.ones(3)
"""


@pytest.mark.parametrize("text, names", [
    ("x.sinh(); x.cosh()", ["aten::sinh", "aten::cosh"]),
    ("x.sinh(); touch(1)", ["aten::sinh", "memset"]),
    ("torch.ops.aten.sinh(x); torch.ops.aten.cosh(x)", ["aten::sinh", "aten::cosh"]),
    ("x.cos(); [touch(0) for _ in range(1)]; x.cosh()", ["memset", "aten::cosh"]),
    ("x.requires_grad_(); x.sinh().sum().backward()", ["aten::sinh", "aten::cosh (backward of aten::sinh)"]),
], ids=["inside", "after", "boxed", "between", "with a gradient"])  # fmt: skip
def test_a_call_has_the_name_of_the_innermost_operator_that_runs(run, text: str, names: list[str]) -> None:  # type: ignore[no-untyped-def]
    show = "hazard = session().report().hazards[0]\nprint(hazard.first.name, hazard.second.name, sep='|')\n"
    assert run(KERNELS + text + "\n" + show).stdout.splitlines() == ["|".join(names)]


def test_a_copied_model_is_named_once_it_has_run(run) -> None:  # type: ignore[no-untyped-def]
    text = """
        import copy
        twin = copy.deepcopy(model)
        for _ in range(2):
            check(cuda.cuStreamSynchronize(queues[0]))
            twin(torch.ones(2, requires_grad=True))
        touch(1)
        show([session().report().hazards[0].first])
    """
    assert run(text).stdout.split("|")[-1].strip() == "module 1"


def test_without_stacks_there_are_names_and_no_lines(run) -> None:  # type: ignore[no-untyped-def]
    text = """
        model(torch.ones(2, requires_grad=True)).sum().backward()
        hazard = session().report().hazards[0]
        print(hazard.first.name, hazard.second.name, len(hazard.first.stack) + len(hazard.second.stack), sep="|")
    """
    assert run(text, STREAMSAN_OPTIONS="stacks=0").stdout.strip() == "Touch|TouchBackward (backward of Touch)|0"
