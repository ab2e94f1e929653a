"""The PyTorch programs of incidents/pytorch under `streamsan run`, on a machine with PyTorch and one or two GPUs.

    python3 tests/gpu/pytorch.py build/gpu/bin/streamsan [--steps N] [--only WORD] [--jobs N] [--keep DIR]

A program without fault has to come out with no hazard, no dropped record and 97% of its launches resolved; each fault,
and each ordering call that is left out, has to be reported. One line a run; the last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCIDENTS = ROOT / "incidents" / "pytorch"
PROGRAMS = INCIDENTS / "programs"
RESOLVED = 0.97
LIMIT = 600  # seconds

# Ordering calls without which something is unordered. The others of a program are covered by its other waits.
PREFETCH = (
    "ring-reuse", "batch-wait", "batch-record", "norm-wait", "norm-record", "average-wait", "average-back",
    "loss-wait", "loss-record", "loss-host", "evaluation-wait", "score-wait",
)  # fmt: skip
# Not weight-host, weight-wait: each gradient's event comes after the step that waited for the weights.
OFFLOAD = ("gradient-wait", "gradient-record", "gradient-host", "forward-wait")


@dataclasses.dataclass(frozen=True)
class Case:
    words: tuple[str, ...]
    hazards: bool
    gpus: int = 1

    @property
    def name(self) -> str:
        return " ".join(word for word in self.words if not word.endswith("python3")).replace(f"{ROOT}/", "")


def cases(steps: int) -> list[Case]:
    def program(path: pathlib.Path, *options: str) -> tuple[str, ...]:
        return (sys.executable, str(path), *options)

    def ranks(path: pathlib.Path, *options: str) -> tuple[str, ...]:
        launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        return (sys.executable, *launcher, str(path), *options)

    many, few = ("--steps", str(steps)), ("--steps", "21")
    made = [Case(program(PROGRAMS / f"{name}.py", *many), False) for name in
            ("train_step", "prefetch", "offload", "graphed", "compiled")]  # fmt: skip
    made += [Case(ranks(PROGRAMS / f"{name}.py", *many), False, 2) for name in ("ddp", "fsdp2")]
    made += [Case(program(PROGRAMS / "prefetch.py", *few, "--without", name), True) for name in PREFETCH]
    made += [Case(program(PROGRAMS / "offload.py", *few, "--without", name), True) for name in OFFLOAD]
    made.append(Case(program(PROGRAMS / "survey.py", "--steps", "2"), False))
    pair, without = PROGRAMS / "pair.py", ("--without", "wait")
    for launch, writer, reader, gpus in (
        (program, "triton", "triton", 1), (program, "matmul", "triton", 1),
        (ranks, "matmul", "all-reduce", 2), (ranks, "triton", "all-reduce", 2),
    ):  # fmt: skip
        words = ("--steps", "4", "--writer", writer, "--reader", reader)
        made += [Case(launch(pair, *words, *without), True, gpus), Case(launch(pair, *words), False, gpus)]
    made.append(Case(program(pair, "--steps", "4", "--both-read"), False))
    for name, fault, fix in (
        ("moe_combine", "missing-combine-output", "record"),
        ("zero3_reduce", "wrong-producer", "wait"),
        ("ep_combine_fill", "alloc-after-wait", "wait"),
    ):
        path = INCIDENTS / f"{name}.py"
        made.append(Case(program(path, "--fault", fault), True))
        made.append(Case(program(path, "--fault", fault, "--fix", fix), False))
    return made


def run(streamsan: str, case: Case, number: int, keep: str, gpus: int) -> str:
    """Why it failed, or ""."""
    environment = dict(os.environ)
    if case.gpus == 1 and "CUDA_VISIBLE_DEVICES" not in environment:
        environment["CUDA_VISIBLE_DEVICES"] = str(number % gpus)
    with tempfile.TemporaryDirectory() as folder:
        folder = keep or folder
        report = os.path.join(folder, f"{number}.json")
        kept = ["-o", os.path.join(folder, str(number))] if keep else []
        command = [streamsan, "run", "--format", "json", "--report", report, *kept, "--", *case.words]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT, env=environment
            )
        except subprocess.TimeoutExpired:
            return f"no end within {LIMIT} s"
        if not os.path.exists(report):
            return f"exit code {done.returncode}, no report\n{done.stdout[-2000:]}"
        with open(report, encoding="utf-8") as file:
            said = json.load(file)
    codes = [f"{hazard['code']} ({hazard['first'] and hazard['first']['name']})" for hazard in said["hazards"]]
    coverage = said["coverage"]
    if case.hazards:
        return "" if codes and done.returncode == 66 else f"exit code {done.returncode}, nothing found"
    if codes or done.returncode != 0:
        return f"exit code {done.returncode}, {codes}\n{done.stdout[-2000:]}"
    resolved = coverage["launches_resolved"] / max(coverage["launches"], 1)
    if coverage["dropped"] or resolved < RESOLVED:
        return f"{coverage['dropped']} records dropped, {100 * resolved:.1f}% of the launches resolved"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("streamsan")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", default="", help="cases whose command holds this")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--keep", default="", help="a folder for reports and traces, named by the case's number")
    options = parser.parse_args()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    try:
        import torch

        gpus = torch.cuda.device_count()
    except ImportError:
        gpus = 0
    chosen = [case for case in cases(options.steps) if options.only in case.name and case.gpus <= gpus]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run, options.streamsan, case, number, options.keep, gpus)
                   for number, case in enumerate(chosen)]  # fmt: skip
        for number, (case, end) in enumerate(zip(chosen, running)):
            trouble = end.result()
            failed += bool(trouble)
            print(f"{'FAIL' if trouble else 'pass'}  {number} {case.name}{': ' + trouble if trouble else ''}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
