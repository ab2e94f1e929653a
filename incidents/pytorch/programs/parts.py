"""What the programs share: a transformer, and ordering calls that have names, so that each can be left out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        split = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(split).transpose(1, 2) for part in (q, k, v))
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList([Block(width, 8) for _ in range(layers)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def loss_of(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    logits = model(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


def parser(doc: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=doc.splitlines()[0])
    made.add_argument("--steps", type=int, default=100)
    made.add_argument("--layers", type=int, default=4)
    made.add_argument("--width", type=int, default=512)
    made.add_argument("--length", type=int, default=128)
    made.add_argument("--batch", type=int, default=8)
    return made


def add_without(made: argparse.ArgumentParser, names: Sequence[str]) -> None:
    made.add_argument("--without", action="append", default=[], metavar="NAME", help=", ".join(names))
    made.add_argument("--warm", type=int, default=12, help="steps before a call is left out (default %(default)s)")


class Order:
    """The program's ordering calls by name. Those in `without` are left out, in steps only when `warm` of them are
    over: kernels are loaded and memory is allocated by then, for which the driver holds the host up."""

    def __init__(self, names: Sequence[str], without: Sequence[str] = (), warm: int = 0) -> None:
        unknown = set(without) - set(names)
        if unknown:
            raise SystemExit(f"--without {sorted(unknown)}: not one of {', '.join(names)}")
        self.names, self.without = set(names), set(without)
        self.warm, self.steps = warm, 0

    def step(self) -> None:
        """A step begins."""
        self.steps += 1

    @property
    def faulty(self) -> bool:
        return self.steps == 0 or self.steps > self.warm

    def _kept(self, name: str) -> bool:
        assert name in self.names, name
        return name not in self.without or not self.faulty

    def wait(self, name: str, consumer: torch.cuda.Stream, producer: torch.cuda.Stream) -> None:
        if self._kept(name):
            consumer.wait_stream(producer)

    def event(self, name: str, consumer: torch.cuda.Stream, event: torch.cuda.Event) -> None:
        if self._kept(name):
            consumer.wait_event(event)

    def work(self, name: str, work: torch.distributed.Work) -> None:
        if self._kept(name):
            work.wait()

    def record(self, name: str, tensor: torch.Tensor, stream: torch.cuda.Stream) -> None:
        if self._kept(name):
            tensor.record_stream(stream)

    def host(self, name: str, event: torch.cuda.Event) -> None:
        if self._kept(name):
            event.synchronize()
