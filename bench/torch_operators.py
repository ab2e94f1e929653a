"""What an operator costs the program's thread: a training step on the CPU, with nothing attached, with a callback that does
nothing (PyTorch's own part), with the helper's, and with two records written in each, with the operators' call stacks.
Needs no GPU: only the operators' part of the helper is attached. STREAMSAN_OPTIONS=stacks=0 for records without stacks.

    LD_LIBRARY_PATH=build/release/lib/vgpu PYTHONPATH=python streamsan run -- python bench/torch_operators.py

The turns alternate; of each kind the lowest fifth's upper end counts, in time of the thread. `RATIO name value` last.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator

import torch
from empty_callback import NOTHING, RECORD, EmptyCallback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "incidents", "pytorch", "programs"))
import parts  # noqa: E402

from streamsan import _build_helper, _torch  # noqa: E402


def training_steps() -> Callable[[], None]:
    torch.manual_seed(0)
    model = parts.Model(10, 16, 6)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    tokens = torch.randint(10, (1, 9))

    def steps() -> None:
        for _ in range(3):
            loss = parts.loss_of(model, tokens)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return steps


def loop(operator: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(200):
            operator()

    return run


def workloads() -> dict[str, Callable[[], None]]:
    x, several = torch.zeros(4, 4), [torch.zeros(4) for _ in range(4)]
    return {
        "training step": training_steps(),
        "relu_": loop(x.relu_),
        "add": loop(lambda: x + x),
        "view": loop(lambda: x.view(2, 8)),
        "mm": loop(lambda: x @ x),
        "sum": loop(lambda: x.sum(1)),
        "cat": loop(lambda: torch.cat(several)),
    }


def timed(work: Callable[[], None]) -> float:
    begin = time.thread_time_ns()
    work()
    return float(time.thread_time_ns() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=100, help="of each kind")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ctypes.CDLL("libcuda.so.1").cuInit(0)  # the driver is in use, as it would be
    empty = EmptyCallback(torch)
    helper, trouble = _build_helper.build(torch)
    if helper is None:
        sys.exit(f"torch_operators: {trouble}")
    helper.attach_operators()
    _torch._Modules(torch).tell(helper)

    @contextlib.contextmanager
    def attached() -> Iterator[None]:
        helper.pause(0)
        try:
            yield
        finally:
            helper.pause(1)

    @contextlib.contextmanager
    def beside(kind: int) -> Iterator[None]:
        with attached(), empty.attached(kind=kind):
            yield

    helper.pause(1)
    kinds = {
        "nothing": contextlib.nullcontext,
        "empty": empty.attached,
        "empty, with arguments": lambda: empty.attached(arguments=True),
        "helper": attached,
        "helper beside empty": lambda: beside(NOTHING),  # then it hears all
        "and two records": lambda: beside(RECORD),
    }
    print("nanoseconds that an operator is longer with", *list(kinds)[1:], sep=" | ")
    for name, work in workloads().items():
        for _ in range(3):
            work()
        with attached():
            work()
        operators = empty.operators_of(work)
        times: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(options.turns):
            for kind, context in kinds.items():
                with context():
                    times[kind].append(timed(work))
        lowest = {kind: sorted(values)[len(values) // 5] for kind, values in times.items()}
        added = {kind: (value - lowest["nothing"]) / operators for kind, value in lowest.items()}
        print(f"{name} ({operators} operators, {lowest['nothing'] / operators:.0f} ns each)",
              *(f"{added[kind]:.0f}" for kind in list(kinds)[1:]), sep=" | ", flush=True)  # fmt: skip
        if name == "training step":
            ratios = added
    print(f"RATIO torch_record_ns {(ratios['and two records'] - ratios['helper beside empty']) / 2:.0f}")
    print(f"RATIO torch_operator_empty_callback_ns {ratios['empty']:.0f}")
    print(f"RATIO torch_operator_own_ns {ratios['helper'] - ratios['empty']:.0f}")
    print(f"RATIO torch_operator_vs_empty_callback {ratios['helper'] / ratios['empty']:.2f}")


if __name__ == "__main__":
    main()
