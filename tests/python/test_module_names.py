"""What the PyTorch helper is told of modules, without PyTorch."""

from __future__ import annotations

import types
from typing import Any

from streamsan._torch import _Modules


class Module:
    pass


class Told:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, call: str) -> Any:
        return lambda *arguments: self.calls.append((call, *arguments))


def _modules() -> tuple[_Modules, Any]:
    listeners: list[Any] = []
    module = types.SimpleNamespace(register_module_module_registration_hook=listeners.append)
    modules = _Modules(types.SimpleNamespace(nn=types.SimpleNamespace(modules=types.SimpleNamespace(module=module))))
    return modules, listeners[0]


def test_what_lives_when_the_helper_comes_is_told_once() -> None:
    modules, on_child = _modules()
    parent, child, told = Module(), Module(), Told()
    on_child(parent, "old", child)
    on_child(parent, "new", child)
    modules.tell(told)  # type: ignore[arg-type]
    calls = [call for call in told.calls if call[0] != "on_unknown_module"]
    assert sorted(calls) == sorted(
        [
            ("add_module", id(parent), "Module"),
            ("add_module", id(child), "Module"),
            ("set_parent", id(child), id(parent), "new"),
        ]
    )
    of_child = [call[0] for call in calls if call[1] == id(child)]
    assert of_child == ["add_module", "set_parent"]


def test_of_modules_that_are_gone_nothing_is_kept() -> None:
    modules, on_child = _modules()
    for _ in range(1000):
        on_child(Module(), "child", Module())
    told = Told()
    modules.tell(told)  # type: ignore[arg-type]
    assert [call[0] for call in told.calls] == ["on_unknown_module"]


def test_the_helper_is_told_what_is_gone() -> None:
    modules, on_child = _modules()
    told, parent, child = Told(), Module(), Module()
    modules.tell(told)  # type: ignore[arg-type]
    on_child(parent, "child", child)
    key = id(child)
    del child
    assert told.calls[-1] == ("forget_module", key)
