"""Incident 2: the gradient's reduction waits for a stream that did not produce the gradient.

Backward runs on a side stream. The hook copies each gradient into a bucket on a reduction stream, which
waits for the *default* stream: the copy may come before the gradient has been written.
"""

from __future__ import annotations

import torch

import common


class Reducer:
    """Two buckets in turn, as a ZeRO-3 optimizer has them; the reduction itself is a scaling."""

    def __init__(self, model: torch.nn.Module, fault: str, fix: str) -> None:
        self.stream = torch.cuda.Stream()
        self.fault, self.fix = fault, fix
        size = max(parameter.numel() for parameter in model.parameters())
        self.buckets = [torch.zeros(size, device="cuda") for _ in range(2)]
        self.next = 0
        self.reduced: dict[int, torch.Tensor] = {}
        for index, parameter in enumerate(model.parameters()):
            parameter.register_post_accumulate_grad_hook(lambda p, i=index: self.reduce(i, p))
        torch.cuda.synchronize()

    def producer(self) -> torch.cuda.Stream:
        if self.fault == "wrong-producer" and self.fix != "wait":
            return torch.cuda.default_stream()
        return torch.cuda.current_stream()

    def reduce(self, index: int, parameter: torch.Tensor) -> None:
        gradient = parameter.grad
        assert gradient is not None
        if self.fix == "host-sync":
            torch.cuda.current_stream().synchronize()
        self.stream.wait_stream(self.producer())
        with torch.cuda.stream(self.stream):
            bucket = self.buckets[self.next][: gradient.numel()]
            bucket.copy_(gradient.view(-1))
            self.reduced[index] = bucket.mul(0.5)
        self.next = 1 - self.next
        gradient.record_stream(self.stream)
        parameter.grad = None


def main() -> None:
    options = common.arguments(__doc__ or "", ["wrong-producer"], ["wait", "host-sync", "default-stream"])
    torch.manual_seed(0)
    width = options.hidden
    layers = [torch.nn.Linear(width, width, bias=False) for _ in range(4)]
    model = torch.nn.Sequential(*layers).cuda()
    reducer = Reducer(model, options.fault, options.fix)
    side = torch.cuda.default_stream() if options.fix == "default-stream" else torch.cuda.Stream()
    side.wait_stream(torch.cuda.default_stream())
    for _ in range(options.steps):
        with torch.cuda.stream(side):
            inputs = torch.randn(options.tokens, width, device="cuda")
            loss = model(inputs).square().mean()
            common.delay(options.delay)
            loss.backward()
            side.wait_stream(reducer.stream)
            with torch.no_grad():
                for index, parameter in enumerate(model.parameters()):
                    parameter.sub_(reducer.reduced[index].view_as(parameter), alpha=0.01)
            reducer.stream.wait_stream(side)
            for gradient in reducer.reduced.values():
                gradient.record_stream(side)
            reducer.reduced.clear()
    torch.cuda.default_stream().wait_stream(side)  # the norms below are taken there
    common.finish("zero3_reduce", torch.stack([p.detach().norm() for p in model.parameters()]))


if __name__ == "__main__":
    main()
