"""fully_shard (FSDP2): a group a block, bfloat16 parameters, recomputed activations, clipped norm. Start with torchrun."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import parts


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.add_argument("--keep", action="store_true", help="parameters stay whole between forward and backward")
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device("cuda", torch.cuda.current_device())
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(0)
    model = parts.Model(1000, options.width, options.layers).to(device)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for index, block in enumerate(model.blocks):
        if index % 2 == 1:
            block = model.blocks[index] = checkpoint_wrapper(block)
        fully_shard(block, mp_policy=policy, reshard_after_forward=not options.keep)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(dist.get_rank())
    for step in range(options.steps):
        tokens = torch.randint(1000, (options.batch, options.length + 1), device=device)
        loss = parts.loss_of(model, tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 9 and dist.get_rank() == 0:
            print(f"fsdp2: step {step}, loss {loss.item():.3f}")
    dist.barrier()
    torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
