"""Analysis of recorded traces."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Union

from ._report import Report

Path = Union[str, "os.PathLike[str]"]


def _core() -> ModuleType:
    try:
        from . import _core as core
    except ImportError as error:
        raise ImportError(
            f"streamsan's extension module does not load in this Python ({error}); install the package "
            "for this Python, or use the command: streamsan check"
        ) from error
    return core


def check(
    *paths: Path,
    min_confidence: str = "likely",
    strict: bool = False,
    suppressions: Path = "",
) -> Report:
    """Analyses traces (.sst), directories of them and litmus files; one report over all.

    `min_confidence` is "certain", "likely" or "possible"; `strict` takes no order from CPU synchronisation
    that was not seen (docs/semantics.md, rule 3); `suppressions` is a file of lines CODE:GLOB.
    Other Python threads run meanwhile. ValueError: an input that cannot be read, with its place.
    """
    if not paths:
        raise TypeError("check() needs a path")
    text = _core().check(
        [os.fspath(path) for path in paths], min_confidence, strict, os.fspath(suppressions)
    )
    return Report.from_json(text)


def check_text(*paths: Path, min_confidence: str = "likely") -> str:
    """The report for people, as `streamsan check` prints it."""
    return str(_core().check([os.fspath(path) for path in paths], min_confidence, False, "", True))
