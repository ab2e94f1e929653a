"""A transformer training step with no fault: embedding, attention, MLP, AdamW, a pinned prefetcher."""

from __future__ import annotations

import argparse
import time

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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = Model(1000, options.width, options.layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    copies = torch.cuda.Stream()
    begin = time.perf_counter()
    for step in range(options.steps):
        if step == options.steps // 2:  # the second half is timed
            torch.cuda.synchronize()
            begin = time.perf_counter()
        pinned = torch.randint(1000, (options.batch, options.length + 1)).pin_memory()
        with torch.cuda.stream(copies):
            tokens = pinned.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        tokens.record_stream(torch.cuda.current_stream())
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    print(f"loss {loss.item():.3f}, {1e3 * seconds / (options.steps - options.steps // 2):.2f} ms a step")


if __name__ == "__main__":
    main()
