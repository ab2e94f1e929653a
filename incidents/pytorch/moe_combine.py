"""Incident 1: memory goes back to its stream's pool while the other stream still uses it.

A mixture-of-experts layer sends tokens out and back ("combine") on a communication stream, while a shared expert
works on the compute stream; the result is waited for where it is needed. Events order the work; they tell the caching
allocator nothing. Four registrations (`record_stream`) do:
 - combine-input: the permuted tokens, of compute, are dropped as soon as the exchange is queued that reads them;
 - combine-output: allocated on the communication stream, saved by autograd for the router's gradient, which compute
   forms. With two micro-batches in flight backward visits U1, U0, C1, C0 (unpermute, combine): C1's allocation takes
   the block that U0 is reading, because C1 waits only for its own gradient's event;
 - gradient-input, gradient-output: the same on the way back.

With torchrun the exchange is NCCL's all-to-all, on one device a copy.
"""

from __future__ import annotations

import torch

import common

REGISTRATIONS = ("combine-input", "combine-output", "gradient-input", "gradient-output")
WAITS = ("combine-ready", "combine-wait", "gradient-ready", "gradient-wait")


class Exchange:
    """The communication stream, and what is registered with the allocator on the way through it."""

    def __init__(self, options) -> None:  # type: ignore[no-untyped-def]
        self.stream = torch.cuda.Stream()
        self.missing = options.fault.removeprefix("missing-")
        self.fix, self.cycles = options.fix, options.delay
        self.order = common.Order(WAITS, options.without, options.warm)
        self.held: list[torch.Tensor] = []

    def register(self, what: str, tensor: torch.Tensor, stream: torch.cuda.Stream) -> None:
        if what != self.missing or not self.order.faulty or self.fix == "record":
            tensor.record_stream(stream)
        elif self.fix == "hold":
            self.held.append(tensor)

    def delay(self, what: str) -> None:
        """Where `what` is read: late, if it is the one that is not registered."""
        common.delay(self.cycles if what == self.missing and self.order.faulty else 0)

    def send(self, source: torch.Tensor, ready: torch.cuda.Event, kind: str) -> tuple[torch.Tensor, torch.cuda.Event]:
        """Memory of the communication stream, and the event after which it can be read."""
        compute = torch.cuda.current_stream()
        self.order.event(kind + "-ready", self.stream, ready)
        if self.fix == "wait":
            self.stream.wait_stream(compute)
        with torch.cuda.stream(self.stream):
            result = torch.empty_like(source)
            self.delay(kind + "-input")
            common.exchange(result, source)
            done = self.stream.record_event()
        if self.fix == "wait":
            compute.wait_event(done)
        self.register(kind + "-input", source, self.stream)
        self.register(kind + "-output", result, compute)
        return result, done

    def wait(self, kind: str, done: torch.cuda.Event) -> None:
        self.order.event(kind + "-wait", torch.cuda.current_stream(), done)


class Batch:
    """One micro-batch: its gradient is ready to be sent, its tokens and their gradient have come."""

    def __init__(self) -> None:
        self.ready = torch.cuda.Event()
        self.combined = self.returned = self.ready


class Permute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tokens, exchange, batch):  # type: ignore[no-untyped-def, override]
        ctx.exchange, ctx.batch = exchange, batch
        return tokens * 2

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def, override]
        ctx.exchange.wait("gradient", ctx.batch.returned)
        ctx.exchange.delay("gradient-output")
        return gradient * 2, None, None


class Combine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tokens, exchange, batch):  # type: ignore[no-untyped-def, override]
        ctx.exchange, ctx.batch = exchange, batch
        ready = torch.cuda.current_stream().record_event()
        result, batch.combined = exchange.send(tokens, ready, "combine")
        return result

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def, override]
        result, ctx.batch.returned = ctx.exchange.send(gradient, ctx.batch.ready, "gradient")
        return result, None, None


class Unpermute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, combined, probabilities, exchange, batch):  # type: ignore[no-untyped-def, override]
        exchange.wait("combine", batch.combined)
        ctx.save_for_backward(combined, probabilities)
        ctx.exchange, ctx.batch = exchange, batch
        return combined * probabilities

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def, override]
        combined, probabilities = ctx.saved_tensors
        ctx.exchange.delay("combine-output")
        routing = (gradient * combined).sum(dim=-1, keepdim=True)
        tokens = gradient * probabilities
        ctx.batch.ready.record()
        return tokens, routing, None, None


def step(exchange: Exchange, expert: torch.Tensor, options) -> torch.Tensor:  # type: ignore[no-untyped-def]
    shape = (options.tokens, options.hidden)
    tokens = [torch.randn(shape, device="cuda", requires_grad=True) for _ in range(2)]
    router = [torch.rand((options.tokens, 1), device="cuda", requires_grad=True) for _ in range(2)]
    batches = [Batch(), Batch()]
    shared, combined, outputs = [], [], []
    for i in range(2):
        permuted = Permute.apply(tokens[i], exchange, batches[i])
        shared.append(tokens[i] * expert)  # its gradient comes between those of combine and permute
        combined.append(Combine.apply(permuted, exchange, batches[i]))
        del permuted
    for i in range(2):
        outputs.append(Unpermute.apply(combined[i], router[i], exchange, batches[i]) + shared[i])
    del combined, shared
    loss = outputs[0].square().mean() + outputs[1].square().mean()
    del outputs
    loss.backward()
    exchange.held.clear()
    return torch.stack([leaf.grad.norm() for leaf in (*tokens, *router)])


def main() -> None:
    faults = ["missing-" + name for name in REGISTRATIONS]
    options = common.arguments(__doc__ or "", faults, ["record", "hold", "wait"], WAITS)
    common.deterministic()
    common.start()
    exchange = Exchange(options)
    expert = torch.rand(options.hidden, device="cuda")
    for _ in range(options.steps):
        exchange.order.step()
        norms = step(exchange, expert, options)
    common.finish("moe_combine", norms)


if __name__ == "__main__":
    main()
