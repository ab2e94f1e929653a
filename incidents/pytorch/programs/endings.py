"""Jobs that do not come to their end: a collective that rank 1 never joins, two in a different order on each rank,
memory that runs out, SIGKILL."""

from __future__ import annotations

import os
import signal
import time

import torch
import torch.distributed as dist

import parts


def hang(device: torch.device) -> None:
    dist.init_process_group("nccl", device_id=device)
    gradient = torch.ones(1 << 20, device=device)
    dist.all_reduce(gradient)
    if dist.get_rank() == 1:
        time.sleep(600)
    dist.all_reduce(gradient)
    print("waiting", flush=True)
    torch.cuda.synchronize()


def change_order(device: torch.device) -> None:
    dist.init_process_group("nccl", device_id=device)
    gradient, loss = torch.ones(1 << 20, device=device), torch.ones(1, device=device)
    dist.all_reduce(gradient)
    if dist.get_rank() == 0:
        dist.all_reduce(gradient)
        dist.broadcast(loss, 0)
    else:
        dist.broadcast(loss, 0)
        dist.all_reduce(gradient)
    print("waiting", flush=True)
    torch.cuda.synchronize()


def fill(device: torch.device) -> None:
    torch.cuda.set_per_process_memory_fraction(0.02)
    blocks = []
    while True:
        blocks.append(torch.ones(1 << 26, device=device))


def be_killed(device: torch.device) -> None:
    side = torch.cuda.Stream()
    x = torch.ones(1 << 20, device=device)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(2_000_000_000)
        x.mul_(2)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.add_argument("--end", choices=["hang", "order", "memory", "kill"], required=True)
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    device = torch.device("cuda", torch.cuda.current_device())
    {"hang": hang, "order": change_order, "memory": fill, "kill": be_killed}[options.end](device)


if __name__ == "__main__":
    main()
