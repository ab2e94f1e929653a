"""A kernel that nobody declared writes a tensor on one stream, and another stream reads it: --without wait is the race.

The writer is a Triton kernel or a matrix product of cuBLAS; the reader a Triton kernel or, with two ranks, NCCL's
all-reduce. With --both-read the streams share only what they read, and nothing has to be ordered.
"""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
import triton
import triton.language as tl

import parts


@triton.jit
def scale(source, target, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < count
    tl.store(target + at, tl.load(source + at, mask=inside) * 2, mask=inside)


def launch_scale(source: torch.Tensor, target: torch.Tensor) -> None:
    count = source.numel()
    scale[(triton.cdiv(count, 1024),)](source, target, count, 1024)


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.add_argument("--writer", choices=["triton", "matmul"], default="triton")
    parser.add_argument("--reader", choices=["triton", "all-reduce"], default="triton")
    parser.add_argument("--both-read", action="store_true")
    parser.add_argument("--without", action="append", default=[])
    options = parser.parse_args()
    order = parts.Order(("wait",), options.without)
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    if options.reader == "all-reduce":
        dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    side = torch.cuda.Stream()
    x, middle, out, other = (torch.zeros(1024, 1024, device="cuda") for _ in range(4))
    launch_scale(x, out)  # compiled before anything is measured
    torch.cuda.synchronize()
    for _ in range(max(1, options.steps)):
        with torch.cuda.stream(side):
            if options.writer == "matmul":
                torch.mm(x, x, out=middle)
            else:
                launch_scale(x, middle)
        if not options.both_read:
            order.wait("wait", torch.cuda.current_stream(), side)
        if options.both_read:
            launch_scale(x, other)
        elif options.reader == "all-reduce":
            dist.all_reduce(middle)
        else:
            launch_scale(middle, out)
        torch.cuda.synchronize()
    print("finite" if bool(torch.isfinite(out).all()) else "not finite")


if __name__ == "__main__":
    main()
