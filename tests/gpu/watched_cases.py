"""Tests of a program's own, for `pytest --streamsan`: the one with a race fails, the others pass.

    python3 -m pytest --streamsan tests/gpu/watched_cases.py
"""

import pytest
import streamsan
import torch


def double(ordered: bool) -> None:
    side = torch.cuda.Stream()
    x = torch.zeros(1 << 20, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.add_(1)
    if ordered:
        torch.cuda.current_stream().wait_stream(side)
    x.mul_(2)
    torch.cuda.synchronize()


def test_ordered() -> None:
    double(ordered=True)
    streamsan.assert_clean()


def test_race() -> None:
    double(ordered=False)


def test_after_the_race() -> None:
    double(ordered=True)
    with pytest.raises(streamsan.HazardsFound, match="race"):
        streamsan.assert_clean()
