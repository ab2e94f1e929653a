"""What training programs do beside their step, each on a stream of its own: batches that come ahead, a moving average
of the weights, the losses' way to the host, the gradients' norms, evaluation.

Every ordering call has a name (`parts.Order`).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

import parts

RING = 3
BATCHES = ("ring-reuse", "batch-wait", "batch-record")
AVERAGE = ("average-wait", "average-back")
LOSSES = ("loss-wait", "loss-record", "loss-host")
EVALUATION = ("evaluation-wait", "evaluation-back", "score-wait")


class Prefetcher:
    """Batches come through a ring of pinned buffers, one ahead."""

    def __init__(self, order: parts.Order) -> None:
        self.order, self.stream = order, torch.cuda.Stream()
        self.ring = [self.buffers() for _ in range(RING)]
        self.copied = [torch.cuda.Event() for _ in range(RING)]
        self.stream.wait_stream(torch.cuda.current_stream())
        self.count = 0
        self.preload()

    def buffers(self) -> tuple[torch.Tensor, ...]:
        raise NotImplementedError

    def fill(self, buffers: tuple[torch.Tensor, ...]) -> None:
        raise NotImplementedError

    def copy(self, buffers: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return tuple(buffer.to("cuda", non_blocking=True) for buffer in buffers)

    def preload(self) -> None:
        slot, self.count = self.count % RING, self.count + 1
        self.order.host("ring-reuse", self.copied[slot])
        self.fill(self.ring[slot])
        with torch.cuda.stream(self.stream):
            self.batch = self.copy(self.ring[slot])
            self.copied[slot].record()

    def next(self) -> tuple[torch.Tensor, ...]:
        current = torch.cuda.current_stream()
        self.order.wait("batch-wait", current, self.stream)
        batch = self.batch
        for tensor in batch:
            self.order.record("batch-record", tensor, current)
        self.preload()
        return batch


class Tokens(Prefetcher):
    def __init__(self, batch: int, length: int, order: parts.Order) -> None:
        self.shape = (batch, length + 1)
        super().__init__(order)

    def buffers(self) -> tuple[torch.Tensor, ...]:
        return (torch.empty(self.shape, dtype=torch.long, pin_memory=True),)

    def fill(self, buffers: tuple[torch.Tensor, ...]) -> None:
        buffers[0].random_(1000)


class Average:
    """A moving average of the weights."""

    def __init__(self, weights: Sequence[nn.Parameter], order: parts.Order) -> None:
        self.order, self.stream = order, torch.cuda.Stream()
        self.weights = list(weights)
        self.average = [weight.detach().clone() for weight in self.weights]
        self.stream.wait_stream(torch.cuda.current_stream())

    def update(self) -> None:
        self.order.wait("average-wait", self.stream, torch.cuda.current_stream())
        with torch.cuda.stream(self.stream), torch.no_grad():
            for average, weight in zip(self.average, self.weights):
                average.lerp_(weight, 0.01)

    def before_step(self) -> None:
        """The weights are about to change."""
        self.order.wait("average-back", torch.cuda.current_stream(), self.stream)


class Losses:
    """Each step's loss comes to the host a few steps later, without holding the step up.

    `lasting`: every step writes the same memory.
    """

    def __init__(self, order: parts.Order, lasting: bool = False) -> None:
        self.order, self.stream, self.lasting = order, torch.cuda.Stream(), lasting
        self.host = [torch.zeros(1, pin_memory=True) for _ in range(RING)]
        self.there = [torch.cuda.Event() for _ in range(RING)]
        self.seen: list[float] = []

    def log(self, step: int, loss: torch.Tensor) -> None:
        slot = step % RING
        if step >= RING:
            self.order.host("loss-host", self.there[slot])
            self.seen.append(self.host[slot].item())
        self.order.wait("loss-wait", self.stream, torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.host[slot].copy_(loss.view(1), non_blocking=True)
            self.there[slot].record()
        if not self.lasting:
            self.order.record("loss-record", loss, self.stream)

    def before_step(self) -> None:
        """The loss is about to be written again."""
        self.order.wait("loss-back", torch.cuda.current_stream(), self.stream)


class Norms:
    """The norms of the gradients. `lasting`: every step writes the same memory, else backward makes new ones."""

    def __init__(self, order: parts.Order, lasting: bool = False) -> None:
        self.order, self.stream, self.lasting = order, torch.cuda.Stream(), lasting
        self.norms: list[torch.Tensor] = []

    def take(self, weights: Sequence[nn.Parameter]) -> None:
        self.order.wait("norm-wait", self.stream, torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.norms = [weight.grad.norm() for weight in weights if weight.grad is not None]
        if self.lasting:
            return
        for weight in weights:
            if weight.grad is not None:
                self.order.record("norm-record", weight.grad, self.stream)

    def before_step(self) -> None:
        """The gradients are about to be written again."""
        self.order.wait("norm-back", torch.cuda.current_stream(), self.stream)


class Evaluation:
    """The averaged weights' predictions, while training goes on."""

    def __init__(self, model: nn.Module, average: Average, inputs: torch.Tensor, order: parts.Order) -> None:
        self.order, self.stream, self.average = order, torch.cuda.Stream(), average
        self.model, self.inputs = model, inputs
        self.names = [name for name, _ in model.named_parameters()]
        self.stream.wait_stream(torch.cuda.current_stream())

    def run(self) -> float:
        self.order.wait("evaluation-wait", self.stream, self.average.stream)
        with torch.cuda.stream(self.stream), torch.no_grad():
            weights = dict(zip(self.names, self.average.average))
            score = torch.func.functional_call(self.model, weights, (self.inputs,)).softmax(-1).max(-1).values
        self.order.wait("evaluation-back", self.average.stream, self.stream)
        self.order.wait("score-wait", torch.cuda.current_stream(), self.stream)
        mean = score.mean()
        score.record_stream(torch.cuda.current_stream())
        return mean.item()
