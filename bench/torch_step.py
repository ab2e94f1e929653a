"""What being watched costs a launch-bound training step: recording paused and not, in turn, in one process; and, beside it,
what a callback for operators that does nothing costs.

    streamsan run -- python bench/torch_step.py            # with call stacks
    STREAMSAN_OPTIONS=stacks=0 streamsan run -- python bench/torch_step.py
    python bench/torch_step.py --plain                     # one time, for beside other tools

The last lines are `RATIO name value`. While recording is paused the hooks are still in place and forward.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import torch
from empty_callback import EmptyCallback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "incidents", "pytorch", "programs"))
import parts  # noqa: E402


def seconds(step: Callable[[], None], count: int) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count


def operator_ns(x: torch.Tensor, count: int) -> float:
    """An operator that does next to nothing, on the CPU."""
    begin = time.perf_counter()
    for _ in range(count):
        x.relu_()
    return (time.perf_counter() - begin) / count * 1e9


def turned(kinds: list[str], turn: int) -> list[str]:
    """Each kind comes first, second and last equally often: a host that slows down slows all of them."""
    by = turn % len(kinds)
    return kinds[by:] + kinds[:by]


def spread(values: list[float], unit: float) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{unit * middle:.3f} ({unit * low:.3f} to {unit * high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plain", action="store_true", help="no turns: the time of a step, as it is")
    parser.add_argument("--steps", type=int, default=5, help="in one turn")
    parser.add_argument("--turns", type=int, default=80, help="of each kind")
    parser.add_argument("--warm", type=int, default=100, help="steps before the first turn")
    options = parser.parse_args()
    torch.manual_seed(0)
    model = parts.Model(1000, 256, 6).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    tokens, x = torch.randint(1000, (2, 65), device="cuda"), torch.zeros(1)

    def step() -> None:
        loss = parts.loss_of(model, tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    if options.plain:
        seconds(step, min(options.warm, 20))
        print(f"{1e3 * seconds(step, options.steps):.3f} ms a step")
        return
    import streamsan

    session = streamsan.session()
    seconds(step, options.warm)
    if session.answers:
        session.report(timeout=120)  # kernels have been analysed, nothing waits any more
    empty = EmptyCallback(torch)

    @contextlib.contextmanager
    def only_empty() -> Iterator[None]:
        with session.paused(), empty.attached():
            yield

    kinds = {"off": session.paused, "empty": only_empty, "on": contextlib.nullcontext}
    steps: dict[str, list[float]] = {kind: [] for kind in kinds}
    operators: dict[str, list[float]] = {kind: [] for kind in kinds}
    for turn in range(options.turns):
        for kind in turned(list(kinds), turn):
            with kinds[kind]():
                step()  # the first one after the change is not timed
                steps[kind].append(seconds(step, options.steps))
                operators[kind].append(operator_ns(x, 5_000))
    for kind in kinds:
        print(f"  a step, {kind}: {spread(steps[kind], 1e3)} ms; an operator on the CPU: {spread(operators[kind], 1)} ns")
    with session.paused():
        print(f"{empty.operators_of(step)} operators a step, {empty.operators_of(lambda: x.relu_())} in what is timed as one")
    for kind, name in (("on", ""), ("empty", "_empty_callback")):
        ratios = [watched / off for watched, off in zip(steps[kind], steps["off"])]
        added = [watched - off for watched, off in zip(operators[kind], operators["off"])]
        print(f"  on in each turn{name}: {spread(ratios, 1)}")
        print(f"RATIO torch_step_slowdown{name} {statistics.median(ratios):.3f}")
        print(f"RATIO torch_operator_added_ns{name} {statistics.median(added):.0f}")


if __name__ == "__main__":
    main()
