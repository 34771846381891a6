"""One MERGE brings a batch's newest changes and its offsets into a table, in one commit.

In: a session of its own (the commit's property is the session's), the frame of dedupe.py, a plan, and
what is applied afterwards.  Out: a snapshot.  It is right because an event is used only when its seq is
newer than its row's: a repeated batch, or an older event after a newer one, changes nothing.

    matched, newer, delete      the row becomes a tombstone that keeps its values and takes the seq
    matched, newer              update; unsent columns keep what is stored, if that belongs to this row
    not matched                 insert, deletes as tombstones, partial changes as incomplete rows
    not matched by source       only with a new floor: rows older than the truncate go
"""

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.plan import MergePlan
from wrackline.consumers.targets.iceberg.applied import PROPERTY, Applied
from wrackline.consumers.targets.iceberg.schema import literal, quoted, target_table

_BATCH = "wrackline_batch"


def apply(
    session: SparkSession, changes: DataFrame, plan: MergePlan, after: Applied, *, truncated: bool
) -> None:
    """Merge the changes and commit `after` with them; the frame has to be the session's own."""
    changes.createOrReplaceTempView(_BATCH)
    session.conf.set(f"spark.sql.iceberg.snapshot-property.{PROPERTY}", after.text())
    session.sql(merge_statement(plan, truncated=truncated))


def merge_statement(plan: MergePlan, *, truncated: bool) -> str:
    """Write the plan as SQL; `truncated` says that the floor is new, so that older rows have to go."""
    ours = plan.ours
    seq, op, deleted = quoted(ours.seq), quoted(ours.op), quoted(ours.deleted)
    commit_ts, missing = quoted(ours.commit_ts), quoted(ours.missing)
    # A row that is deleted, or that a truncate took, lends its values to nobody.
    gone = f"t.{deleted}" if plan.floor is None else f"(t.{deleted} OR t.{seq} < {literal(plan.floor)})"
    still_missing = (
        f"CASE WHEN {gone} THEN concat(s.unsent, s.missing) ELSE concat(s.missing,"
        f" array_intersect(coalesce(t.{missing}, CAST(array() AS array<string>)), s.unsent)) END"
    )
    known = {deleted: "s.deleted", seq: "s.seq", op: "s.op", commit_ts: "s.commit_ts"}
    mark = known | {missing: "NULL"}
    update = {
        quoted(column.target): (
            f"CASE WHEN array_contains(s.unsent, {literal(column.target)}) AND NOT {gone}"
            f" THEN t.{quoted(column.target)} ELSE s.row.{quoted(column.target)} END"
        )
        for column in plan.columns
        if column.target not in plan.key
    }
    update |= known | {missing: _or_null(still_missing)}
    insert = {quoted(column.target): f"s.row.{quoted(column.target)}" for column in plan.columns}
    insert |= known | {missing: _or_null("concat(s.unsent, s.missing)")}
    same = " AND ".join(f"t.{quoted(name)} <=> s.row.{quoted(name)}" for name in plan.key)
    clauses = [
        f"MERGE INTO {target_table(plan.table.id)} t USING {_BATCH} s ON {same}",
        f"WHEN MATCHED AND s.seq > t.{seq} AND s.deleted THEN UPDATE SET {_assigned(mark)}",
        f"WHEN MATCHED AND s.seq > t.{seq} THEN UPDATE SET {_assigned(update)}",
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(insert)}) VALUES ({', '.join(insert.values())})",  # noqa: S608 - names are quoted
    ]
    if truncated and plan.floor is not None:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{seq} < {literal(plan.floor)} THEN DELETE")
    return "\n".join(clauses)


def _assigned(values: dict[str, str]) -> str:
    return ", ".join(f"t.{name} = {value}" for name, value in values.items())


def _or_null(names: str) -> str:
    """Write no name at all as null, which a reader can filter by statistics."""
    return f"nullif({names}, CAST(array() AS array<string>))"
