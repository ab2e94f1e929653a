"""StreamSan: finds GPU synchronisation bugs from one ordinary run.

Most programs need nothing of this module: ``streamsan run -- python train.py`` watches them as they are.
Here are the analysis of recorded traces (:func:`check`), what a program may ask and say while it is watched
(:func:`session`, :mod:`streamsan.annotate`, :func:`assert_clean`), and the typed report.
"""

from __future__ import annotations

from . import annotate
from ._check import check
from ._installation import installation
from ._report import (
    Advice,
    Buffer,
    Coverage,
    Fix,
    Frame,
    Hazard,
    HazardsFound,
    Report,
    Site,
    Stats,
)
from ._session import Session, assert_clean, session

__version__ = "0.1.0"
__all__ = [
    "Advice",
    "Buffer",
    "Coverage",
    "Fix",
    "Frame",
    "Hazard",
    "HazardsFound",
    "Report",
    "Session",
    "Site",
    "Stats",
    "annotate",
    "assert_clean",
    "check",
    "installation",
    "session",
]
