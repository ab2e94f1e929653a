"""``pytest --streamsan``: the tests run under ``streamsan run``, and the test that causes a hazard fails with
the report as its failure text.

Without the option this module does nothing. With it, pytest starts itself again as a watched process. What is found
only after its test (a lifetime hazard, when somebody's allocation decides it) is listed at the end with the test that
caused it, and the run fails; what nobody's allocation decides is in the report after that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import Any, Optional

import pytest

from . import _session
from ._installation import installation
from ._report import Hazard


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("streamsan")
    group.addoption(
        "--streamsan", action="store_true", help="fail tests that cause GPU synchronisation hazards"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Optional[int]:
    if not config.getoption("--streamsan"):
        return None
    if _session.session().answers:
        config.pluginmanager.register(_Watcher(), "streamsan-watcher")
        return None
    command = installation().command
    if command is None:
        raise pytest.UsageError("--streamsan: this installation has no program bin/streamsan")
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:  # exec keeps descriptors: give the real ones back first
        capture.stop_global_capturing()
    # Hazards fail their tests; the exit code stays pytest's.
    words = [command, "run", "--error-exitcode", "1", "--", sys.executable, "-m", "pytest"]
    os.execv(command, [*words, *config.invocation_params.args])
    return None


class _Watcher:
    """Asks around every test what is new. A lifetime hazard is known when the storage could be handed out again,
    which may be in a later test: the free's place in the program says which test it was, whose outcome is out by then."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._ends: list[tuple[int, str]] = []  # the last operation of a test, its id
        self._late: list[tuple[str, str]] = []  # (who caused it, text)

    def _ask(self) -> tuple[int, list[Hazard], str]:
        """The last operation's number, new hazards, the report."""
        report, text, last = _session._ask(timeout=300.0)
        if report is None:
            return 0, [], ""
        news = [hazard for hazard in report.hazards if hazard.id not in self._known]
        self._known.update(hazard.id for hazard in news)
        return last, news, text

    def _cause(self, hazard: Hazard) -> str:
        place = _place(hazard)
        ends = [nodeid for operations, nodeid in self._ends if place <= operations]
        return f"caused by {ends[0]}" if ends else "between the tests"

    def _keep(self, hazards: list[Hazard], text: str, found: str) -> None:
        for cause in dict.fromkeys(self._cause(hazard) for hazard in hazards):
            of_it = [hazard for hazard in hazards if self._cause(hazard) == cause]
            self._late.append((f"{cause}, found {found}", _describe(of_it, text)))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        begin, late, text = self._ask()
        if late:  # set-up, fixtures, or what a test before left to this moment
            self._keep(late, text, f"before {item.nodeid}")
        outcome = yield
        end, news, text = self._ask()
        older = [hazard for hazard in news if _place(hazard) <= begin]
        if older:
            self._keep(older, text, f"in {item.nodeid}")
        self._ends.append((end, item.nodeid))
        own = [hazard for hazard in news if _place(hazard) > begin]
        if own and outcome.excinfo is None:
            outcome.force_exception(pytest.fail.Exception(_describe(own, text), pytrace=False))
        elif own:
            self._keep(own, text, "beside its own failure")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._late and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for title, text in self._late:
            terminalreporter.section(f"StreamSan: {title}")
            terminalreporter.write_line(text)


def _place(hazard: Hazard) -> int:
    """Where in the program it was made: the later of its two operations (of a lifetime hazard the free)."""
    return max(site.op for site in (hazard.first, hazard.second) if site is not None)


def _describe(hazards: list[Hazard], text: str) -> str:
    names = ", ".join(f"{hazard.code} {hazard.alias}" for hazard in hazards)
    return f"StreamSan: {len(hazards)} new hazard{'s' * (len(hazards) != 1)}: {names}\n\n{text}"
