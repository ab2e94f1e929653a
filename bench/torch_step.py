"""What being watched costs a launch-bound training step: recording paused and not, in turn, in one process.

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
from collections.abc import Callable

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "incidents", "pytorch", "programs"))
import parts  # noqa: E402


def seconds(step: Callable[[], None], count: int) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count


def operator_ns(count: int) -> float:
    """An operator that does next to nothing, on the CPU."""
    x = torch.zeros(1)
    begin = time.perf_counter()
    for _ in range(count):
        x.relu_()
    return (time.perf_counter() - begin) / count * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plain", action="store_true", help="no turns: the time of a step, as it is")
    parser.add_argument("--steps", type=int, default=50, help="in one turn")
    parser.add_argument("--turns", type=int, default=6, help="of each kind")
    parser.add_argument("--warm", type=int, default=100, help="steps before the first turn")
    options = parser.parse_args()
    torch.manual_seed(0)
    model = parts.Model(1000, 256, 6).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    tokens = torch.randint(1000, (2, 65), device="cuda")

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
    off, on, operator_off, operator_on = [], [], [], []
    for _ in range(options.turns):
        for paused in (True, False):
            with session.paused() if paused else contextlib.nullcontext():
                (off if paused else on).append(seconds(step, options.steps))
                (operator_off if paused else operator_on).append(operator_ns(100_000))
    before, after = statistics.median(off), statistics.median(on)
    plain, watched = statistics.median(operator_off), statistics.median(operator_on)
    print(f"a step: off {1e3 * before:.3f} ms, on {1e3 * after:.3f} ms; an operator: off {plain:.0f} ns, on {watched:.0f} ns")
    for name, values in (("off", off), ("on", on)):
        print(f"  {name}: " + " ".join(f"{1e3 * value:.3f}" for value in values))
    print(f"RATIO torch_step_slowdown {after / before:.3f}")
    print(f"RATIO torch_operator_added_ns {watched - plain:.0f}")


if __name__ == "__main__":
    main()
