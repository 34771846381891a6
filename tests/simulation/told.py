"""The tables as the log has them at a place: what a row that is released there must equal."""

from tests.simulation.database import Altered, Database, Emptied, Wrote
from tests.simulation.replica import Broken
from tests.simulation.shapes import BAG, Key, Row, Shape, decoded, rewritten, shape_after, table_of
from wrackline.producers.snapshot.work_items import Release


class Told:
    """Follows the log; a crash takes it back."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._initial = [dict(table.rows) for table in database.tables]
        self._back()

    def check(self, release: Release, lsn: int) -> None:
        """Every row of a slice is the table's row at this place."""
        if release.op == "t" or table_of(release.table) == BAG:
            return
        self._go(lsn)
        at = table_of(release.table)
        rows, shape_now = self._rows[at], self._shapes[at]
        for key, value in release.rows.whole():
            shape, _, after, _ = decoded(value)
            if after is None or key is None:
                raise Broken("stale", f"{shape.schema.id.name} {key!r} was released without a row")
            expected = rows.get(after[: shape.keys])
            if expected is None or not _same(shape, after, shape_now, expected):
                raise Broken(
                    "stale",
                    f"{shape.schema.id.name} {after} of shape {shape.generation} was released at {lsn}, "
                    f"where the log has {expected} of shape {shape_now.generation}",
                )

    def _back(self) -> None:
        self._rows: list[dict[Key, Row]] = [dict(rows) for rows in self._initial]
        self._shapes: list[Shape] = [shape_after(at, ()) for at in range(len(self._initial))]
        self._lsn = 1

    def _go(self, lsn: int) -> None:
        if lsn < self._lsn:
            self._back()
        for logged in self._database.log[self._lsn - 1 : lsn - 1]:
            for entry in logged.entries:
                if isinstance(entry, Wrote):
                    rows = self._rows[entry.shape.table]
                    for key, row, _ in entry.touched:
                        if row is None:
                            rows.pop(key, None)
                        else:
                            rows[key] = row
                elif isinstance(entry, Emptied):
                    self._rows[entry.shape.table].clear()
                elif isinstance(entry, Altered):
                    at, shape = entry.shape.table, entry.shape
                    self._shapes[at] = shape
                    self._rows[at] = {key: rewritten(shape, row) for key, row in self._rows[at].items()}
        self._lsn = lsn


def _same(shape: Shape, row: Row, shape_now: Shape, expected: Row) -> bool:
    """Whether a row is the expected one, column by column; one that the row lacks reads as null."""
    if shape is shape_now:
        return row == expected
    cells = {column.identity: cell for column, cell in zip(shape.schema.columns, row, strict=True)}
    now = zip(shape_now.schema.columns, expected, strict=True)
    return all(cells.get(column.identity) == cell for column, cell in now)
