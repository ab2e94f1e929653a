"""Incident 3: the allocator's initialising write races with the communication that fills the output.

The communication stream waits for the compute stream; then the output is allocated on the compute stream.
In deterministic mode the allocation queues a fill with NaN there, behind the wait: fill and communication
both write the output, in no order.
"""

from __future__ import annotations

import torch

import common


def combine(tokens: torch.Tensor, comm: torch.cuda.Stream, fault: str, fix: str) -> torch.Tensor:
    compute = torch.cuda.current_stream()
    late = fault == "alloc-after-wait" and fix != "alloc-before-wait"
    if not late:
        result = torch.empty_like(tokens)
    comm.wait_stream(compute)
    if late and fix == "alloc-on-comm":
        with torch.cuda.stream(comm):
            result = torch.empty_like(tokens)
    elif late:
        result = torch.empty_like(tokens)
    if fix == "wait":
        comm.wait_stream(compute)
    with torch.cuda.stream(comm):
        result.copy_(tokens)
    for tensor in (tokens, result):
        tensor.record_stream(comm)
        tensor.record_stream(compute)
    compute.wait_stream(comm)
    return result


def main() -> None:
    fixes = ["alloc-before-wait", "alloc-on-comm", "wait"]
    options = common.arguments(__doc__ or "", ["alloc-after-wait"], fixes)
    common.deterministic()
    torch.manual_seed(0)
    comm = torch.cuda.Stream()
    total = torch.zeros((), device="cuda")
    for _ in range(options.steps):
        tokens = torch.randn(options.tokens, options.hidden, device="cuda")
        common.delay(options.delay)
        total += combine(tokens, comm, options.fault, options.fix).square().mean()
    common.finish("ep_combine_fill", total)


if __name__ == "__main__":
    main()
