"""Which changes of a pipeline's state are noticed.  Pure.

    failed           a half, or one of several databases, has failed; a half says nothing any more; a table is
                     set aside, or has stopped
    unsupported_ddl  a table has stopped because the target can't take its new shape
    at_risk          the log that is still needed may be lost within a day
    letters          records of a table were set aside
    slo              tables had more bad minutes than is promised
    recovered        what was noticed is no longer so

In: both halves as they were reported.  Out: a notice when one of these begins, again after a while as long as
it stands, and one when it ends.
"""

from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Final, NamedTuple

from wrackline.consumers.batch.evolve import CANT_TAKE, NAME_TAKEN, SHAPE_CHANGED
from wrackline.control.runtime.services.status import SILENT, half_trouble
from wrackline.control.runtime.slo.slo_report import SloReport, broken_promise
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard, HalfState
from wrackline.schemas.message_texts import for_reader

FAILED, UNSUPPORTED_DDL, AT_RISK, LETTERS, SLO, RECOVERED = (
    "failed",
    "unsupported_ddl",
    "at_risk",
    "letters",
    "slo",
    "recovered",
)
_OF_SHAPE: Final = frozenset({SHAPE_CHANGED.code, CANT_TAKE.code, NAME_TAKEN.code})
_TASK_DOWN: Final = ("failed", "silent")
_RISK_S: Final = 86_400


class Condition(NamedTuple):
    """Something that needs somebody, and what it is about: a half, a table or a database."""

    kind: str
    about: str


class Notice(NamedTuple):
    """A change to tell somebody of."""

    pipeline: str
    kind: str
    about: str
    error: Document
    at_ms: int
    over: str = ""  # the kind that was noticed, if it is recovered and nothing else of that kind stands


def conditions(
    pipeline: str, halves: Mapping[Half, HalfBoard], at_ms: int, slo: SloReport | None = None
) -> dict[Condition, Document]:
    """Return all that needs somebody now, each with its error."""
    found = {
        condition: error
        for half in Half
        for condition, error in _of_half(pipeline, half, halves[half], at_ms)
    }
    broken = None if slo is None else broken_promise(pipeline, slo)
    return found if broken is None else {**found, Condition(SLO, "freshness"): broken}


class NoticeRules:
    """Remembers what was noticed of one pipeline."""

    def __init__(self, pipeline: str, wanted: frozenset[str], again_ms: int) -> None:
        self._pipeline, self._wanted, self._again_ms = pipeline, wanted, again_ms
        self._noticed: dict[Condition, int] = {}  # when last

    def changes(self, now: Mapping[Condition, Document], at_ms: int) -> list[Notice]:
        """Return the notices that are due."""
        made = []
        for condition, error in now.items():
            last = self._noticed.get(condition)
            if last is not None and last > at_ms:  # the clock was set back
                self._noticed[condition] = last = at_ms
            if condition.kind in self._wanted and (last is None or at_ms - last >= self._again_ms):
                self._noticed[condition] = at_ms
                made.append(Notice(self._pipeline, *condition, error, at_ms))
        for condition in self._noticed.keys() - now.keys():
            del self._noticed[condition]
            if RECOVERED in self._wanted:
                made.append(_recovery(self._pipeline, condition, now, at_ms))
        return made


def recoveries(pipeline: str, now: Mapping[Condition, Document], at_ms: int) -> list[Notice]:
    """Return a notice for each kind of which nothing stands, whether or not something did before."""
    return [
        _recovery(pipeline, Condition(kind, pipeline), now, at_ms)
        for kind in (FAILED, UNSUPPORTED_DDL, AT_RISK, LETTERS, SLO)
        if not _stands(kind, now)
    ]


def _recovery(pipeline: str, past: Condition, now: Mapping[Condition, Document], at_ms: int) -> Notice:
    error = {"code": "", "sentence": f"{past.kind} no longer", "hint": ""}
    over = "" if _stands(past.kind, now) else past.kind
    return Notice(pipeline, RECOVERED, past.about, error, at_ms, over)


def _stands(kind: str, now: Mapping[Condition, Document]) -> bool:
    return any(one.kind == kind for one in now)


def _of_half(pipeline: str, half: Half, known: HalfBoard, at_ms: int) -> Iterator[tuple[Condition, Document]]:
    trouble = half_trouble(pipeline, half, known, at_ms)
    if trouble is not None and (known.state is HalfState.FAILED or trouble.code == SILENT.code):
        yield Condition(FAILED, half.value), trouble.document()
    down = [one for one in known.report.get("tasks", ()) if one["error"] and one["state"] in _TASK_DOWN]
    for task in down:
        yield Condition(FAILED, f"{half.value} task {task['task']}"), task["error"]
    of_these = {name for task in down for name in task["databases"]}
    for name, database in known.report.get("databases", {}).items():
        left = database["lost_in_s"]
        if left is not None and left < _RISK_S:
            sentence = f"the log of {name} that is still needed may be lost in {round(left):,} s"
            yield Condition(AT_RISK, name), {"code": "", "sentence": sentence, "hint": "wrackline status"}
        failed = database.get("state") == HalfState.FAILED.value and name not in of_these
        if failed and database.get("error"):  # others are read
            yield Condition(FAILED, f"database {name}"), database["error"]
    for name, table in known.tables.items():
        error = table.get("reason") or (table.get("error") if table.get("standing") == "stopped" else None)
        if error:
            kind = UNSUPPORTED_DDL if error["code"] in _OF_SHAPE else FAILED
            yield Condition(kind, name), error
        letters = table.get("dead_letters") or sum(table.get("letters", {}).values())
        if letters:
            sentence = f"records of {name} were set aside: {letters:,}"
            word = quote(name)  # anybody may write a board
            hint = for_reader(f"wrackline letters list <pipeline.toml> {word}")
            yield Condition(LETTERS, name), {"code": "", "sentence": sentence, "hint": hint}
