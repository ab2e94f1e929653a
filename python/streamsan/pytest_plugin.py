"""``pytest --streamsan``: the tests run under ``streamsan run``, and the test that causes a hazard fails with
the report as its failure text.

Without the option this module does nothing. With it, pytest starts itself again as a watched process; what
is found after the last test (a lifetime hazard that nobody's allocation decided) is in the report at the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import Any, Optional

import pytest

from . import _session
from ._installation import installation
from ._report import Hazard, Report


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
    """Asks around every test what is new."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._late: list[tuple[str, str]] = []  # (test after which it was found, text)

    def _news(self) -> tuple[list[Hazard], str]:
        report, text = _session._ask(timeout=300.0)
        return ([], "") if report is None else (self._unseen(report), text)

    def _unseen(self, report: Report) -> list[Hazard]:
        news = [hazard for hazard in report.hazards if hazard.id not in self._known]
        self._known.update(hazard.id for hazard in news)
        return news

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        late, text = self._news()
        if late:  # set-up, fixtures, or what the test before left to this moment
            self._late.append((item.nodeid, _describe(late, text)))
        outcome = yield
        if outcome.excinfo is not None:
            return
        news, text = self._news()
        if news:
            outcome.force_exception(pytest.fail.Exception(_describe(news, text), pytrace=False))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._late and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for nodeid, text in self._late:
            terminalreporter.section(f"StreamSan: between the tests, before {nodeid}")
            terminalreporter.write_line(text)


def _describe(hazards: list[Hazard], text: str) -> str:
    names = ", ".join(f"{hazard.code} {hazard.alias}" for hazard in hazards)
    return f"StreamSan: {len(hazards)} new hazard{'s' * (len(hazards) != 1)}: {names}\n\n{text}"
