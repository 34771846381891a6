"""A history as the same statements: from the events of a batch's keys to their versions.

    placed    the events of the batch's keys, stored and new, each in its order and between two truncates
    blocks    from one c, r, d or truncate to the next: nothing is carried into a block
    counted   the events of a block, numbered by how many have sent a column
    whole     what was not sent is carried forward
    judged    which events begin a version
    spans     where their versions begin, and what follows
    derived   each event is shown for a version, or hidden

Each event stays as a row of its own; what is derived from all events of a key is written again where it
changed, so it is the same whatever came first.  testing/targets/history_model.py says the same in few lines.
A truncate has a row too, with a key of nulls.

Where MERGE has no conditions, UPDATE and INSERT each have the whole text: what the first one writes is
derived, so the second one finds the same.  Services differ in WITH, in names for windows, in IGNORE NULLS and
in queries that look into the one around them; so none of these is used.  Pure.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from wrackline.consumers.contract.plan import ROW
from wrackline.consumers.staged.dialect import Primitive, list_holds, make_list
from wrackline.consumers.staged.merge import StagedMerge
from wrackline.consumers.staged.shape import StagedColumn

_UP_TO_IT: Final = "ORDER BY nth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_OF_KEY: Final = "OVER (PARTITION BY k ORDER BY nth)"
_OF_ALL: Final = ("k", "e", "seq", "op", "commit_us", "unsent", "starts", "ends", "missing")


@dataclass(frozen=True, slots=True)
class StagedVersions(StagedMerge):
    """One batch of events, and where it goes."""

    lacked: frozenset[int] | None = None  # columns that some event of its keys did not send; None: any

    def asks_for_unsent(self) -> str:
        """Ask which columns some event of the batch's keys did not send: the others need no carrying."""
        stored = f"SELECT {self._unsent} AS unsent FROM {self.table} t WHERE {' AND '.join(self._touched())}"  # noqa: S608 - names and texts are quoted, here and below
        fresh = f"SELECT {_SENT_NOTHING_OF} AS unsent FROM {self._source()} b"  # noqa: S608
        return f"SELECT DISTINCT unsent FROM ({stored}\nUNION ALL {fresh}) lists WHERE unsent IS NOT NULL"  # noqa: S608

    def lacking(self, answer: Iterable[tuple[Any, ...]]) -> "StagedVersions":
        """Return the same batch with what the answer says."""
        return replace(self, lacked=frozenset(int(one) for (of,) in answer for one in of.split(",") if one))

    def steps(self, *, all_new: bool) -> list[str]:
        """Write the merge; `all_new` says that the table has none of the keys."""
        derived, changed = self._derived(), self._changed()
        if self.dialect.conditional_merge and not all_new:
            rows = self._listed(f"NOT known OR {changed}", derived) + self._new_truncates()
            return [self._merge_versions(rows)]
        fresh = self._insert_versions(self._listed("NOT known", derived) + self._new_truncates())
        return [fresh] if all_new else [self._update(self._listed(f"known AND ({changed})", derived)), fresh]

    def _merge_versions(self, rows: str) -> str:
        values = self._inserted()
        return (
            f"MERGE INTO {self.table} t USING ({rows}) s ON {self._same_event()}\n"
            f"WHEN MATCHED THEN UPDATE SET {self._assigned()}\n"
            f"WHEN NOT MATCHED THEN INSERT ({', '.join(values)})\nVALUES ({', '.join(values.values())})"
        )

    def _update(self, rows: str) -> str:
        return f"UPDATE {self.table} t SET {self._assigned()}\nFROM ({rows}) s WHERE {self._same_event()}"  # noqa: S608

    def _insert_versions(self, rows: str) -> str:
        values = self._inserted()
        return (
            f"INSERT INTO {self.table} ({', '.join(values)})\n"
            f"SELECT {', '.join(values.values())} FROM ({rows}) s"
        )

    def _assigned(self) -> str:
        """Write what is derived: an event itself never changes."""
        values = self._spans() | {self._stored_in(one): f"s.w{_id(one)}" for one in self._carried()}
        return ", ".join(f"{name} = {value}" for name, value in values.items())

    def _inserted(self) -> dict[str, str]:
        values = {self._stored_in(one): f"s.{self._now(one)}" for one in self._all()}
        marks = {
            self._seq: "s.seq",
            self._op: "s.op",
            self._deleted: "s.op = 'd'",
            self.dialect.quoted(self.plan.ours.commit_ts): self.dialect.moment("s.commit_us"),
            self._unsent: "s.unsent",
        }
        return {self._key: "s.k", self._event: "s.e"} | values | marks | self._spans()

    def _spans(self) -> dict[str, str]:
        return {self._start: "s.starts", self._end: "s.ends", self._missing: "s.missing"}

    def _same_event(self) -> str:
        ranges = self._ranges()
        key = [
            f"t.{self._stored_in(one)} = s.v{_id(one)}" for one in self._all() if one.column.target in ranges
        ]
        return " AND ".join(
            [f"t.{self._key} = s.k", f"t.{self._event} = s.e", *key, *self._within()]
        )  # no key of the batch is null where its range is known

    def _listed(self, condition: str, rows: str) -> str:
        return f"SELECT {', '.join(self._columns())} FROM ({rows}) derived WHERE {condition}"  # noqa: S608

    def _columns(self) -> Iterator[str]:
        yield from _OF_ALL
        yield from (f"v{_id(one)}" for one in self._all())
        yield from (f"w{_id(one)}" for one in self._carried())

    def _derived(self) -> str:
        """Write the rows of the batch's keys with what follows for each from all of them."""
        levels = {
            "placed": self._blocks(),
            "blocks": self._counted(),
            "counted": self._whole(),
            "whole": [self._begins()],
            "judged": _SPANS,
            "spans": _DERIVED,
        }
        text = self._placed()
        for name, values in levels.items():
            if values:
                text = f"SELECT *, {', '.join(values)}\nFROM ({text}) {name}"
        return text

    def _placed(self) -> str:
        order = "ORDER BY e.seq, CASE WHEN e.op = 'd' THEN 0 ELSE 1 END"
        return (
            f"SELECT e.*, x.epoch, x.cut, x.news, ROW_NUMBER() OVER (PARTITION BY e.k {order}) AS nth\n"
            f"FROM ({self._stored()}\nUNION ALL {self._fresh('<>')}) e\n"
            f"JOIN ({self._truncates()}) x ON e.seq >= x.epoch AND (x.cut IS NULL OR e.seq < x.cut)\n"
        )

    def _stored(self) -> str:
        values = {
            "k": f"t.{self._key}",
            "e": f"t.{self._event}",
            "seq": f"t.{self._seq}",
            "op": f"t.{self._op}",
            "commit_us": self.dialect.cast("NULL", Primitive.BIGINT),
            "unsent": f"t.{self._unsent}",
            **{f"v{_id(one)}": f"t.{self._stored_in(one)}" for one in self._all()},
            "known": "TRUE",
            "was_start": f"t.{self._start}",
            "was_end": f"t.{self._end}",
            "was_missing": f"t.{self._missing}",
        }
        listed = ", ".join(f"{value} AS {name}" for name, value in values.items())
        return f"SELECT {listed} FROM {self.table} t WHERE {' AND '.join(self._touched())}"  # noqa: S608

    def _fresh(self, is_truncate: str) -> str:
        """Write the batch's events, or its truncates, that the table does not have."""
        numbers = {column.target: at for at, column in enumerate(self.plan.columns)}
        text = self.dialect.cast("NULL", Primitive.TEXT)
        sent = {
            f"v{_id(one)}": self._staged(numbers[one.column.target])
            if one.column.target in numbers
            else f"CAST(NULL AS {self.dialect.physical(one.type)})"
            for one in self._all()
        }
        values = {"k": "s.k", "e": "s.e", "seq": "s.seq", "op": "s.op", "commit_us": "s.commit_us"}
        values |= {"unsent": _SENT_NOTHING_OF, **sent, "known": "FALSE"}
        values |= dict.fromkeys(("was_start", "was_end", "was_missing"), text)
        if is_truncate == "=":
            values |= dict.fromkeys(("starts", "ends", "missing"), text)
            values |= {f"w{_id(one)}": sent[f"v{_id(one)}"] for one in self._carried()}
            values = {name: values[name] for name in self._columns()}
        listed = ", ".join(f"{value} AS {name}" for name, value in values.items())
        there = [f"t.{self._key} = s.k", f"t.{self._event} = s.e", *self._within()]
        return (
            f"SELECT {listed} FROM {self._source()} s WHERE s.op {is_truncate} 't'"  # noqa: S608
            f" AND NOT EXISTS (SELECT 1 FROM {self.table} t WHERE {' AND '.join(there)})"
        )

    def _new_truncates(self) -> str:
        return f"\nUNION ALL {self._fresh('=')}" if self.plan.truncated else ""

    def _truncates(self) -> str:
        """Write the spans between truncates, and whether one that is new began it."""
        key = [one for one in self._all() if one.column.target in self.plan.key]
        nobody = " AND ".join(f"t.{self._stored_in(one)} IS NULL" for one in key)
        parts = [
            f"SELECT {self.dialect.cast(self.dialect.literal(''), Primitive.TEXT)} AS seq, 0 AS news",
            f"SELECT t.{self._seq}, 0 FROM {self.table} t WHERE t.{self._op} = 't' AND {nobody}",  # noqa: S608
        ]
        if self.plan.truncated:
            parts.append(f"SELECT seq, 1 FROM {self._source()} b WHERE op = 't'")  # noqa: S608
        each = f"SELECT seq, MIN(news) AS news FROM ({' UNION ALL '.join(parts)}) places GROUP BY seq"  # noqa: S608
        return f"SELECT seq AS epoch, news, LEAD(seq) OVER (ORDER BY seq) AS cut FROM ({each}) truncates"  # noqa: S608

    def _touched(self) -> list[str]:
        """Find the rows of the batch's keys, and of those that have a version across one of its truncates."""
        keys = f"SELECT k FROM {self._source()} b WHERE op <> 't'"  # noqa: S608
        if self.plan.truncated:
            across = f"x.{self._start} < b.seq AND (x.{self._end} IS NULL OR x.{self._end} > b.seq)"
            keys += (
                f" UNION ALL SELECT x.{self._key} FROM {self.table} x"  # noqa: S608
                f" JOIN {self._source()} b ON {across} WHERE b.op = 't'"
            )
        return [f"t.{self._op} <> 't'", f"t.{self._key} IN ({keys})", *self._within()]

    def _blocks(self) -> list[str]:
        if not self._carried():
            return []
        begins = "CASE WHEN op IN ('c', 'r', 'd') THEN 1 ELSE 0 END"
        return [f"SUM({begins}) OVER (PARTITION BY k, epoch {_UP_TO_IT}) AS block"]

    def _counted(self) -> list[str]:
        return [
            f"SUM(CASE WHEN op = 'd' OR {list_holds('unsent', _id(one))} THEN 0 ELSE 1 END)"
            f" OVER (PARTITION BY k, epoch, block {_UP_TO_IT}) AS sent{_id(one)}"
            for one in self._carried()
        ]

    def _whole(self) -> list[str]:
        """Take a column from the last event of the block that sent it, which is the first of its number."""
        numbers = [_id(one) for one in self._carried()]
        alike = {at: f"OVER (PARTITION BY k, epoch, block, sent{at} {_UP_TO_IT})" for at in numbers}
        values = [
            f"CASE WHEN op = 'd' THEN v{at} WHEN sent{at} > 0 THEN FIRST_VALUE(v{at}) {over} END AS w{at},"
            f" MAX(CASE WHEN known THEN news ELSE 1 END) {over} AS late{at}"
            for at, over in alike.items()
        ]
        missing = self.dialect.cast("NULL", Primitive.TEXT)
        if numbers and not self.plan.lacking_is_null:
            missing = make_list((f"op <> 'd' AND sent{at} = 0", f"'{at},'") for at in numbers)
        return [*values, f"{missing} AS missing"]

    def _begins(self) -> str:
        """An event continues a version if the one before it has the same of all that is watched."""
        tracked = self.plan.tracked
        watched = [
            self.dialect.image(self._now(one), one.type)
            for one in self._values()
            if tracked is None or one.column.target in tracked
        ]
        alike = ", ".join(["k", "epoch", "missing", "CASE WHEN op = 'd' THEN 1 ELSE 0 END", *watched])
        return (
            f"(op = 'd' OR COALESCE(LAG(nth) OVER (PARTITION BY {alike} ORDER BY nth), -1) + 1 <> nth)"
            " AS begins"
        )

    def _changed(self) -> str:
        """Compare with what is stored; another value is carried only behind something that is new."""
        pairs = (("was_start", "starts"), ("was_end", "ends"), ("was_missing", "missing"))
        other = [f"COALESCE({was}, '') <> COALESCE({now}, '')" for was, now in pairs]
        other += [f"late{at} = 1 AND {list_holds('unsent', at)}" for at in map(_id, self._carried())]
        return " OR ".join(other)

    def _now(self, column: StagedColumn) -> str:
        """Name a value with what was carried to it."""
        return f"{'w' if self._carries(column) else 'v'}{_id(column)}"

    def _carried(self) -> list[StagedColumn]:
        return [one for one in self._values() if self._carries(one)]

    def _carries(self, column: StagedColumn) -> bool:
        of_key = column.column.target in self.plan.key
        return not of_key and (self.lacked is None or _id(column) in self.lacked)

    def _values(self) -> list[StagedColumn]:
        return [one for one in self._all() if one.column.target not in self.plan.key]

    def _all(self) -> list[StagedColumn]:
        return [one for one in self.shape.columns if one.column.identity != ROW]

    def _stored_in(self, column: StagedColumn) -> str:
        return self.dialect.quoted(column.place)

    @property
    def _event(self) -> str:
        return self.dialect.quoted(self.plan.ours.row)

    @property
    def _op(self) -> str:
        return self.dialect.quoted(self.plan.ours.op)

    @property
    def _unsent(self) -> str:
        return self.dialect.quoted(self.plan.ours.unsent)

    @property
    def _start(self) -> str:
        return self.dialect.quoted(self.plan.ours.start)

    @property
    def _end(self) -> str:
        return self.dialect.quoted(self.plan.ours.end)


_SENT_NOTHING_OF: Final = "NULLIF(COALESCE(unsent, '') || COALESCE(missing, ''), '')"
_SPANS: Final = [
    f"op <> 'd' AND COALESCE(LEAD(begins) {_OF_KEY}, TRUE) AS shown",
    f"MAX(CASE WHEN begins THEN seq END) OVER (PARTITION BY k {_UP_TO_IT}) AS began",
    f"LEAD(seq) {_OF_KEY} AS followed",
]
_DERIVED: Final = [
    "CASE WHEN shown THEN began END AS starts",
    "CASE WHEN shown THEN CASE WHEN cut < followed THEN cut ELSE COALESCE(followed, cut) END END AS ends",
]


def _id(column: StagedColumn) -> int:
    return column.column.identity
