"""DistributedDataParallel: accumulated gradients, mixed precision, clipped norm. Start with torchrun."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import parts


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--bucket-mb", type=int, default=4)
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device("cuda", torch.cuda.current_device())
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(dist.get_rank())
    model = DistributedDataParallel(
        parts.Model(1000, options.width, options.layers).to(device),
        device_ids=[device.index],
        bucket_cap_mb=options.bucket_mb,
        gradient_as_bucket_view=True,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = torch.zeros((), device=device)
    for step in range(options.steps):
        for part in range(options.accumulate):
            tokens = torch.randint(1000, (options.batch, options.length + 1), device=device)
            model.require_backward_grad_sync = part == options.accumulate - 1
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = parts.loss_of(model, tokens) / options.accumulate
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 9:
            mean = loss.detach().clone()
            dist.all_reduce(mean, op=dist.ReduceOp.AVG)
            if dist.get_rank() == 0:
                print(f"ddp: step {step}, loss {mean.item() * options.accumulate:.3f}")
    dist.barrier()
    torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
