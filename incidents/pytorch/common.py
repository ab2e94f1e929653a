"""What the three programs share: their switches, and a delay that makes a fault strike."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch


def arguments(doc: str, faults: Sequence[str], fixes: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--fault", choices=["none", *faults], default="none")
    parser.add_argument("--fix", choices=["none", *fixes], default="none", help="repairs the fault")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--delay", type=int, default=0, help="cycles that the late reader is held up")
    return parser.parse_args()


def deterministic(fill: bool = True) -> None:
    """Uninitialised memory is filled with NaN, as in the runs in which the incidents were found."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = fill


def delay(cycles: int) -> None:
    """Holds up the current stream; 0 queues nothing."""
    if cycles:
        torch.cuda._sleep(cycles)


def finish(name: str, values: torch.Tensor) -> None:
    torch.cuda.synchronize()
    finite = bool(torch.isfinite(values).all().item())
    print(f"{name}: {'finite' if finite else 'NOT FINITE'}")
