"""A few training steps under torch.profiler, which has to see the same of the device with StreamSan beside it."""

from __future__ import annotations

import torch

import parts


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.set_defaults(steps=10)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = parts.Model(1000, options.width, options.layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(1000, (options.batch, options.length + 1), device="cuda")
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(options.steps):
            loss = parts.loss_of(model, tokens)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.cuda.synchronize()
    device = [event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    if not device:
        raise SystemExit("the profiler saw nothing of the device")
    print(f"loss {loss.item():.3f}")
    print(f"profiled: {len(device)} events of the device with {len(set(device))} names")


if __name__ == "__main__":
    main()
