"""Image training with side streams: a pinned prefetcher, an average of the weights, asynchronous metrics, evaluation.

Every ordering call has a name; `--without NAME` leaves it out.
"""

from __future__ import annotations

import torch
from torch import nn

import parts

NAMES = (
    "ring-reuse", "batch-wait", "batch-record", "norm-wait", "norm-record", "average-wait", "average-back",
    "loss-wait", "loss-record", "loss-host", "evaluation-wait", "evaluation-back", "score-wait",
)  # fmt: skip
RING = 3


class Prefetcher:
    """Batches come through a ring of pinned buffers, one ahead, on a stream of their own."""

    def __init__(self, batch: int, size: int, order: parts.Order) -> None:
        self.order, self.stream = order, torch.cuda.Stream()
        self.pixels = [torch.empty(batch, 3, size, size, pin_memory=True) for _ in range(RING)]
        self.labels = [torch.empty(batch, dtype=torch.long, pin_memory=True) for _ in range(RING)]
        self.copied = [torch.cuda.Event() for _ in range(RING)]
        self.mean = torch.tensor([0.5, 0.4, 0.3], device="cuda").view(1, 3, 1, 1)
        self.stream.wait_stream(torch.cuda.current_stream())
        self.count = 0
        self.preload()

    def preload(self) -> None:
        slot, self.count = self.count % RING, self.count + 1
        self.order.host("ring-reuse", self.copied[slot])
        self.pixels[slot].uniform_()
        self.labels[slot].random_(10)
        with torch.cuda.stream(self.stream):
            self.images = self.pixels[slot].to("cuda", non_blocking=True).sub_(self.mean)
            self.targets = self.labels[slot].to("cuda", non_blocking=True)
            self.copied[slot].record()

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        current = torch.cuda.current_stream()
        self.order.wait("batch-wait", current, self.stream)
        images, targets = self.images, self.targets
        self.order.record("batch-record", images, current)
        targets.record_stream(current)
        self.preload()
        return images, targets


class Average:
    """A moving average of the weights, kept on a stream of its own."""

    def __init__(self, model: nn.Module, order: parts.Order) -> None:
        self.order, self.stream = order, torch.cuda.Stream()
        self.weights = list(model.parameters())
        self.average = [weight.detach().clone() for weight in self.weights]
        self.stream.wait_stream(torch.cuda.current_stream())

    def update(self) -> None:
        self.order.wait("average-wait", self.stream, torch.cuda.current_stream())
        with torch.cuda.stream(self.stream), torch.no_grad():
            for average, weight in zip(self.average, self.weights):
                average.lerp_(weight, 0.01)

    def before_step(self) -> None:
        self.order.wait("average-back", torch.cuda.current_stream(), self.stream)


class Losses:
    """Each step's loss comes to the host a few steps later, without holding the step up."""

    def __init__(self, order: parts.Order) -> None:
        self.order, self.stream = order, torch.cuda.Stream()
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
        self.order.record("loss-record", loss, self.stream)


class Norms:
    """The norms of the gradients, of which backward makes new ones in every step."""

    def __init__(self, order: parts.Order) -> None:
        self.order, self.stream, self.norms = order, torch.cuda.Stream(), []

    def take(self, weights: list[nn.Parameter]) -> None:
        self.order.wait("norm-wait", self.stream, torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.norms = [weight.grad.norm() for weight in weights]
        for weight in weights:
            self.order.record("norm-record", weight.grad, self.stream)


class Evaluation:
    """The averaged weights' predictions, while training goes on."""

    def __init__(self, model: nn.Module, average: Average, order: parts.Order) -> None:
        self.order, self.stream, self.average = order, torch.cuda.Stream(), average
        self.model = model
        self.names = [name for name, _ in model.named_parameters()]
        self.images = torch.rand(8, 3, 32, 32, device="cuda")
        self.stream.wait_stream(torch.cuda.current_stream())

    def run(self) -> float:
        self.order.wait("evaluation-wait", self.stream, self.average.stream)
        with torch.cuda.stream(self.stream), torch.no_grad():
            weights = dict(zip(self.names, self.average.average))
            score = torch.func.functional_call(self.model, weights, (self.images,)).softmax(-1).max(-1).values
        self.order.wait("evaluation-back", self.average.stream, self.stream)
        self.order.wait("score-wait", torch.cuda.current_stream(), self.stream)
        mean = score.mean()
        score.record_stream(torch.cuda.current_stream())
        return mean.item()


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.GroupNorm(4, 64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help=", ".join(NAMES))
    options = parser.parse_args()
    order = parts.Order(NAMES, options.without)
    torch.manual_seed(0)
    model = network().cuda()
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=0.01, momentum=0.9, foreach=False)
    batches = Prefetcher(options.batch, 32, order)
    average, losses, norms = Average(model, order), Losses(order), Norms(order)
    evaluation = Evaluation(model, average, order)
    score = 0.0
    for step in range(options.steps):
        images, targets = batches.next()
        loss = nn.functional.cross_entropy(model(images), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norms.take(weights)
        average.before_step()
        optimizer.step()
        average.update()
        losses.log(step, loss.detach())
        del loss, images, targets
        if step % 10 == 9:
            score = evaluation.run()
    torch.cuda.synchronize()
    norm = torch.stack(norms.norms).sum().item()
    print(f"prefetch: {len(losses.seen)} losses, last {losses.seen[-1]:.3f}, norm {norm:.3f}, score {score:.3f}")


if __name__ == "__main__":
    main()
