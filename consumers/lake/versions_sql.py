"""A history as one MERGE of Spark SQL: from the events of a batch's keys to their versions.

    batch     the staged events
    touched   their keys; with truncates, those that have a version across one
    stored    what the table has of these keys
    events    both, each event once, with the truncates around it
    whole     what was not sent is carried forward
    judged    which events begin a version
    derived   each event is shown for a version, or hidden

Each event stays as a row of its own, with what it sent; what is derived from all events of a key is written
again where it changed, so it is the same whatever came first.  testing/targets/history_model.py says the
same in few lines.  Nothing is carried from before a c, r or d, nor from before a truncate.  The table is read
and written in one statement, so both see one state of it.
"""

from collections.abc import Iterable, Sequence

from wrackline.consumers.contract.plan import END, ROW, START, MergePlan, PlannedColumn, TableMode
from wrackline.consumers.lake.merge_sql import (
    VIEW,
    assignments,
    literal,
    merge_statement,
    null_if_empty,
    quote,
    within_range,
)
from wrackline.consumers.lake.sequence_sql import value_sql
from wrackline.schemas.tables.types import spark_type

_ORDERED = """
SELECT *, {windowed} FROM {of}
WINDOW o AS (PARTITION BY {key} ORDER BY seq, op <> 'd'),
  w AS (PARTITION BY {key} ORDER BY seq, op <> 'd' ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"""
_NOBODY = "CAST(array() AS array<int>)"


def batch_statement(
    plan: MergePlan, target: str, held: Sequence[PlannedColumn], floor: str | None, *, truncated: bool
) -> str:
    """Write a batch's MERGE, whatever its mode; `held` are the columns that the table has."""
    if plan.mode is TableMode.HISTORY:
        return versions_statement(plan, target, held, floor, voided=truncated)
    return merge_statement(plan, target, floor, truncated=truncated)


def versions_statement(
    plan: MergePlan, target: str, held: Sequence[PlannedColumn], floor: str | None, *, voided: bool
) -> str:
    """Write the plan as SQL; `held` are the table's columns, `voided`: rows below the floor may be there."""
    made = _Statement(plan, target, held, floor)
    ours = plan.ours
    values = {ours.start: "s.starts", ours.end: "s.ends", ours.missing: "s.missing"}
    if ours.shown is not None:
        values |= {START: value_sql(ours.shown, "s.starts"), END: value_sql(ours.shown, "s.ends")}
    values |= {column.target: f"s.w{column.identity}" for column in made.columns}
    marks = {ours.seq: "s.seq", ours.op: "s.op", ours.deleted: "s.op = 'd'", ours.commit_ts: "s.commit_ts"}
    marks |= {ours.unsent: null_if_empty("s.unsent"), ours.row: "s.row_id"}
    insert = values | marks | {name: f"s.k{at}" for at, name in enumerate(made.key)}
    same = [f"t.{quote(name)} <=> s.k{at}" for at, name in enumerate(made.key)]
    same.append(f"t.{quote(ours.row)} = s.row_id")
    same += [] if voided else within_range(plan.within)
    names = ", ".join(map(quote, insert))
    clauses = [
        f"MERGE INTO {target} t USING ({made.query()}) s ON {' AND '.join(same)}",
        f"WHEN MATCHED THEN UPDATE SET {assignments({quote(name): value for name, value in values.items()})}",
        f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({', '.join(insert.values())})",  # noqa: S608 - names are quoted
    ]
    if voided and floor is not None:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{quote(ours.seq)} < {literal(floor)} THEN DELETE")
    return "\n".join(clauses)


class _Statement:
    """The rows that the MERGE writes; k0, k1, … are the key's columns, v and w with an identity the rest."""

    def __init__(
        self, plan: MergePlan, target: str, held: Sequence[PlannedColumn], floor: str | None
    ) -> None:
        self._plan, self._target, self._ours = plan, target, plan.ours
        self.key = [name for name in plan.key if name != plan.ours.row]
        self.columns = [one for one in held if one.identity != ROW and one.target not in self.key]
        self._keys = ", ".join(f"k{at}" for at in range(len(self.key)))
        self._valid = "" if floor is None else f" AND {{}} >= {literal(floor)}"

    def query(self) -> str:
        """Return the events that are new, and those from which something else follows now."""
        parts = {
            "batch": self._batch(),
            "truncates": self._truncates(),
            "touched": self._touched(),
            "stored": self._stored(),
            "events": self._events(),
            "sent": self._windowed("events", *self._sent_columns()),
            "whole": self._whole(),
            "judged": self._windowed("whole", f"{self._begins()} AS begins"),
            "spans": self._windowed(
                "judged",
                "op <> 'd' AND coalesce(lead(begins) OVER o, true) AS shown",
                "max(CASE WHEN begins THEN seq END) OVER w AS first",
                "least(lead(seq) OVER o, truncated) AS until",
            ),
            "derived": "SELECT *, CASE WHEN shown THEN first END AS starts,"
            " CASE WHEN shown THEN until END AS ends FROM spans",
        }
        listed = ",\n".join(f"{name} AS ({text})" for name, text in parts.items())
        return f"WITH {listed}\n{self._changed()}{self._new_truncates()}"

    def _batch(self) -> str:
        planned = {column.identity for column in self._plan.columns}
        values = [f"row.{quote(name)} AS k{at}" for at, name in enumerate(self.key)]
        values += [
            f"row.{quote(one.target)} AS v{one.identity}"
            if one.identity in planned
            else f"CAST(NULL AS {spark_type(one.type)}) AS v{one.identity}"
            for one in self.columns
        ]
        unsent = "concat(unsent_ids, missing_ids) AS unsent"
        values.append(f"row.{quote(self._ours.row)} AS row_id")
        return (
            f"SELECT {', '.join(values)}, seq, op, commit_ts, {unsent}"  # noqa: S608 - names are quoted
            f" FROM {VIEW} WHERE true{self._valid.format('seq')}"
        )

    def _truncates(self) -> str:
        """Gather all that are known; they are found by a key of nulls, by which files can be skipped."""
        ours = self._ours
        nobody = " AND ".join(f"{quote(name)} IS NULL" for name in self.key)
        stored = (
            f"SELECT {quote(ours.seq)} AS seq FROM {self._target} WHERE {quote(ours.op)} = 't' AND {nobody}"  # noqa: S608 - names are quoted
            f"{self._valid.format(quote(ours.seq))}"
        )
        told = "SELECT seq FROM batch WHERE op = 't' UNION ALL " if self._plan.truncated else ""
        return f"SELECT collect_set(seq) AS places FROM ({told}{stored})"  # noqa: S608 - names are quoted

    def _touched(self) -> str:
        text = f"SELECT DISTINCT {self._keys} FROM batch WHERE op <> 't'"  # noqa: S608 - names are our own
        if not self._plan.truncated:
            return text
        keys = ", ".join(f"t.{quote(name)}" for name in self.key)
        start, end = f"t.{quote(self._ours.start)}", f"t.{quote(self._ours.end)}"
        across = f"{start} < b.seq AND ({end} IS NULL OR {end} > b.seq)"
        return f"{text} UNION SELECT {keys} FROM {self._target} t JOIN batch b ON {across} WHERE b.op = 't'"  # noqa: S608 - names are quoted

    def _stored(self) -> str:
        ours = self._ours
        values = [f"t.{quote(name)} AS k{at}" for at, name in enumerate(self.key)]
        values += [f"t.{quote(one.target)} AS v{one.identity}" for one in self.columns]
        names = {ours.row: "row_id", ours.seq: "seq", ours.op: "op", ours.commit_ts: "commit_ts"}
        names |= {ours.start: "was_start", ours.end: "was_end", ours.missing: "was_missing"}
        values += [f"t.{quote(name)} AS {short}" for name, short in names.items()]
        values.append(f"coalesce(t.{quote(ours.unsent)}, {_NOBODY}) AS unsent")
        same = " AND ".join(f"t.{quote(name)} <=> k.k{at}" for at, name in enumerate(self.key))
        within = "".join(f" AND {one}" for one in within_range(self._plan.within))
        return (
            f"SELECT {', '.join(values)} FROM {self._target} t LEFT SEMI JOIN touched k ON {same}"  # noqa: S608 - names are quoted
            f" WHERE t.{quote(ours.op)} <> 't'{self._valid.format('t.' + quote(ours.seq))}{within}"
        )

    def _events(self) -> str:
        names = [*self._keys.split(", "), *(f"v{one.identity}" for one in self.columns)]
        names += ["row_id", "seq", "op", "commit_ts", "unsent"]
        listed = ", ".join(names)
        same = " AND ".join(f"b.k{at} <=> s.k{at}" for at in range(len(self.key)))
        fresh = (
            f"SELECT {listed}, NULL, NULL, NULL, false FROM batch b"  # noqa: S608 - names are our own
            f" LEFT ANTI JOIN stored s ON {same} AND b.row_id = s.row_id WHERE b.op <> 't'"
        )
        both = (
            f"SELECT {listed}, was_start, was_end, was_missing, true AS known FROM stored UNION ALL {fresh}"  # noqa: S608 - as above
        )
        return (
            "SELECT e.*, array_max(filter(places, at -> at <= seq)) AS epoch,"  # noqa: S608 - as above
            f" array_min(filter(places, at -> at > seq)) AS truncated FROM ({both}) e CROSS JOIN truncates"
        )

    def _sent_columns(self) -> Iterable[str]:
        """For each column seq and value of the last event that sent it, and where the row began."""
        yield "max(CASE WHEN op IN ('c', 'r', 'd') THEN seq END) OVER w AS begin"
        for one in self.columns:
            sent = f"op <> 'd' AND NOT array_contains(unsent, {one.identity})"
            value = f"named_struct('seq', seq, 'value', v{one.identity})"
            yield f"last_value(CASE WHEN {sent} THEN {value} END) IGNORE NULLS OVER w AS s{one.identity}"

    def _whole(self) -> str:
        known = {
            one.identity: f"coalesce(s{one.identity}.seq >= greatest(begin, epoch, ''), false)"
            for one in self.columns
        }
        values = [
            f"CASE WHEN op = 'd' THEN v{at} WHEN {there} THEN s{at}.value END AS w{at}"
            for at, there in known.items()
        ]
        lacked = [f"CASE WHEN op <> 'd' AND NOT {there} THEN {at} END" for at, there in known.items()]
        missing = f"CAST(array_compact(array({', '.join(lacked)})) AS array<int>)"
        nobody = "CAST(NULL AS array<int>)"
        missing = nobody if self._plan.lacking_is_null or not lacked else null_if_empty(missing)
        return f"SELECT *, {', '.join([*values, f'{missing} AS missing'])} FROM sent"  # noqa: S608 - names are our own

    def _begins(self) -> str:
        tracked = self._plan.tracked
        watched = ["epoch", "missing"]
        watched += [
            _exact(one, f"w{one.identity}")
            for one in self.columns
            if tracked is None or one.target in tracked
        ]
        changed = " OR ".join(f"NOT (lag({value}) OVER o <=> {value})" for value in watched)
        return f"(row_number() OVER o = 1 OR op = 'd' OR lag(op) OVER o = 'd' OR {changed})"

    def _windowed(self, of: str, *windowed: str) -> str:
        return _ORDERED.format(windowed=", ".join(windowed), of=of, key=self._keys)

    def _changed(self) -> str:
        other = [f"NOT (was_{name} <=> {now})" for name, now in (("start", "starts"), ("end", "ends"))]
        other.append("NOT (was_missing <=> missing)")
        other += [
            f"NOT ({_exact(one, f'v{one.identity}')} <=> {_exact(one, f'w{one.identity}')})"
            for one in self.columns
        ]
        return f"SELECT {', '.join(self._written())} FROM derived WHERE NOT known OR {' OR '.join(other)}"  # noqa: S608 - names are our own

    def _new_truncates(self) -> str:
        if not self._plan.truncated:
            return ""
        blank = {f"w{one.identity}": f"b.v{one.identity}" for one in self.columns}
        blank |= dict.fromkeys(("starts", "ends", "missing"), "NULL")
        values = ", ".join(blank.get(name, f"b.{name}") for name in self._written())
        ours = self._ours
        nobody = " AND ".join(f"t.{quote(name)} IS NULL" for name in self.key)
        return (
            f"\nUNION ALL SELECT {values} FROM batch b LEFT ANTI JOIN {self._target} t"  # noqa: S608 - names are quoted
            f" ON t.{quote(ours.row)} = b.row_id AND {nobody} WHERE b.op = 't'"
        )

    def _written(self) -> list[str]:
        names = [*self._keys.split(", "), *(f"w{one.identity}" for one in self.columns)]
        return [*names, "row_id", "seq", "op", "commit_ts", "unsent", "starts", "ends", "missing"]


def _exact(column: PlannedColumn, value: str) -> str:
    """Write a value so that `<=>` compares exactly: Spark treats -0.0 and 0.0 as equal."""
    match spark_type(column.type).lower():
        case "float" | "double":
            return f"CAST({value} AS string)"
        case "array<float>" | "array<double>":
            return f"CAST({value} AS array<string>)"
        case _:
            return value
