"""The package in a process that nobody watches, and its command."""

from __future__ import annotations

import subprocess
import sys

import pytest

import streamsan
from streamsan import annotate


def test_annotations_do_nothing_where_the_tool_is_absent() -> None:
    assert not annotate.active()
    annotate.buffer(0x1000, 64, "name")
    annotate.access(0, 0x1000, 64, annotate.Mode.READ)
    with annotate.in_pool(1):
        annotate.pool_alloc(1, 0x1000, 64, 0)
    annotate.pool_free(1, 0x1000)


def test_no_session() -> None:
    session = streamsan.session()
    assert not session.active and not session.answers
    assert session.pytorch == ""
    streamsan.assert_clean()  # silent, so that tests may keep it
    with pytest.raises(RuntimeError, match="streamsan run"):
        session.report()


def test_the_parts_are_there() -> None:
    parts = streamsan.installation()
    assert parts.command and parts.capture_library and parts.include


def test_module_is_the_command(python_path: str) -> None:
    for words, code in ((["--version"], 0), (["frobnicate"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", "streamsan", *words],
            env={"PYTHONPATH": python_path, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code
    version = subprocess.run([streamsan.installation().command, "--version"], capture_output=True, text=True)
    assert version.stdout.strip() == f"streamsan {streamsan.__version__}"


def test_importing_is_cheap_and_imports_no_torch(run_python) -> None:  # type: ignore[no-untyped-def]
    done = run_python("import sys, streamsan; print('torch' in sys.modules, 'streamsan._core' in sys.modules)")
    assert done.stdout.split() == ["False", "False"], done.stderr


def test_doctor_explains(command: str) -> None:
    done = subprocess.run([command, "doctor"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "Python plug-ins" in done.stdout
