"""One MERGE brings a batch's newest changes and its offsets into a table, in one commit.

In: a frame in a session of its own (the commit's property is the session's), and a plan.  Out: a snapshot,
also of a batch that has nothing but offsets.  It is right because an event is used only when its seq is
newer than its row's: a repeated batch, or an older event after a newer one, changes nothing.

    matched, newer, delete      the row becomes a tombstone that keeps its values and takes the seq
    matched, newer              update; unsent columns keep what is stored, if that belongs to this row
    not matched                 insert, deletes as tombstones, partial changes as incomplete rows
    not matched by source       where the newest commit knew no such floor: rows older than it go

Newer is a greater seq; at one seq a row that lives is newer than a tombstone, for there a key was deleted
and made again.  Rows older than the floor match nothing: they lend no value, and where the table has
another key since, they could match twice.

Two writers can't both change rows over the same base: Iceberg refuses the second one's commit
(serializable isolation), and the next round does its batch again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.plan import MergePlan
from wrackline.consumers.targets.iceberg import progress
from wrackline.consumers.targets.iceberg.connect import literal, quoted
from wrackline.schemas.errors import Transient, define

CONFLICT = define(
    "iceberg.conflict",
    Transient,
    "somebody else wrote to {target} while a batch was merged into it; nothing of the batch is there",
    hint="the next round does it again; if it goes on, look for a second driver:"
    " SELECT committed_at, summary FROM {target}.snapshots ORDER BY 1 DESC",
)

FAILED = (PySparkException, Py4JError)  # Java's own exceptions come as the second
_VIEW = "wrackline_batch"
_CONFLICTS = (
    "org.apache.iceberg.exceptions.ValidationException",
    "org.apache.iceberg.exceptions.CommitFailedException",
)
_NOBODY = "CAST(array() AS array<int>)"


@dataclass(frozen=True, slots=True)
class Staged:
    """A frame that can be merged: a view of its own session."""

    session: SparkSession


def stage(frame: DataFrame, plan: MergePlan) -> Staged:
    """Name the frame in its session; columns that lack a value are told by identity from here on."""
    names = [F.lit(part) for column in plan.columns for part in (column.target, column.identity)]
    identities = F.create_map(*names)

    def told(which: str) -> Column:
        return F.transform(F.col(which), lambda name: F.element_at(identities, name)).alias(f"{which}_ids")

    frame.select("*", told("unsent"), told("missing")).createOrReplaceTempView(_VIEW)
    return Staged(frame.sparkSession)


def merge(staged: Staged, plan: MergePlan, target: str, properties: Mapping[str, str]) -> None:
    """Merge and commit; `properties` are those that the table had just now."""
    session = staged.session
    before = progress.read(session, target, properties)
    after = before.applied.then(plan.upto)
    with progress.saying(session, after):
        try:
            session.sql(merge_statement(plan, target, after.floor, truncated=after.floor != before.floor))
        except FAILED as exc:
            if is_conflict(exc):
                raise CONFLICT(target=target) from exc
            raise
    session.catalog.dropTempView(_VIEW)


def is_conflict(exc: Exception) -> bool:
    """Whether Iceberg refused a commit because somebody else's came first."""
    return any(name in str(exc) for name in _CONFLICTS)


def merge_statement(plan: MergePlan, target: str, floor: str | None, *, truncated: bool) -> str:
    """Write the plan as SQL; `truncated` says that rows older than the floor may still be there."""
    ours = plan.ours
    seq, op, deleted = quoted(ours.seq), quoted(ours.op), quoted(ours.deleted)
    commit_ts, missing = quoted(ours.commit_ts), quoted(ours.missing)
    newer = f"(s.seq > t.{seq} OR (s.seq = t.{seq} AND t.{deleted} AND NOT s.deleted))"
    still_missing = (
        f"CASE WHEN t.{deleted} THEN concat(s.unsent_ids, s.missing_ids) ELSE concat(s.missing_ids,"
        f" array_intersect(coalesce(t.{missing}, {_NOBODY}), s.unsent_ids)) END"
    )
    known = {deleted: "s.deleted", seq: "s.seq", op: "s.op", commit_ts: "s.commit_ts"}
    mark = known | {missing: "NULL"}
    update = {
        quoted(column.target): (
            f"CASE WHEN array_contains(s.unsent_ids, {column.identity}) AND NOT t.{deleted}"
            f" THEN t.{quoted(column.target)} ELSE s.row.{quoted(column.target)} END"
        )
        for column in plan.columns
        if column.target not in plan.key
    }
    update |= known | {missing: _or_null(still_missing)}
    insert = {quoted(column.target): f"s.row.{quoted(column.target)}" for column in plan.columns}
    insert |= known | {missing: _or_null("concat(s.unsent_ids, s.missing_ids)")}
    valid = "" if floor is None else f" WHERE seq >= {literal(floor)}"
    same = [f"t.{quoted(name)} <=> s.row.{quoted(name)}" for name in plan.key]
    same += [] if floor is None else [f"t.{seq} >= {literal(floor)}"]
    clauses = [
        f"MERGE INTO {target} t USING (SELECT * FROM {_VIEW}{valid}) s ON {' AND '.join(same)}",  # noqa: S608 - names and texts are quoted
        f"WHEN MATCHED AND {newer} AND s.deleted THEN UPDATE SET {_assigned(mark)}",
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {_assigned(update)}",
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(insert)}) VALUES ({', '.join(insert.values())})",  # noqa: S608 - as above
    ]
    if truncated and floor is not None:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{seq} < {literal(floor)} THEN DELETE")
    return "\n".join(clauses)


def _assigned(values: dict[str, str]) -> str:
    return ", ".join(f"t.{name} = {value}" for name, value in values.items())


def _or_null(identities: str) -> str:
    """Write none at all as null, which a reader can filter by statistics."""
    return f"nullif({identities}, {_NOBODY})"
