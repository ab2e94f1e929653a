"""Where the parts of this installation are: the same shape in a wheel and in a build tree."""

from __future__ import annotations

import dataclasses
import os
from typing import Optional

_HERE = os.path.dirname(os.path.abspath(__file__))


@dataclasses.dataclass(frozen=True)
class Installation:
    command: Optional[str]  #: the `streamsan` program
    capture_library: Optional[str]  #: what it preloads into the watched program
    include: Optional[str]  #: folder of streamsan/annotate.h
    site: str  #: the folder that `streamsan run` puts first in PYTHONPATH


def _existing(*parts: str) -> Optional[str]:
    path = os.path.join(_HERE, *parts)
    return path if os.path.exists(path) else None


def installation() -> Installation:
    """Absolute paths; None for what is not there (an incomplete installation)."""
    return Installation(
        command=_existing("bin", "streamsan"),
        capture_library=os.environ.get("STREAMSAN_CAPTURE_LIBRARY")
        or _existing("lib", "libstreamsan_capture.so"),
        include=_existing("include"),
        site=os.path.join(_HERE, "_site"),
    )
