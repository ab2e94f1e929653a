"""Image training with side streams: a pinned prefetcher, an average of the weights, asynchronous metrics, evaluation.

Every ordering call has a name; `--without NAME` leaves it out.
"""

from __future__ import annotations

import torch
from torch import nn

import parts
import sides

NAMES = (*sides.BATCHES, "norm-wait", "norm-record", *sides.AVERAGE, *sides.LOSSES, *sides.EVALUATION)


class Images(sides.Prefetcher):
    def __init__(self, batch: int, size: int, order: parts.Order) -> None:
        self.shape = (batch, 3, size, size)
        self.mean = torch.tensor([0.5, 0.4, 0.3], device="cuda").view(1, 3, 1, 1)
        super().__init__(order)

    def buffers(self) -> tuple[torch.Tensor, ...]:
        labels = torch.empty(self.shape[0], dtype=torch.long, pin_memory=True)
        return torch.empty(self.shape, pin_memory=True), labels

    def fill(self, buffers: tuple[torch.Tensor, ...]) -> None:
        buffers[0].uniform_()
        buffers[1].random_(10)

    def copy(self, buffers: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        images, targets = super().copy(buffers)
        return images.sub_(self.mean), targets


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.GroupNorm(4, 64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parts.add_without(parser, NAMES)
    options = parser.parse_args()
    order = parts.Order(NAMES, options.without, options.warm)
    torch.manual_seed(0)
    model = network().cuda()
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=0.01, momentum=0.9, foreach=False)
    batches = Images(options.batch, 32, order)
    average, losses, norms = sides.Average(weights, order), sides.Losses(order), sides.Norms(order)
    evaluation = sides.Evaluation(model, average, torch.rand(8, 3, 32, 32, device="cuda"), order)
    score = 0.0
    for step in range(options.steps):
        order.step()
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
