"""torch.compile of forward and backward; `--mode reduce-overhead` adds CUDA graphs."""

from __future__ import annotations

import torch

import parts


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.add_argument("--mode", choices=["default", "reduce-overhead"], default="default")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = parts.Model(1000, options.width, options.layers).cuda()
    compiled = torch.compile(model, mode=options.mode)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    copies = torch.cuda.Stream()
    for step in range(options.steps):
        batch = torch.randint(1000, (options.batch, options.length + 1)).pin_memory()
        with torch.cuda.stream(copies):
            tokens = batch.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        tokens.record_stream(torch.cuda.current_stream())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = parts.loss_of(compiled, tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"compiled: step {step}, loss {loss.item():.3f}")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
