"""Optimizer on the CPU: gradients leave through pinned memory on one stream, weights come back on another.

Every ordering call has a name; `--without NAME` leaves it out.
"""

from __future__ import annotations

import torch

import parts

NAMES = ("gradient-wait", "gradient-record", "gradient-host", "weight-host", "weight-wait", "forward-wait")


class Offload:
    def __init__(self, model: torch.nn.Module, order: parts.Order) -> None:
        self.order = order
        self.out, self.back = torch.cuda.Stream(), torch.cuda.Stream()
        self.weights = list(model.parameters())
        self.masters = [weight.detach().cpu() for weight in self.weights]
        self.gradients = [torch.empty_like(master, pin_memory=True) for master in self.masters]
        self.staging = [torch.empty_like(master, pin_memory=True) for master in self.masters]
        self.optimizer = torch.optim.AdamW(self.masters, lr=1e-3)
        self.left = [torch.cuda.Event() for _ in self.weights]
        self.came = torch.cuda.Event()
        for index, weight in enumerate(self.weights):
            weight.register_post_accumulate_grad_hook(lambda p, i=index: self.send(i, p))

    def send(self, index: int, weight: torch.Tensor) -> None:
        gradient = weight.grad
        assert gradient is not None
        self.order.wait("gradient-wait", self.out, torch.cuda.current_stream())
        with torch.cuda.stream(self.out):
            self.gradients[index].copy_(gradient, non_blocking=True)
            self.left[index].record()
        self.order.record("gradient-record", gradient, self.out)
        weight.grad = None

    def step(self) -> None:
        for index, master in enumerate(self.masters):
            self.order.host("gradient-host", self.left[index])
            master.grad = self.gradients[index].clone()
        self.optimizer.step()
        self.order.host("weight-host", self.came)
        self.order.wait("weight-wait", self.back, torch.cuda.current_stream())
        with torch.cuda.stream(self.back), torch.no_grad():
            for weight, master, staging in zip(self.weights, self.masters, self.staging):
                staging.copy_(master)
                weight.copy_(staging, non_blocking=True)
            self.came.record()
        self.order.wait("forward-wait", torch.cuda.current_stream(), self.back)


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parser.set_defaults(layers=2, width=256)
    parts.add_without(parser, NAMES)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = parts.Model(1000, options.width, options.layers).cuda()
    torch.cuda.synchronize()
    order = parts.Order(NAMES, options.without, options.warm)
    offload = Offload(model, order)
    for step in range(options.steps):
        order.step()
        tokens = torch.randint(1000, (options.batch, options.length + 1), device="cuda")
        loss = parts.loss_of(model, tokens)
        loss.backward()
        offload.step()
        if step % 10 == 9:
            print(f"offload: step {step}, loss {loss.item():.3f}")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
