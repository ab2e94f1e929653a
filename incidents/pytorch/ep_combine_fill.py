"""Incident 3: the allocator's initialising write races with the communication that fills the output.

The communication stream waits for the compute stream; then the output is allocated on the compute stream.
In deterministic mode the allocation queues a fill with NaN there, behind the wait: fill and communication
both write the output, in no order.

Every wait and registration has a name; `--without NAME` leaves it out. With torchrun the communication is NCCL's
all-to-all, on one device a copy.
"""

from __future__ import annotations

import torch

import common

# As in the library where it happened, both buffers are registered with both streams. Only tokens-comm is needed: of each
# pair one is the owner, and compute, which frees the result, has waited for communication by then.
NAMES = ("comm-wait", "result-wait", "tokens-comm", "tokens-compute", "result-comm", "result-compute")


class Combine:
    def __init__(self, options) -> None:  # type: ignore[no-untyped-def]
        self.comm = torch.cuda.Stream()
        self.order = common.Order(NAMES, options.without, options.warm)
        self.fault, self.fix = options.fault, options.fix

    def start(self, tokens: torch.Tensor) -> torch.Tensor:
        """The result is written when `wait` is through; until then other work may go on."""
        compute = torch.cuda.current_stream()
        late = self.fault == "alloc-after-wait" and self.order.faulty and self.fix != "alloc-before-wait"
        if not late:
            result = torch.empty_like(tokens)
        self.order.wait("comm-wait", self.comm, compute)
        if late and self.fix == "alloc-on-comm":
            with torch.cuda.stream(self.comm):
                result = torch.empty_like(tokens)
        elif late:
            result = torch.empty_like(tokens)
        if self.fix == "wait":
            self.comm.wait_stream(compute)
        with torch.cuda.stream(self.comm):
            common.exchange(result, tokens)
        for name, tensor in (("tokens", tokens), ("result", result)):
            self.order.record(name + "-comm", tensor, self.comm)
            self.order.record(name + "-compute", tensor, compute)
        return result

    def wait(self) -> None:
        self.order.wait("result-wait", torch.cuda.current_stream(), self.comm)


def main() -> None:
    fixes = ["alloc-before-wait", "alloc-on-comm", "wait"]
    options = common.arguments(__doc__ or "", ["alloc-after-wait"], fixes, NAMES)
    common.deterministic()
    common.start()
    combine = Combine(options)
    expert = torch.rand(options.hidden, device="cuda")
    total = torch.zeros((), device="cuda")
    for _ in range(options.steps):
        combine.order.step()
        tokens = torch.randn(options.tokens, options.hidden, device="cuda")
        common.delay(options.delay)
        result = combine.start(tokens)
        residual = tokens * 2
        del tokens
        shared = residual * expert
        combine.wait()
        total += (result + shared + residual).square().mean()
        del result, residual, shared
    common.finish("ep_combine_fill", total)


if __name__ == "__main__":
    main()
