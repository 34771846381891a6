"""How far a table has come: read from its log, written in the commit that brings its rows.

In: the history of a Delta table, newest first.  Out: what it has applied.  Each commit of ours carries it as
a text, and a number that is one more than that of the text it was made from.  Delta takes a number only
once (`txnVersion`): of two drivers that read the same text one commits, and the other is refused or skipped.
So the newest text says it all.  Also, because of that number, a batch without rows is a commit.

A table set back (RESTORE) to a version says what it said then.  A text made from what was read before that,
and committed after, says nothing.  Commits of others (a compaction) carry no text of ours.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.applied_text import BROKEN, parse, text
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.schemas import untrusted
from wrackline.schemas.errors import Definite, OperatorNeeded, define

PROGRESS_GONE = define(
    "delta.progress_gone",
    Definite,
    "the log of {target} does not say how far the table has come: the log was cut, or the table was copied",
    hint="start over: {drop}; then: wrackline snapshot start <pipeline.toml> '{table}'",
)
SET_BACK_TO_A_TIME = define(
    "delta.set_back_to_a_time",
    OperatorNeeded,
    "{target} was set back to a moment, and its log does not say which version that was",
    hint="look it up: DESCRIBE HISTORY {target}; and set it back to the version: RESTORE TABLE {target} TO"
    " VERSION AS OF <version>",
)

_TEXT = "spark.databricks.delta.commitInfo.userMetadata"
_WRITER = "spark.databricks.delta.write.txnAppId"
_NUMBER = "spark.databricks.delta.write.txnVersion"
_WINDOWS = (10, 500, None)  # commits looked at; None: all


@dataclass(frozen=True, slots=True)
class DeltaCommitText:
    """What a commit of ours says."""

    applied: str
    number: int
    made_from: int  # the table's version that was read before


@dataclass(frozen=True, slots=True)
class DeltaCommit:
    """One line of the history."""

    version: int
    committed_ms: int
    text: DeltaCommitText | None
    broken: bool = False  # a text of ours that somebody has changed
    set_back: bool = False
    set_back_to: int | None = None  # the version, where the log contains it


@dataclass(frozen=True, slots=True)
class DeltaApplied:
    """What a table's log says."""

    applied: Applied
    number: int  # the highest that was used
    version: int  # of the table
    committed_ms: int  # its newest commit


class DeltaSetBackToTime(Exception):  # noqa: N818 - an outcome of the walk, reported by `read_applied`
    """The table was set back to a moment, and nothing says to which version."""


class DeltaTextBroken(Exception):  # noqa: N818 - as above
    """The text that should hold can't be read."""


def walk_commits(commits: Iterable[DeltaCommit]) -> tuple[DeltaCommitText, int] | None:
    """Find the text that holds, newest commit first, and the highest number; None: not among these."""
    found: DeltaCommitText | None = None
    number, below, last = 0, None, 0
    for one in commits:
        last = one.version
        if one.text is not None:
            number = max(number, one.text.number)
        if found is not None and one.version <= found.made_from:
            return found, number
        if below is not None and one.version > below:
            continue
        if one.set_back:
            if one.set_back_to is None:
                raise DeltaSetBackToTime
            found, below = None, one.set_back_to
        elif found is None:
            if one.broken:
                raise DeltaTextBroken
            found = one.text
    return (found, number) if found is not None and found.made_from >= last - 1 else None


def read_applied(session: SparkSession, table: LakeTable) -> DeltaApplied:
    """Read what the table's log says, no further back than is needed."""
    target = table.address
    for window in _WINDOWS:
        commits = history(session, target.name, window)
        try:
            found = walk_commits(commits)
        except DeltaSetBackToTime as exc:
            refused = SET_BACK_TO_A_TIME(target=target.name)
            raise refused from exc
        except DeltaTextBroken as exc:
            refused = BROKEN(target=target.name, drop=target.drop)
            raise refused from exc
        if found is not None:
            said, number = found
            applied = parse(said.applied, target.name, target.drop)
            return DeltaApplied(applied, number, commits[0].version, commits[0].committed_ms)
    raise PROGRESS_GONE(target=target.name, drop=target.drop, table=table.origin.table)


def history(session: SparkSession, name: str, most: int | None) -> list[DeltaCommit]:
    """Return the newest commits, newest first."""
    limit = "" if most is None else f" LIMIT {most}"
    rows = session.sql(f"DESCRIBE HISTORY {name}{limit}").select(
        "version",
        F.unix_millis("timestamp"),
        "userMetadata",
        "operation",
        F.col("operationParameters").getItem("version"),
    )
    commits = [
        DeltaCommit(
            row[0], row[1], *_read_text(row[2]), row[3] == "RESTORE", None if row[4] is None else int(row[4])
        )
        for row in rows.collect()
    ]
    return sorted(commits, key=lambda one: one.version, reverse=True)


@contextmanager
def commit_with_applied(
    session: SparkSession, applied: Applied, before: DeltaApplied | None
) -> Iterator[None]:
    """Let the session's next commit say what is applied after it; None: it creates the table."""
    number, made_from = (0, -1) if before is None else (before.number + 1, before.version)
    said = {"wrackline": text(applied), "number": number, "made_from": made_from}
    conf = {_TEXT: json.dumps(said), _WRITER: "wrackline", _NUMBER: str(number)}
    for name, value in conf.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in conf:
            session.conf.unset(name)


def _read_text(written: str | None) -> tuple[DeltaCommitText | None, bool]:
    """Read a commit's text, and whether it is one of ours that is broken; others may write there too."""
    try:
        found = json.loads(written or "null")
    except (RecursionError, ValueError):
        return None, False
    if not isinstance(found, dict) or "wrackline" not in found:
        return None, False
    try:
        applied, made_from = found["wrackline"], found["made_from"]
        if not isinstance(applied, str) or type(made_from) is not int or made_from < -1:
            return None, True
        return DeltaCommitText(applied, untrusted.number(found["number"]), made_from), False
    except (KeyError, ValueError):
        return None, True
