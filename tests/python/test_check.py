"""streamsan.check: real traces and litmus files through the extension module."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import threading

import pytest

import streamsan

TRACES = "tests/gpu_traces/h200"


def test_a_faulty_trace_has_its_hazard_with_a_verified_fix(root: pathlib.Path) -> None:
    report = streamsan.check(root / TRACES / "i1_missing-compute-record.sst")
    assert [hazard.code for hazard in report] == ["lifetime"] * len(report)
    hazard = report.hazards[0]
    assert hazard.confidence in ("likely", "certain")
    assert hazard.fix is not None and hazard.fix.verified
    assert hazard.first is not None and hazard.first.op > 0
    assert hazard.first.stack, "a recorded operation has a call stack"
    assert hazard.missing_edge is not None
    assert report.with_code("lifetime") == report.hazards
    assert report.with_code("race-raw") == ()


def test_a_fixed_trace_has_none(root: pathlib.Path) -> None:
    report = streamsan.check(root / TRACES / "i1_none.sst")
    assert len(report) == 0
    assert report, "an empty report is no falsehood"
    assert report.coverage.launches > 0
    assert report.coverage.dropped == 0


def test_several_inputs_are_one_report(root: pathlib.Path) -> None:
    faulty = [root / TRACES / "i1_missing-compute-record.sst", root / TRACES / "i2_wrong-producer.sst"]
    together = streamsan.check(*faulty)
    apart = [streamsan.check(path) for path in faulty]
    assert sorted(h.code for h in together) == sorted(h.code for report in apart for h in report)
    assert {hazard.source for hazard in together} != {None}


def test_python_says_what_the_command_says(root: pathlib.Path, command: str) -> None:
    path = str(root / TRACES / "i3_alloc-after-wait.sst")
    said = subprocess.run([command, "check", "--format", "json", path], capture_output=True, text=True)
    assert said.returncode == 66
    from_command = json.loads(said.stderr)
    raw = dict(streamsan.check(path).raw)
    for report in (from_command, raw):
        report["stats"].pop("seconds")
    assert raw == from_command


def test_confidence_and_strictness(root: pathlib.Path) -> None:
    examples = root / "tests/litmus/examples"
    lax = streamsan.check(examples / "r03_threads_default_ok.litmus")
    strict = streamsan.check(examples / "r03_threads_strict_bad.litmus", strict=True)
    assert len(lax) == 0
    assert len(strict) > 0


def test_suppressions(root: pathlib.Path, tmp_path: pathlib.Path) -> None:
    trace = root / TRACES / "i2_wrong-producer.sst"
    file = tmp_path / "suppressions"
    file.write_text("race-raw:*\nlifetime:nothing-like-it\n")
    report = streamsan.check(trace, suppressions=file)
    assert report.with_code("race-raw") == ()
    assert report.suppressed > 0


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda folder: folder / "missing.sst", "missing.sst"),
        (lambda folder: _written(folder / "bad.sst", b"not a trace at all"), "bad.sst"),
        (lambda folder: _written(folder / "bad.litmus", b"frobnicate\n"), "bad.litmus"),
    ],
)
def test_bad_input_is_a_value_error_that_names_it(tmp_path, make, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=words):
        streamsan.check(make(tmp_path))


def _written(path: pathlib.Path, content: bytes) -> pathlib.Path:
    path.write_bytes(content)
    return path


def test_wrong_arguments(root: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="certain, likely, possible"):
        streamsan.check(root / TRACES / "i1_none.sst", min_confidence="sure")
    with pytest.raises(TypeError):
        streamsan.check()


def test_data_classes_are_frozen(root: pathlib.Path) -> None:
    report = streamsan.check(root / TRACES / "i1_none.sst")
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.program = "another"  # type: ignore[misc]


def test_a_report_survives_json(root: pathlib.Path) -> None:
    report = streamsan.check(root / TRACES / "i1_missing-compute-record.sst")
    assert streamsan.Report.from_json(json.dumps(report.raw)) == report
    with pytest.raises(ValueError, match="schema"):
        streamsan.Report.from_json('{"schema": 2}')


def test_two_threads_at_once(root: pathlib.Path) -> None:
    found: list[int] = []
    path = root / TRACES / "i1_missing-compute-record.sst"
    threads = [threading.Thread(target=lambda: found.append(len(streamsan.check(path)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and found[0] == found[1] > 0
