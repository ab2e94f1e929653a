"""shared_tensors.py racy|fixed|lookalike: two processes share a tensor by torch.multiprocessing.

The consumer copies what it was sent; the producer adds to it in place, on its stream. racy: at once. fixed: when the
consumer has said that it is done. lookalike: to a copy of its own.
"""
import sys

import torch
import torch.multiprocessing as mp

STEPS = 4


def consume(tensors, done):
    for _ in range(STEPS):
        got = tensors.get()
        mine = torch.empty_like(got)
        mine.copy_(got)
        total = mine.sum().item()  # the host waits for the copy
        del got
        done.put(total)
    tensors.get()


def main(way):
    context = mp.get_context("spawn")
    tensors, done = context.Queue(), context.Queue()
    consumer = context.Process(target=consume, args=(tensors, done))
    consumer.start()
    for step in range(STEPS):
        sent = torch.full((1 << 20,), float(step), device="cuda")
        tensors.put(sent)
        if way == "fixed":
            done.get()
        (sent.clone() if way == "lookalike" else sent).add_(1)
        if way != "fixed":
            done.get()
        torch.cuda.synchronize()
        del sent
    tensors.put(None)
    consumer.join()
    print("ok", consumer.exitcode)


if __name__ == "__main__":
    main(sys.argv[1])
