"""The report as data classes. They follow the JSON report (docs/options.md), whose keys are only ever added."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Frame:
    """One frame of a call stack; what is not known is None (line: None)."""

    fn: Optional[str]
    file: Optional[str]
    line: Optional[int]
    module: Optional[str]
    offset: Optional[int]

    def __str__(self) -> str:
        if self.file:
            return f"{self.file}:{self.line}"
        return f"{self.module or '?'}+0x{self.offset or 0:x}"


@dataclasses.dataclass(frozen=True)
class Site:
    """One operation of a finding: what it was, where it ran, which bytes of the buffer it touched."""

    op: int
    name: Optional[str]
    lane: Optional[str]
    rank: int
    access: Optional[str]
    stack: tuple[Frame, ...]
    host: Optional[str]
    range: Optional[tuple[int, int]]
    rows: Optional[dict]
    direction: Optional[str]
    extent: Optional[str]


@dataclasses.dataclass(frozen=True)
class Buffer:
    """The memory of a finding. `range` are the bytes in conflict, relative to its beginning."""

    name: Optional[str]
    bytes: int
    range: tuple[int, int]
    owner: Optional[str]
    stack: tuple[Frame, ...]


@dataclasses.dataclass(frozen=True)
class Fix:
    """A fix that was put into the program and judged again: the hazard was gone, nothing new came."""

    kind: str
    consumer: Optional[str]
    producer: Optional[str]
    buffer: Optional[str]
    text: str
    verified: bool
    alike: int
    cost: Optional[str]


@dataclasses.dataclass(frozen=True)
class Hazard:
    """One finding. For `lifetime`, `first` is the uncovered use, `second` the free (or the allocation) and
    `reuse` who got the storage."""

    id: str
    alias: str
    code: str
    severity: str
    confidence: str
    count: int
    struck: bool
    buffer: Buffer
    first: Optional[Site]
    second: Optional[Site]
    reuse: Optional[Site]
    missing_edge: Optional[tuple[Optional[str], Optional[str]]]
    root_cause: Optional[str]
    fixes: tuple[Fix, ...]
    evidence: tuple[str, ...]
    source: Optional[str]

    @property
    def fix(self) -> Optional[Fix]:
        """The first verified fix."""
        return self.fixes[0] if self.fixes else None

    def __str__(self) -> str:
        return f"{self.alias} {self.code} ({self.confidence}): {self.root_cause or self.buffer.name}"


@dataclasses.dataclass(frozen=True)
class Advice:
    """Something that is no hazard and worth knowing."""

    code: str
    subject: Optional[str]
    text: str
    count: int
    stack: tuple[Frame, ...]


@dataclasses.dataclass(frozen=True)
class Coverage:
    """What was seen and understood. No hazards and incomplete coverage is not "clean"."""

    complete: bool
    dropped: int
    percent: int
    late: bool
    calls: int
    calls_modelled: int
    launches: int
    launches_resolved: int
    muted_private: int
    unmodelled: Mapping[str, int]
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Stats:
    operations: int
    accesses: int
    lanes: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Report:
    """Hazards, advice and coverage of one or several traces. Iterating gives the hazards."""

    program: Optional[str]
    hazards: tuple[Hazard, ...]
    advice: tuple[Advice, ...]
    coverage: Coverage
    stats: Stats
    below_confidence: int
    suppressed: int
    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)

    def __iter__(self) -> Iterator[Hazard]:
        return iter(self.hazards)

    def __len__(self) -> int:
        return len(self.hazards)

    def __bool__(self) -> bool:  # a report without hazards is still a report
        return True

    def with_code(self, code: str) -> tuple[Hazard, ...]:
        """The hazards of one code, e.g. "lifetime"."""
        return tuple(hazard for hazard in self.hazards if hazard.code == code)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """From the text of ``--format json``. ValueError: not such a report."""
        root = json.loads(text)
        if not isinstance(root, dict) or root.get("schema") != 1:
            raise ValueError("not a StreamSan report: no \"schema\": 1")
        return _report(root)


class HazardsFound(AssertionError):
    """Raised by :func:`streamsan.assert_clean`; `report` has the hazards."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


def _pick(kind: type[T], source: Mapping[str, Any], **changed: Any) -> T:
    """The fields of `kind` from `source`. A key that an older tool did not write is None."""
    values = {field.name: source.get(field.name) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values.update(changed)
    return kind(**values)


def _frames(source: Optional[Sequence[Mapping[str, Any]]]) -> tuple[Frame, ...]:
    return tuple(_pick(Frame, frame) for frame in source or ())


def _site(source: Optional[Mapping[str, Any]]) -> Optional[Site]:
    if source is None:
        return None
    touched = source["range"]
    return _pick(
        Site, source, stack=_frames(source["stack"]), range=tuple(touched) if touched else None
    )


def _hazard(source: Mapping[str, Any]) -> Hazard:
    buffer = source["buffer"]
    edge = source["missing_edge"]
    return _pick(
        Hazard,
        source,
        buffer=_pick(
            Buffer, buffer, range=tuple(buffer["range"]), stack=_frames(buffer.get("stack"))
        ),
        first=_site(source["first"]),
        second=_site(source["second"]),
        reuse=_site(source.get("reuse")),
        missing_edge=(edge["from"], edge["to"]) if edge else None,
        fixes=tuple(_pick(Fix, fix) for fix in source.get("fixes") or ()),
        evidence=tuple(source.get("evidence") or ()),
    )


def _report(root: Mapping[str, Any]) -> Report:
    coverage = root["coverage"]
    hidden = root.get("hidden") or {}
    return Report(
        program=root["program"]["name"],
        hazards=tuple(_hazard(hazard) for hazard in root["hazards"]),
        advice=tuple(_pick(Advice, item, stack=_frames(item.get("stack"))) for item in root["advice"]),
        coverage=_pick(
            Coverage,
            coverage,
            unmodelled={item["name"]: item["count"] for item in coverage["unmodelled"]},
            notes=tuple(coverage.get("notes") or ()),
        ),
        stats=_pick(Stats, root["stats"]),
        below_confidence=hidden.get("below_confidence", 0),
        suppressed=hidden.get("suppressed", 0),
        raw=root,
    )
