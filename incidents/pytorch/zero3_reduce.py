"""Incident 2: the gradient's reduction waits for a stream that did not produce the gradient.

A ZeRO-3-like optimizer: each rank keeps a shard of every parameter. Backward runs on a side stream; a hook copies each
gradient into one of two buckets on a reduction stream, which goes on to a reduce-scatter on another stream. The side
stream updates the shards, and an all-gather on a fourth makes whole parameters of them. With the fault, the reduction
waits for the *default* stream: the copy may come before the gradient has been written.

Every wait and registration has a name; `--without NAME` leaves it out. With torchrun the collectives are NCCL's, on
one device copies.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

import common

# part-record is redundant here: the block's next use on its stream comes after a gradient of weights that the update
# which reads it has made.
NAMES = (
    "start-wait", "gradient-wait", "gradient-record", "bucket-back", "bucket-wait", "part-wait", "part-record",
    "norm-wait", "norm-record", "shard-wait", "weight-wait", "end-wait",
)  # fmt: skip


class Reducer:
    """Gradients through two buckets in turn, to this rank's part of their sum."""

    def __init__(self, model: torch.nn.Module, ranks: int, options) -> None:  # type: ignore[no-untyped-def]
        self.stream, self.network = torch.cuda.Stream(), torch.cuda.Stream()
        self.fault, self.fix, self.ranks = options.fault, options.fix, ranks
        self.order = common.Order(NAMES, options.without, options.warm)
        size = max(parameter.numel() for parameter in model.parameters())
        self.buckets = [torch.zeros(size, device="cuda") for _ in range(2)]
        self.sent = [torch.cuda.Event() for _ in range(2)]
        self.next = 0
        self.parts: dict[int, torch.Tensor] = {}
        for index, parameter in enumerate(model.parameters()):
            parameter.register_post_accumulate_grad_hook(lambda p, i=index: self.reduce(i, p))

    def producer(self) -> torch.cuda.Stream:
        if self.fault == "wrong-producer" and self.order.faulty and self.fix != "wait":
            return torch.cuda.default_stream()
        return torch.cuda.current_stream()

    def reduce(self, index: int, parameter: torch.Tensor) -> None:
        gradient = parameter.grad
        assert gradient is not None
        if self.fix == "host-sync":
            torch.cuda.current_stream().synchronize()
        self.order.wait("gradient-wait", self.stream, self.producer())
        self.order.event("bucket-back", self.stream, self.sent[self.next])
        bucket = self.buckets[self.next][: gradient.numel()]
        with torch.cuda.stream(self.stream):
            bucket.copy_(gradient.view(-1))
        self.order.record("gradient-record", gradient, self.stream)
        parameter.grad = None
        self.order.wait("bucket-wait", self.network, self.stream)
        with torch.cuda.stream(self.network):
            self.parts[index] = self.scatter(bucket)
            self.sent[self.next].record()
        self.next = 1 - self.next

    def scatter(self, bucket: torch.Tensor) -> torch.Tensor:
        part = torch.empty(bucket.numel() // self.ranks, device="cuda")
        if self.ranks > 1:
            dist.reduce_scatter_tensor(part, bucket)
        else:
            part.copy_(bucket)
        return part


class Shards:
    """This rank's shard of every parameter: updated on the current stream, gathered on another one."""

    def __init__(self, model: torch.nn.Module, reducer: Reducer) -> None:
        self.reducer, self.order = reducer, reducer.order
        self.gathers, self.metrics = torch.cuda.Stream(), torch.cuda.Stream()
        self.whole = [parameter.detach().view(-1) for parameter in model.parameters()]
        rank = dist.get_rank() if reducer.ranks > 1 else 0
        self.shards = [whole.chunk(reducer.ranks)[rank].clone() for whole in self.whole]
        self.norms: list[torch.Tensor] = []

    def take_norms(self) -> None:
        parts = self.reducer.parts
        self.order.wait("norm-wait", self.metrics, self.reducer.network)
        with torch.cuda.stream(self.metrics):
            self.norms = [part.norm() for part in parts.values()]
        for part in parts.values():
            self.order.record("norm-record", part, self.metrics)

    def update(self) -> None:
        current, parts = torch.cuda.current_stream(), self.reducer.parts
        self.order.wait("part-wait", current, self.reducer.network)
        for index, shard in enumerate(self.shards):
            shard.sub_(parts[index], alpha=0.01)
            self.order.record("part-record", parts[index], current)
        parts.clear()

    def gather(self) -> None:
        current = torch.cuda.current_stream()
        self.order.wait("shard-wait", self.gathers, current)
        with torch.cuda.stream(self.gathers):
            for whole, shard in zip(self.whole, self.shards):
                if self.reducer.ranks > 1:
                    dist.all_gather_into_tensor(whole, shard)
                else:
                    whole.copy_(shard)
        self.order.wait("weight-wait", current, self.gathers)


def main() -> None:
    fixes = ["wait", "host-sync", "default-stream"]
    options = common.arguments(__doc__ or "", ["wrong-producer"], fixes, NAMES)
    ranks = common.start()
    width = options.hidden
    layers = [torch.nn.Linear(width, width, bias=False) for _ in range(4)]
    model = torch.nn.Sequential(*layers).cuda()
    reducer = Reducer(model, ranks, options)
    shards = Shards(model, reducer)
    default = torch.cuda.default_stream()
    side = default if options.fix == "default-stream" else torch.cuda.Stream()
    reducer.order.wait("start-wait", side, default)
    torch.manual_seed(dist.get_rank() if ranks > 1 else 0)
    for _ in range(options.steps):
        reducer.order.step()
        with torch.cuda.stream(side):
            inputs = torch.randn(options.tokens, width, device="cuda")
            loss = model(inputs).square().mean()
            common.delay(options.delay)
            loss.backward()
            shards.take_norms()
            shards.update()
            shards.gather()
    reducer.order.wait("end-wait", default, side)  # the norms below are taken there
    common.finish("zero3_reduce", torch.stack([p.detach().norm() for p in model.parameters()]))


if __name__ == "__main__":
    main()
