"""These tests need neither torch nor a GPU. They run on the package of a build tree (PYTHONPATH says which)
or on an installed wheel."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import pytest

import streamsan

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytest_plugins = ["pytester"]


@pytest.fixture
def root() -> pathlib.Path:
    return ROOT


@pytest.fixture
def command() -> str:
    path = streamsan.installation().command
    assert path, "the package has no program: build it"
    return path


@pytest.fixture
def python_path() -> str:
    """PYTHONPATH with which a child finds the package that is tested."""
    return os.path.dirname(os.path.dirname(os.path.abspath(streamsan.__file__)))


@pytest.fixture
def run_python(python_path: str, tmp_path: pathlib.Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs a program text in a new Python; keyword arguments are its environment."""

    def run(
        text: str, *, before: tuple[str, ...] = (), interpreter: tuple[str, ...] = (sys.executable,), **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        program = tmp_path / "program.py"
        with tempfile.NamedTemporaryFile("w", dir=tmp_path, delete=False) as new:
            new.write(text)
        os.replace(new.name, program)  # as a whole: tests start several at once
        own = {name: value for name, value in os.environ.items() if not name.startswith("STREAMSAN")}
        own.update({"PYTHONPATH": python_path, **environment})
        return subprocess.run(
            [*before, *interpreter, str(program)], env=own, capture_output=True, text=True, timeout=120
        )

    return run
