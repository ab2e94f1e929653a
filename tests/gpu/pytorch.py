"""The PyTorch programs of incidents/pytorch under `streamsan run`, on a machine with PyTorch and one or two GPUs.

    python3 tests/gpu/pytorch.py build/gpu/bin/streamsan [--steps N] [--only REGEX] [--jobs N] [--confirm] [--keep DIR]

A program without fault has to come out with no hazard, no dropped record and 97% of its launches resolved; each fault,
and each ordering call that is left out, has to be reported, and each fix to be silent. Of recorded programs, the waits
that tests/ablation's oracle holds to be load-bearing have to be reported. Jobs that do not come to their end have to
get their report, and a profiler, another malloc and pytest have to work beside it.

With --confirm the first hazard of a case is put to the test in one more run (`run --confirm`); what came of it stands
behind the case and is counted. One line a case; the last line is `N passed, N failed`. --done FILE leaves out what
passed in an earlier run, of which FILE is the output.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCIDENTS = ROOT / "incidents" / "pytorch"
PROGRAMS = INCIDENTS / "programs"
RESOLVED = 0.97
LIMIT = 300  # seconds
DELAY = "100000000"  # cycles

# Ordering calls without which something is unordered.
BATCHES, AVERAGE = ("ring-reuse", "batch-wait", "batch-record"), ("average-wait", "average-back")
LOSSES, SCORES = ("loss-wait", "loss-record", "loss-host"), ("evaluation-wait", "score-wait")
NEEDED = {
    "prefetch": (*BATCHES, "norm-wait", "norm-record", *AVERAGE, *LOSSES, *SCORES),
    # Not weight-host, weight-wait: each gradient's event comes after the step that waited for the weights.
    "offload": ("gradient-wait", "gradient-record", "gradient-host", "forward-wait"),
    "compiled": (*BATCHES, "norm-wait", "norm-record", *AVERAGE, *LOSSES, *SCORES),
    # Not loss-host: the host waits for the batch before, which came after the loss that it reads.
    "graphed": (
        "input-host", "input-back", "input-wait", "norm-wait", "norm-back", *AVERAGE, "loss-wait", "loss-back", *SCORES,
    ),
    "ddp": (*BATCHES, "norm-wait", "norm-back", *AVERAGE, "mean-wait", *LOSSES, *SCORES),
    "moe_combine": ("combine-ready", "combine-wait", "gradient-ready", "gradient-wait"),
    "zero3_reduce": (
        "start-wait", "gradient-wait", "gradient-record", "bucket-back", "bucket-wait", "part-wait",
        "norm-wait", "norm-record", "shard-wait", "weight-wait", "end-wait",
    ),
    "ep_combine_fill": ("comm-wait", "result-wait", "tokens-comm"),
}  # fmt: skip
# Those that other calls make needless; each program says why.
NEEDLESS = {"zero3_reduce": ("part-record",), "ep_combine_fill": ("tokens-compute", "result-comm", "result-compute")}
REGISTRATIONS = ("combine-input", "combine-output", "gradient-input", "gradient-output")
# Steps of which the oracle's closure fits into memory.
ABLATED = {"prefetch": 12, "offload": 12, "compiled": 10, "graphed": 4, "ddp": 3, "fsdp2": 2}
LOAD_BEARING = 10
# Not put to the test: of a graph nothing can be held back, and each run of compiled.py compiles.
NOT_TRIED = ("graphed", "compiled", "pytest")


@dataclasses.dataclass(frozen=True)
class Case:
    words: tuple[str, ...]
    hazards: bool
    gpus: int = 1
    kind: str = "run"
    code: str = ""  # of every hazard
    cause: str = ""  # in the root cause of one, which has `fix` in its first fix
    fix: str = ""
    says: str = ""  # in the program's output
    options: tuple[str, ...] = ()  # of `streamsan run`
    preload: str = ""
    end_after: int = 0  # seconds until the program is ended from outside
    weight: int = 0  # long ones first

    @property
    def name(self) -> str:
        words = " ".join(word for word in self.words if not word.endswith("python3")).replace(f"{ROOT}/", "")
        kind = "" if self.kind == "run" else f"[{self.kind}] "
        return kind + " ".join([*self.options, words])


def program(path: pathlib.Path, *options: str) -> tuple[str, ...]:
    return (sys.executable, str(path), *options)


def ranks(path: pathlib.Path, *options: str) -> tuple[str, ...]:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    return (sys.executable, *launcher, str(path), *options)


def trainings(steps: int) -> list[Case]:
    many, few = ("--steps", str(steps)), ("--steps", "21")
    made = [Case(program(PROGRAMS / f"{name}.py", *many), False, weight=6) for name in
            ("train_step", "prefetch", "offload", "graphed", "compiled")]  # fmt: skip
    made += [Case(ranks(PROGRAMS / f"{name}.py", *many), False, 2, weight=9) for name in ("ddp", "fsdp2")]
    made.append(Case(program(PROGRAMS / "survey.py", "--steps", "2"), False, weight=6))
    for name in ("prefetch", "offload", "compiled", "graphed", "ddp"):
        launch, gpus = (ranks, 2) if name == "ddp" else (program, 1)
        weight = {"ddp": 5, "compiled": 4}.get(name, 1)
        made += [Case(launch(PROGRAMS / f"{name}.py", *few, "--without", call), True, gpus, weight=weight)
                 for call in NEEDED[name]]  # fmt: skip
    for name, count in ABLATED.items():
        launch, gpus = (ranks, 2) if name in ("ddp", "fsdp2") else (program, 1)
        words = launch(PROGRAMS / f"{name}.py", "--steps", str(count))
        made.append(Case(words, False, gpus, "ablate", weight=8))
    return made


def pairs() -> list[Case]:
    pair, without, made = PROGRAMS / "pair.py", ("--without", "wait"), []
    for launch, writer, reader, gpus in (
        (program, "triton", "triton", 1), (program, "matmul", "triton", 1),
        (ranks, "matmul", "all-reduce", 2), (ranks, "triton", "all-reduce", 2),
    ):  # fmt: skip
        words = ("--steps", "4", "--writer", writer, "--reader", reader)
        made += [Case(launch(pair, *words, *without), True, gpus), Case(launch(pair, *words), False, gpus)]
    made.append(Case(program(pair, "--steps", "4", "--both-read"), False))
    columns = program(PROGRAMS / "columns.py", "--steps", "4")
    return [*made, Case((*columns, *without), True), Case(columns, False)]


def incident(name: str, faults: tuple[str, ...], fixes: tuple[str, ...], **expected: str) -> list[Case]:
    """Alone and on two ranks: no fault, each fault, each with each fix; and each call left out."""
    path, long, made = INCIDENTS / f"{name}.py", ("--steps", "200"), []
    for launch, gpus in ((program, 1), (ranks, 2)):
        weight = 2 * gpus
        made.append(Case(launch(path, *long), False, gpus, says=": finite", weight=weight))
        for fault in faults:
            made.append(Case(launch(path, "--fault", fault), True, gpus, weight=gpus, **expected))
            fixed = [launch(path, *long, "--fault", fault, "--fix", fix) for fix in fixes if gpus == 1 or fix != "record"]
            made += [Case(words, False, gpus, says=": finite", weight=weight) for words in fixed]
    made += [Case(program(path, "--without", call), True) for call in NEEDED[name]]
    made += [Case(program(path, "--without", call), False) for call in NEEDLESS.get(name, ())]
    return made


def incidents() -> list[Case]:
    missing = tuple("missing-" + name for name in REGISTRATIONS)
    made = incident("moe_combine", missing, ("record", "hold", "wait"),
                    code="lifetime", cause="no record_stream", fix="record_stream(")  # fmt: skip
    made += incident("zero3_reduce", ("wrong-producer",), ("wait", "host-sync", "default-stream"),
                     code="race-raw", cause="but op", fix=" waits")  # fmt: skip
    made += incident("ep_combine_fill", ("alloc-after-wait",), ("alloc-before-wait", "alloc-on-comm", "wait"),
                     code="fill-race", cause="lie between", fix="allocate")  # fmt: skip
    return made


def experiments() -> list[Case]:
    """What the allocator does with freed memory decides what a late reader gets."""
    path = INCIDENTS / "moe_combine.py"
    made = []
    for name in REGISTRATIONS:
        words = program(path, "--delay", DELAY, "--fault", "missing-" + name)
        made.append(Case(words, True, says=": NOT FINITE", options=("--allocator=poison",)))
        made.append(Case(words, True, says=": finite", options=("--allocator=hold",)))
    words = program(path, "--delay", DELAY)
    made.append(Case(words, False, says=": finite", options=("--allocator=poison",)))
    return made


def endings() -> list[Case]:
    path = PROGRAMS / "endings.py"
    return [
        Case(ranks(path, "--end", "hang"), True, 2, "ending", code="collective-mismatch", end_after=90, weight=11),
        Case(ranks(path, "--end", "order"), True, 2, "ending", code="collective-order", end_after=75, weight=10),
        Case(program(path, "--end", "kill"), False, kind="ending", weight=3),
        Case(program(path, "--end", "memory"), False, kind="ending", says="OutOfMemoryError", weight=3),
    ]


def neighbours(jemalloc: str) -> list[Case]:
    made = [Case(program(PROGRAMS / "profiled.py"), False, kind="profiler", weight=3)]
    tests = ("-m", "pytest", "-p", "streamsan.pytest_plugin", "-p", "no:cacheprovider", "--streamsan", "-q")
    words = (sys.executable, *tests, str(ROOT / "tests/gpu/watched_cases.py"))
    exits = ("--error-exitcode", "1")
    made.append(Case(words, True, kind="pytest", says="1 failed, 2 passed", options=exits, weight=3))
    if jemalloc:
        words = program(PROGRAMS / "train_step.py", "--steps", "50", "--loaded", "libjemalloc")
        made.append(Case(words, False, preload=jemalloc, weight=3))
    else:
        print("not run: libjemalloc.so.2 is neither beside the build nor installed", flush=True)
    return made


class Runner:
    def __init__(self, streamsan: str, keep: str, gpus: int, confirm: bool) -> None:
        self.streamsan, self.keep, self.gpus, self.confirm = streamsan, keep, gpus, confirm
        self.trials: collections.Counter[str] = collections.Counter()

    def environment(self, case: Case, number: int) -> dict[str, str]:
        environment = dict(os.environ)
        if case.gpus == 1 and "CUDA_VISIBLE_DEVICES" not in environment:
            environment["CUDA_VISIBLE_DEVICES"] = str(number % self.gpus)
        if case.preload:
            environment["LD_PRELOAD"] = case.preload
        if case.kind == "pytest":
            beside = pathlib.Path(self.streamsan).resolve().parents[1] / "py"
            found = importlib.util.find_spec("pytest") is not None
            paths = [str(ROOT / "python"), *([] if found else [str(beside)]), environment.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        return environment

    def call(self, command: list[str], environment: dict[str, str], end_after: int = 0) -> tuple[int, str]:
        """Exit code and output; -1: no end in time."""
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            started = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment,
                                       start_new_session=True)  # fmt: skip
            try:
                code = started.wait(end_after or LIMIT)
            except subprocess.TimeoutExpired:
                code = self.end(started)
            output.seek(0)
            text = output.read()
        return (code if end_after or code >= 0 else -1), text

    @staticmethod
    def end(started: subprocess.Popen[bytes]) -> int:
        os.killpg(started.pid, signal.SIGTERM)
        try:
            started.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        return -1

    def run(self, case: Case, number: int) -> tuple[str, str]:
        """Why it failed, or ""; what else there is to say."""
        with tempfile.TemporaryDirectory() as folder:
            folder = self.keep or folder
            if case.kind == "ablate":
                return self.ablate(case, number, folder)
            if case.kind == "profiler":
                plain = self.call(list(case.words), self.environment(case, number))[1]
                case = dataclasses.replace(case, says=line_with("profiled:", plain) or "profiled: in the run without")
            report, trace = os.path.join(folder, f"{number}.json"), os.path.join(folder, f"{number}.traces")
            kept = ["-o", trace] if self.keep or self.confirm else []
            options = ["--format", "json", "--report", report, *kept, *case.options]
            command = [self.streamsan, "run", *options, "--", *case.words]
            code, output = self.call(command, self.environment(case, number), case.end_after)
            said = read(report)
            if said is None:
                return f"exit code {code}, no report\n{output[-2000:]}", ""
            trouble = judge(case, code, said, output)
            struck = case.hazards and not case.says and "NOT FINITE" in output
            note = "data not finite: the fault struck" if struck else ""
            tried = case.hazards and not case.options and not any(word in case.name for word in NOT_TRIED)
            if self.confirm and tried and not trouble and case.kind == "run":
                note = "; ".join(filter(None, [note, self.try_out(case, number, folder, trace)]))
            return trouble, note

    def ablate(self, case: Case, number: int, folder: str) -> tuple[str, str]:
        trace = os.path.join(folder, f"{number}.traces")
        os.makedirs(trace, exist_ok=True)
        if "compiled" in case.name:  # what is compiled first is also timed, over and over
            self.call(list(case.words), self.environment(case, number))
        command = [self.streamsan, "record", "-o", trace, "--", *case.words]
        code, output = self.call(command, self.environment(case, number))
        traces = by_size(trace)
        if code != 0 or not traces:
            return f"exit code {code}, {len(traces)} traces\n{output[-2000:]}", ""
        oracle = os.path.join(os.path.dirname(self.streamsan), "ablation_oracle")
        code, output = self.call([oracle, "--least", "95", "--waits", "250", str(traces[0])], dict(os.environ))
        total = output.strip().splitlines()[-1] if output.strip() else ""
        found = re.search(r"(\d+) load-bearing, (\d+) of them", total)
        if code != 0 or not found or int(found[1]) < LOAD_BEARING:
            return f"exit code {code}: {output[-2000:]}", ""
        return "", total

    def try_out(self, case: Case, number: int, folder: str, trace: str) -> str:
        """One more run, with the first hazard's first operation held back."""
        traces = by_size(trace)
        report = os.path.join(folder, f"{number}.trial.json")
        options = ["--confirm", "H1", "--from", str(traces[0]), "--hold", "2", "--format", "json", "--report", report]
        output = self.call([self.streamsan, "run", *options, "--", *case.words], self.environment(case, number))[1]
        said = read(report)
        if said is None:
            words = output.strip().splitlines() or [""]
            outcome = "cannot be tried"
            note = f"{outcome}: {words[-1].split('H1: ')[-1][:160]}"
        else:
            seen = [trial["outcome"] for trial in said["trials"]]
            outcome = "confirmed" if "confirmed" in seen else "not confirmed"
            note = outcome if outcome in seen else f"{outcome}: {', '.join(sorted(set(seen)))}"
        self.trials[outcome] += 1
        return note


def line_with(words: str, text: str) -> str:
    return next((line for line in text.splitlines() if words in line), "")


def by_size(trace: str) -> list[pathlib.Path]:
    path = pathlib.Path(trace)
    files = [path] if path.is_file() else list(path.glob("*.sst"))
    return sorted(files, key=lambda file: -file.stat().st_size)


def read(report: str) -> Optional[dict[str, Any]]:
    if not os.path.exists(report):
        return None
    with open(report, encoding="utf-8") as file:
        text = file.read()
    return json.loads(text) if text else None


def judge(case: Case, code: int, said: dict[str, Any], output: str) -> str:
    hazards, coverage = said["hazards"], said["coverage"]
    codes = [hazard["code"] for hazard in hazards]
    words = [f"{hazard['code']} ({hazard['first'] and hazard['first']['name']})" for hazard in hazards]
    tail = f"\n{output[-2000:]}"
    if case.says and case.says not in output:
        return f"exit code {code}, {words}, not said: {case.says}{tail}"
    if case.kind == "ending":
        return judge_ending(case, codes, said, tail)
    if case.kind == "pytest":
        right = codes and code == 1 and "FAILED" in output and "test_race" in output
        return "" if right else f"exit code {code}, {words}{tail}"
    if case.hazards:
        if not codes or code != 66:
            return f"exit code {code}, nothing found{tail if code not in (0, 66) else ''}"
        return "" if explained(case, hazards) else "; ".join(explanations(hazards))
    if codes or code != 0:
        return f"exit code {code}, {words}{tail}"
    resolved = coverage["launches_resolved"] / max(coverage["launches"], 1)
    if coverage["dropped"] or resolved < RESOLVED:
        return f"{coverage['dropped']} records dropped, {100 * resolved:.1f}% of the launches resolved"
    return ""


def judge_ending(case: Case, codes: list[str], said: dict[str, Any], tail: str) -> str:
    """A job that hung or was killed has its report, with what was last on each stream."""
    if case.hazards != bool(codes) or (case.code and case.code not in codes):
        return f"{codes}{tail}"
    died = "OutOfMemoryError" not in case.says  # which comes to its end
    return "" if bool(said["running"]) == died else f"{len(said['running'])} streams with work{tail}"


def explained(case: Case, hazards: list[dict[str, Any]]) -> bool:
    if case.code and any(hazard["code"] != case.code for hazard in hazards):
        return False
    return any(case.cause in (hazard["root_cause"] or "") and case.fix in (hazard["fix"] or {"text": ""})["text"]
               for hazard in hazards)  # fmt: skip


def explanations(hazards: list[dict[str, Any]]) -> list[str]:
    return [f"{hazard['code']}: {hazard['root_cause']} Fix: {(hazard['fix'] or {'text': ''})['text']}" for hazard in hazards]


def passed(case: Case, lines: list[str]) -> bool:
    """Whether `lines` of an earlier output say so."""
    words = [line.rstrip("\n").split("  ", 1)[1].split(" ", 1)[1] for line in lines if line.startswith("pass  ")]
    return any(word == case.name or word.startswith(case.name + ": ") for word in words)


def find_jemalloc(streamsan: str) -> str:
    beside = pathlib.Path(streamsan).resolve().parents[1] / "lib" / "libjemalloc.so.2"
    installed = pathlib.Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    return next((str(path) for path in (beside, installed) if path.exists()), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("streamsan")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose command has this in it")
    parser.add_argument("--done", default="", metavar="FILE", help="not those that passed in this earlier output")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--keep", default="", help="a folder for reports and traces, named by the case's number")
    parser.add_argument("--confirm", action="store_true", help="put what was found to the test")
    parser.add_argument("--list", action="store_true", help="the cases' names only")
    options = parser.parse_args()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    try:
        import torch

        gpus = torch.cuda.device_count()
    except ImportError:
        gpus = 0
    made = [*trainings(options.steps), *pairs(), *incidents(), *experiments(), *endings()]
    made += neighbours(find_jemalloc(options.streamsan))
    made.sort(key=lambda case: -case.weight)
    done = pathlib.Path(options.done).read_text(encoding="utf-8").splitlines() if options.done else []
    chosen = [case for case in made if re.search(options.only, case.name) and not passed(case, done)]
    chosen = [case for case in chosen if case.gpus <= gpus or options.list]
    if options.list:
        print("\n".join(case.name for case in chosen))
        return 0
    runner = Runner(options.streamsan, options.keep, gpus, options.confirm)
    return run_all(runner, chosen, options.jobs)


def run_all(runner: Runner, chosen: list[Case], jobs: int) -> int:
    failed, begin = 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(runner.run, case, number): number for number, case in enumerate(chosen)}
        for end in concurrent.futures.as_completed(running):
            number = running[end]
            trouble, note = end.result()
            failed += bool(trouble)
            words = f"{'FAIL' if trouble else 'pass'}  {number} {chosen[number].name}"
            print(": ".join(filter(None, [words, trouble, note])), flush=True)
    if runner.confirm:
        print(", ".join(f"{count} {outcome}" for outcome, count in sorted(runner.trials.items())))
    print(f"{time.monotonic() - begin:.0f} s")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
