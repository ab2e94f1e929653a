"""A transformer training step with no fault: embedding, attention, MLP, AdamW, a pinned prefetcher."""

from __future__ import annotations

import time

import torch
from torch import nn

import parts


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.set_defaults(batch=4)
    parser.add_argument("--loaded", default="", help="a library without which this is an error")
    options = parser.parse_args()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        if options.loaded not in maps.read():
            raise SystemExit(f"{options.loaded} is not loaded")
    torch.manual_seed(0)
    model = parts.Model(1000, options.width, options.layers).cuda()
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
