"""What the three programs share: switches, a delay that makes a fault strike, one device or one of several ranks."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from collections.abc import Sequence

import torch
import torch.distributed as dist

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "programs"))
from parts import Order, add_without  # noqa: E402

__all__ = ["Order", "arguments", "delay", "deterministic", "exchange", "finish", "start"]


def arguments(doc: str, faults: Sequence[str], fixes: Sequence[str], names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--fault", choices=["none", *faults], default="none")
    parser.add_argument("--fix", choices=["none", *fixes], default="none", help="repairs the fault")
    add_without(parser, names)
    parser.add_argument("--steps", type=int, default=6)
    parser.set_defaults(warm=3)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--delay", type=int, default=0, help="cycles that the late reader is held up")
    return parser.parse_args()


def start() -> int:
    """This process's device, and its process group where torchrun started it. Returns the number of ranks."""
    torch.manual_seed(0)
    if "LOCAL_RANK" not in os.environ:
        return 1
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    return dist.get_world_size()


def deterministic(fill: bool = True) -> None:
    """Uninitialised memory is filled with NaN, as in the runs in which the incidents were found."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = fill


def delay(cycles: int) -> None:
    """Holds up the current stream; 0 queues nothing."""
    if cycles:
        torch.cuda._sleep(cycles)


def exchange(result: torch.Tensor, source: torch.Tensor) -> None:
    """All-to-all on the current stream; on one device, the copy that it amounts to."""
    if dist.is_initialized():
        dist.all_to_all_single(result, source)
    else:
        result.copy_(source)


def finish(name: str, values: torch.Tensor) -> None:
    torch.cuda.synchronize()
    finite = bool(torch.isfinite(values).all().item())
    print(f"{name}: {'finite' if finite else 'NOT FINITE'}", flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()
