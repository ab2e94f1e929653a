"""torch.compile of forward and backward, and what is done beside the step on streams of its own.

Every ordering call has a name; `--without NAME` leaves it out.
"""

from __future__ import annotations

import torch

import parts
import sides

NAMES = (*sides.BATCHES, "norm-wait", "norm-record", *sides.AVERAGE, *sides.LOSSES, *sides.EVALUATION)


def main() -> None:
    parser = parts.parser(__doc__ or "")
    parts.add_without(parser, NAMES)
    options = parser.parse_args()
    order = parts.Order(NAMES, options.without, options.warm)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = parts.Model(1000, options.width, options.layers).cuda()
    weights = list(model.parameters())
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(weights, lr=1e-3)
    batches = sides.Tokens(options.batch, options.length, order)
    average, losses, norms = sides.Average(weights, order), sides.Losses(order), sides.Norms(order)
    sample = torch.randint(1000, (options.batch, options.length), device="cuda")
    evaluation = sides.Evaluation(model, average, sample, order)
    for step in range(options.steps):
        order.step()
        (tokens,) = batches.next()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = parts.loss_of(compiled, tokens)
        optimizer.zero_grad()
        loss.backward()
        norms.take(weights)
        average.before_step()
        optimizer.step()
        average.update()
        losses.log(step, loss.detach())
        del loss, tokens
        if step % 10 == 9:
            score = evaluation.run()
            print(f"compiled: step {step}, loss {losses.seen[-1]:.3f}, score {score:.3f}")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
