"""Two streams and one matrix, each with columns of its own, which needs no order; then one of them concatenates columns
that the other has written: --without wait is the race.

What a list of tensors tells of a view is where it begins and ends; between its rows lies what the other stream works on.
"""

from __future__ import annotations

import torch

import parts


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.add_argument("--without", action="append", default=[])
    options = parser.parse_args()
    order = parts.Order(("wait",), options.without)
    side = torch.cuda.Stream()
    matrix, joined, doubled = (torch.zeros(1024, 1024, device="cuda") for _ in range(3))
    left, right = matrix[:, :512], matrix[:, 512:]
    torch.cuda.synchronize()
    for _ in range(max(1, options.steps)):
        with torch.cuda.stream(side):
            left.add_(1)
            torch.cat([left, left], dim=1, out=doubled)
        right.mul_(2)
        order.wait("wait", torch.cuda.current_stream(), side)
        torch.cat([left, right], dim=1, out=joined)
        torch.cuda.synchronize()
    print("finite" if bool(torch.isfinite(joined).all()) else "not finite")


if __name__ == "__main__":
    main()
