"""Incident 1: a saved activation goes back to the communication stream's pool while backward still reads it.

A mixture-of-experts layer sends tokens out and back ("combine") on a communication stream. The combined
output is allocated there, saved by autograd for the router's gradient, and read by it on the compute stream.
Events order the work; they tell the caching allocator nothing. With two micro-batches in flight, backward
visits U1, U0, C1, C0: C1's allocation on the communication stream takes the block that U0 is reading.
"""

from __future__ import annotations

import torch

import common

REGISTRATIONS = ("combine-input", "combine-output", "gradient-input", "gradient-output")


class Exchange:
    """The communication stream, and what is registered with the allocator on the way through it."""

    def __init__(self, missing: str, fix: str) -> None:
        self.stream = torch.cuda.Stream()
        self.missing = missing
        self.fix = fix
        self.held: list[torch.Tensor] = []

    def register(self, what: str, tensor: torch.Tensor, stream: torch.cuda.Stream) -> None:
        if what != self.missing or self.fix == "record":
            tensor.record_stream(stream)
        elif self.fix == "hold":
            self.held.append(tensor)

    def all_to_all(self, source: torch.Tensor, ready: torch.cuda.Event, kind: str) -> torch.Tensor:
        """On one device, a copy. Returns memory of the communication stream, ready for the current one."""
        compute = torch.cuda.current_stream()
        if self.fix == "wait":
            self.stream.wait_stream(compute)
        else:
            self.stream.wait_event(ready)
        with torch.cuda.stream(self.stream):
            result = torch.empty_like(source)
            result.copy_(source)
            done = self.stream.record_event()
        self.register(kind + "-input", source, self.stream)
        compute.wait_event(done)
        self.register(kind + "-output", result, compute)
        return result


class Batch:
    """One micro-batch: `ready` is recorded when the gradient of its combine has been queued."""

    def __init__(self) -> None:
        self.ready = torch.cuda.Event()


class Combine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tokens, exchange, batch):  # type: ignore[no-untyped-def, override]
        ctx.exchange, ctx.batch = exchange, batch
        ready = torch.cuda.current_stream().record_event()
        return exchange.all_to_all(tokens, ready, "combine")

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def, override]
        return ctx.exchange.all_to_all(gradient, ctx.batch.ready, "gradient"), None, None


class Unpermute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, combined, probabilities, batch, cycles):  # type: ignore[no-untyped-def, override]
        ctx.save_for_backward(combined, probabilities)
        ctx.batch, ctx.cycles = batch, cycles
        return combined * probabilities

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def, override]
        combined, probabilities = ctx.saved_tensors
        common.delay(ctx.cycles)
        routing = (gradient * combined).sum(dim=-1, keepdim=True)
        tokens = gradient * probabilities
        ctx.batch.ready.record()
        return tokens, routing, None, None


def step(exchange: Exchange, options) -> torch.Tensor:  # type: ignore[no-untyped-def]
    shape = (options.tokens, options.hidden)
    tokens = [torch.randn(shape, device="cuda", requires_grad=True) for _ in range(2)]
    router = [torch.rand((options.tokens, 1), device="cuda", requires_grad=True) for _ in range(2)]
    batches = [Batch(), Batch()]
    combined = [Combine.apply(tokens[i] * 2, exchange, batches[i]) for i in range(2)]
    outputs = [Unpermute.apply(combined[i], router[i], batches[i], options.delay) for i in range(2)]
    del combined
    loss = outputs[0].square().mean() + outputs[1].square().mean()
    del outputs
    loss.backward()
    exchange.held.clear()
    return torch.stack([parameter.grad.norm() for parameter in router])


def main() -> None:
    options = common.arguments(
        __doc__ or "", ["missing-" + name for name in REGISTRATIONS], ["record", "hold", "wait"]
    )
    common.deterministic()
    torch.manual_seed(0)
    exchange = Exchange(options.fault.removeprefix("missing-"), options.fix)
    for _ in range(options.steps):
        norms = step(exchange, options)
    common.finish("moe_combine", norms)


if __name__ == "__main__":
    main()
