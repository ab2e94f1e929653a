"""DeepSpeed's ZeRO-3 with overlapped communication; forward and backward run on a side stream."""

from __future__ import annotations

import argparse
import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import parts  # noqa: E402


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.set_defaults(steps=20, width=256, layers=2)
    parser.add_argument("--local_rank", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    import deepspeed

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deepspeed.init_distributed("nccl")
    torch.manual_seed(0)
    model = parts.Model(1000, options.width, options.layers)
    config = {
        "train_micro_batch_size_per_gpu": options.batch,
        "bf16": {"enabled": True},
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {
            "stage": 3,
            "overlap_comm": True,
            "contiguous_gradients": True,
            "reduce_bucket_size": 500_000,
            "stage3_prefetch_bucket_size": 500_000,
            "stage3_param_persistence_threshold": 1_000,
        },
    }
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    side = torch.cuda.Stream()
    for step in range(options.steps):
        tokens = torch.randint(1000, (options.batch, options.length + 1), device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            loss = parts.loss_of(engine, tokens)
            engine.backward(loss)
        tokens.record_stream(side)
        torch.cuda.current_stream().wait_stream(side)
        engine.step()
        if step % 10 == 9 and engine.global_rank == 0:
            print(f"deepspeed {deepspeed.__version__}: step {step}, loss {loss.item():.3f}")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
