"""A whole training step as one CUDA graph, warmed up on a side stream; batches go into its static inputs."""

from __future__ import annotations

import torch

import parts


def main() -> None:
    options = parts.parser(__doc__ or "").parse_args()
    torch.manual_seed(0)
    model = parts.Model(1000, options.width, options.layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
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

    copies = torch.cuda.Stream()
    batch = torch.empty_like(tokens, device="cpu", pin_memory=True)
    copied = torch.cuda.Event()
    for index in range(options.steps):
        copied.synchronize()  # the batch before has left the pinned buffer
        batch.random_(1000)
        copies.wait_stream(torch.cuda.current_stream())  # the replay before has read its inputs
        with torch.cuda.stream(copies):
            tokens.copy_(batch, non_blocking=True)
            copied.record()
        torch.cuda.current_stream().wait_stream(copies)
        graph.replay()
        if index % 10 == 9:
            print(f"graphed: step {index}, loss {loss.item():.3f}")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
