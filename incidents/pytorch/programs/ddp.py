"""DistributedDataParallel: accumulated gradients, mixed precision, clipped norm; beside the step, on streams of their
own, batches, metrics, an average of the weights, evaluation. Start with torchrun.

Every ordering call has a name; `--without NAME` leaves it out.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import parts
import sides

NAMES = (*sides.BATCHES, "norm-wait", "norm-back", *sides.AVERAGE, "mean-wait", *sides.LOSSES, *sides.EVALUATION)


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--bucket-mb", type=int, default=4)
    parts.add_without(parser, NAMES)
    options = parser.parse_args()
    order = parts.Order(NAMES, options.without, options.warm)
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
    weights = list(model.module.parameters())
    optimizer = torch.optim.AdamW(weights, lr=1e-3)
    batches = sides.Tokens(options.batch, options.length, order)
    average, losses = sides.Average(weights, order), sides.Losses(order)
    norms = sides.Norms(order, lasting=True)  # of views of the buckets
    sample = torch.randint(1000, (options.batch, options.length), device=device)
    evaluation = sides.Evaluation(model.module, average, sample, order)
    for step in range(options.steps):
        order.step()
        norms.before_step()
        for part in range(options.accumulate):
            (tokens,) = batches.next()
            model.require_backward_grad_sync = part == options.accumulate - 1
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = parts.loss_of(model, tokens) / options.accumulate
            loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        norms.take(weights)
        mean = loss.detach().clone()
        work = dist.all_reduce(mean, op=dist.ReduceOp.AVG, async_op=True)
        average.before_step()
        optimizer.step()
        average.update()
        optimizer.zero_grad()
        order.work("mean-wait", work)
        losses.log(step, mean)
        del loss, mean, tokens, work
        if step % 10 == 9:
            score = evaluation.run()
            if dist.get_rank() == 0:
                print(f"ddp: step {step}, loss {losses.seen[-1] * options.accumulate:.3f}, score {score:.3f}")
    dist.barrier()
    torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
