"""What `streamsan run` does to a Python program: nothing that it could notice, but the plug-in."""

from __future__ import annotations

import pathlib
import textwrap

FAKE_TORCH = """
    print("torch executes")
    class version: cuda = {cuda!r}
    class nn:
        class modules:
            class module: pass
    class cuda:
        calls = []
        @staticmethod
        def is_initialized(): return {initialized}
        @classmethod
        def _lazy_call(cls, call): cls.calls.append(call)
"""


def _fake_torch(folder: pathlib.Path, cuda: object = "13.0", initialized: bool = False) -> None:
    package = folder / "torch"
    package.mkdir()
    text = textwrap.dedent(FAKE_TORCH).format(cuda=cuda, initialized=initialized)
    (package / "__init__.py").write_text(text)


def _run(run_python, command, text, **environment):  # type: ignore[no-untyped-def]
    return run_python(textwrap.dedent(text), before=(command, "run", "--"), **environment)


def test_the_path_is_as_without(run_python, command, python_path) -> None:  # type: ignore[no-untyped-def]
    text = "import sys; print(sys.path); print(sorted(m for m in sys.modules if 'streamsan' in m))"
    alone = run_python(text)
    watched = _run(run_python, command, text)
    assert watched.returncode == 0
    assert watched.stdout.splitlines() == alone.stdout.splitlines()
    assert alone.stdout.splitlines()[1] == "[]"


def test_an_existing_sitecustomize_still_runs(run_python, command, python_path, tmp_path) -> None:  # type: ignore[no-untyped-def]
    other = tmp_path / "site"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import sys; sys.from_other = __file__\n")
    text = "import sys, sitecustomize; print(sys.from_other); print(sitecustomize.__file__)"
    done = _run(run_python, command, text, PYTHONPATH=f"{python_path}:{other}")
    assert done.stdout.split() == [str(other / "sitecustomize.py")] * 2, done.stderr


def test_attaches_when_torch_is_imported(run_python, command, python_path, tmp_path) -> None:  # type: ignore[no-untyped-def]
    _fake_torch(tmp_path)
    text = """
        import sys
        import importlib.util
        print('streamsan' in sys.modules, importlib.util.find_spec('torch') is not None)
        import torch
        print(len(torch.cuda.calls), torch.__spec__.loader is not None)
        import torch as again
    """
    done = _run(run_python, command, text, PYTHONPATH=f"{python_path}:{tmp_path}")
    assert done.stdout.split("\n")[:3] == ["False True", "torch executes", "1 True"], done.stderr


def test_says_that_it_came_too_late(run_python, command, python_path, tmp_path) -> None:  # type: ignore[no-untyped-def]
    _fake_torch(tmp_path, initialized=True)
    text = "import torch, streamsan; print(len(torch.cuda.calls)); print(streamsan.session().pytorch)"
    done = _run(run_python, command, text, PYTHONPATH=f"{python_path}:{tmp_path}")
    assert "CUDA was in use before" in done.stdout
    assert "CUDA was in use before" in done.stderr.split("hazard")[-1], "the report's coverage says so"


def test_a_torch_without_cuda_is_left_alone(run_python, command, python_path, tmp_path) -> None:  # type: ignore[no-untyped-def]
    _fake_torch(tmp_path, cuda=None)
    text = "import torch; print(len(torch.cuda.calls))"
    done = _run(run_python, command, text, PYTHONPATH=f"{python_path}:{tmp_path}")
    assert done.stdout.split("\n")[1] == "0"


def test_a_torch_that_is_unlike_torch_does_not_stop_the_program(run_python, command, python_path, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "torch.py").write_text("value = 7\n")
    text = "import torch; print(torch.value)"
    done = _run(run_python, command, text, PYTHONPATH=f"{python_path}:{tmp_path}")
    assert done.stdout.strip() == "7"
    assert "does not know this version" in done.stderr


def test_children_are_watched_too(run_python, command) -> None:  # type: ignore[no-untyped-def]
    text = """
        import subprocess, sys
        child = "import sys, os; print(type(sys.meta_path[0]).__name__, bool(os.environ['STREAMSAN_SOCKET']))"
        print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout)
    """
    done = _run(run_python, command, text)
    assert done.stdout.split() == ["_Waiting", "True"], done.stderr


def test_not_watched_means_not_attached(run_python, python_path) -> None:  # type: ignore[no-untyped-def]
    site = f"{python_path}/streamsan/_site"
    text = "import sys; print(any(type(f).__name__ == '_Waiting' for f in sys.meta_path))"
    assert run_python(text, PYTHONPATH=site).stdout.strip() == "False"


def test_the_experiment_reaches_the_plug_in(run_python, command) -> None:  # type: ignore[no-untyped-def]
    text = "import os; print(os.environ.get('STREAMSAN_ALLOCATOR'))"
    for options, said in ((("--allocator=poison",), "poison"), (("--allocator", "hold"), "hold"), ((), "None")):
        assert run_python(text, before=(command, "run", *options, "--")).stdout.split() == [said]
    done = run_python(text, before=(command, "run", "--allocator=shuffle", "--"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "shuffle" in done.stderr
