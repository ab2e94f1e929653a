"""What a watched program may ask about its own session."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator
from typing import Optional

from . import _torch, annotate
from ._report import Coverage, HazardsFound, Report, Stats


class NotWatched(RuntimeError):
    """This process has no session that answers: it was not started by `streamsan run`."""


class Session:
    """This process's session. Every property may be asked at any time and changes nothing."""

    @property
    def active(self) -> bool:
        """The capture library is in this process, and `streamsan run` or `record` started it."""
        return annotate.active() and bool(os.environ.get("STREAMSAN_SOCKET"))

    @property
    def answers(self) -> bool:
        """The session can be asked: `streamsan run`, not `record`."""
        return self.active and bool(os.environ.get("STREAMSAN_ANSWERS"))

    @property
    def pid(self) -> int:
        return os.getpid()

    @property
    def pytorch(self) -> str:
        """What of PyTorch is seen, in words; "" where the plug-in has not attached (CUDA is not in use)."""
        return _torch.state()

    def report(self, timeout: float = 60.0) -> Report:
        """What has been found of this process so far. Waits until everything that it did has been analysed,
        `timeout` seconds at most (TimeoutError). Its coverage is not filled in: that is known at the end.

        A lifetime hazard is decided when its stream's pool next hands memory out; one that waits for that is
        not in here yet. NotWatched: nobody answers this process.
        """
        return _ask(timeout)[0] or _NOTHING

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing of this process is recorded inside, and the report's coverage is incomplete: for measuring
        what being watched costs."""
        annotate.pause(True)
        _torch.pause(True)
        try:
            yield
        finally:
            _torch.pause(False)
            annotate.pause(False)

    def __repr__(self) -> str:
        return f"<streamsan.Session active={self.active} pid={self.pid} pytorch={self.pytorch!r}>"


_session = Session()
_NOTHING = Report(
    program=None,
    hazards=(),
    advice=(),
    coverage=Coverage(True, 0, 100, False, 0, 0, 0, 0, 0, {}, ()),
    stats=Stats(0, 0, 0, 0.0),
    below_confidence=0,
    suppressed=0,
    raw={},
)


def session() -> Session:
    """Whether this process is watched, what of it is seen, and what has been found."""
    return _session


def _ask(timeout: float) -> tuple[Optional[Report], str, int]:
    """The report so far, the same for people, and the number of the last operation. None: this process did nothing that
    could be judged."""
    folder = os.environ.get("STREAMSAN_ANSWERS")
    if not _session.active or not folder:
        raise NotWatched("not started by `streamsan run`: there is nobody to ask")
    token = random.SystemRandom().getrandbits(63)
    path = os.path.join(folder, f"{token:x}.json")
    if not annotate.mark(token):
        return None, "", 0
    end = time.monotonic() + timeout
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError(f"no answer from streamsan within {timeout} s")
        time.sleep(0.001)
    texts = []
    for kind in ("json", "txt", "op"):
        name = path[: -len("json")] + kind
        with open(name, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
        os.unlink(name)
    return Report.from_json(texts[0]), texts[1], int(texts[2])


def assert_clean(timeout: float = 60.0) -> None:
    """Raises :class:`HazardsFound`, with the report as its text, if a hazard has been found so far.

    Does nothing where the process is not watched, so that tests may leave it in.
    """
    if not _session.answers:
        return
    report, text, _ = _ask(timeout)
    if report is not None and report.hazards:
        raise HazardsFound(text, report)
