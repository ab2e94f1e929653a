"""A whole training step as one CUDA graph, warmed up on a side stream. Batches go into its static inputs, and its loss,
gradients and weights are read, on streams of their own.

Every ordering call has a name; `--without NAME` leaves it out.
"""

from __future__ import annotations

import torch

import parts
import sides

NAMES = (
    "input-host", "input-back", "input-wait", "norm-wait", "norm-back", *sides.AVERAGE,
    "loss-wait", "loss-back", "loss-host", *sides.EVALUATION,
)  # fmt: skip


class Inputs:
    """The graph's inputs: each batch comes into the same memory."""

    def __init__(self, tokens: torch.Tensor, order: parts.Order) -> None:
        self.order, self.stream, self.tokens = order, torch.cuda.Stream(), tokens
        self.batch = torch.empty_like(tokens, device="cpu", pin_memory=True)
        self.copied = torch.cuda.Event()

    def load(self) -> None:
        self.order.host("input-host", self.copied)  # the batch before has left the pinned buffer
        self.batch.random_(1000)
        self.order.wait("input-back", self.stream, torch.cuda.current_stream())  # and was read by its replay
        with torch.cuda.stream(self.stream):
            self.tokens.copy_(self.batch, non_blocking=True)
            self.copied.record()
        self.order.wait("input-wait", torch.cuda.current_stream(), self.stream)


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parts.add_without(parser, NAMES)
    options = parser.parse_args()
    order = parts.Order(NAMES, options.without, options.warm)
    torch.manual_seed(0)
    model = parts.Model(1000, options.width, options.layers).cuda()
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-3, capturable=True)
    tokens = torch.randint(1000, (options.batch, options.length + 1), device="cuda")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = parts.loss_of(model, tokens)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    inputs, average = Inputs(tokens, order), sides.Average(weights, order)
    losses, norms = sides.Losses(order, lasting=True), sides.Norms(order, lasting=True)
    evaluation = sides.Evaluation(model, average, tokens[:, 1:].clone(), order)
    for index in range(options.steps):
        order.step()
        inputs.load()
        for before in (average, losses, norms):
            before.before_step()
        graph.replay()
        norms.take(weights)
        average.update()
        losses.log(index, loss.detach())
        if index % 10 == 9:
            score = evaluation.run()
            print(f"graphed: step {index}, loss {losses.seen[-1]:.3f}, score {score:.3f}")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
