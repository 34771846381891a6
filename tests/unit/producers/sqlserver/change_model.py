"""Change tables as a server keeps them, in memory: written commit by commit, read page by page."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from wrackline.producers.sources.sqlserver.log.change_rows import (
    AFTER,
    BEFORE,
    DELETE,
    INSERT,
    Change,
    ChangeRow,
    RowPlace,
    place_of,
    row_key,
)
from wrackline.producers.sources.sqlserver.log.lsn import HIGHEST, ZERO, Lsn
from wrackline.producers.sources.sqlserver.log.page_merger import (
    CommitPart,
    LoggedCommit,
    PageMerger,
    PageRequest,
    TableRange,
)
from wrackline.producers.sources.sqlserver.log.position import WHOLE, SqlServerPosition

TABLES = (1205, 1301, 1477)
ALL = b"\xff"


def lsn(number: int) -> Lsn:
    return number.to_bytes(10, "big")


@dataclass
class Server:
    """What was captured: commits, and each change table's rows in the order of its index."""

    commits: list[LoggedCommit] = field(default_factory=list)
    rows: dict[int, list[ChangeRow]] = field(default_factory=dict)
    expected: list[tuple[Lsn, int, Change]] = field(default_factory=list)  # commit, ordinal, change

    def page(self, request: PageRequest) -> tuple[list[ChangeRow], bool]:
        """Answer as SELECT TOP does."""
        rows = self.rows.get(request.table, [])
        first = bisect_right(rows, request.after, key=lambda row: row[0])
        found = [row for row in rows[first : first + request.most_rows] if row[0][:10] <= request.upto]
        return found, len(found) >= request.most_rows


def history(random: Random, *, commits: int = 12, most: int = 9) -> Server:
    """Write random commits: inserts, deletes, updates, deferred updates of one row and of many."""
    server, place = Server(rows={table: [] for table in TABLES}), 1
    for _ in range(commits):
        place += random.randint(1, 3)
        quiet = random.random() < 0.2
        server.commits.append(LoggedCommit(lsn(place), place * 1000, bytes(10) if quiet else b"t" * 10))
        if not quiet:
            write(server, random, lsn(place), random.randint(0, most))
    for table in TABLES:
        server.rows[table].sort()
    return server


def write(server: Server, random: Random, commit: Lsn, count: int) -> None:
    """Write one commit; `__$command_id` rises over all tables, `__$seqval` does not have to."""
    made: list[Change] = []
    command = 0
    for _ in range(count):
        table = random.choice(TABLES)
        command += random.choice((0, 1))
        numbered = random.random() < 0.8  # rows are not, where the server did not know the column yet
        made += statement(server, random, commit, table, command if numbered else None, len(made))
    made.sort(key=lambda change: change[2])
    server.expected += [(commit, ordinal, change) for ordinal, change in enumerate(made)]


def statement(
    server: Server, random: Random, commit: Lsn, table: int, command: int | None, number: int
) -> list[Change]:
    seqval = lsn(10_000 + number * 7)
    image, other = random.randbytes(random.randint(0, 40)), random.randbytes(5)

    def row(operation: int, image: bytes, at: bytes = seqval, later: int = 0) -> bytes:
        place = RowPlace(None if command is None else command + later, at, table, operation)
        key = row_key(commit, place)
        server.rows[table].append((key, ALL, image))
        return key

    match random.choice("icdupq"):
        case "u":
            row(BEFORE, other)
            return [(table, "u", row(AFTER, image), ALL, other, image)]
        case "d":
            return [(table, "d", row(DELETE, image), ALL, image, None)]
        case "p":  # a deferred update of one row: both rows have one seqval
            return [
                (table, "d", row(DELETE, other), ALL, other, None),
                (table, "c", row(INSERT, image, later=random.choice((0, 1))), ALL, None, image),
            ]
        case "q":  # of many rows: all deletes, then all inserts
            seqvals = [lsn(10_000 + number * 7 + more) for more in range(4)]
            gone: list[Change] = [
                (table, "d", row(DELETE, other, at), ALL, other, None) for at in seqvals[:2]
            ]
            return gone + [(table, "c", row(INSERT, image, at), ALL, None, image) for at in seqvals[2:]]
        case _:
            return [(table, "c", row(INSERT, image), ALL, None, image)]


def read(
    server: Server,
    position: SqlServerPosition | None = None,
    *,
    most_bytes: int = 1 << 20,
    tables: Sequence[int] = TABLES,
) -> tuple[list[CommitPart], int]:
    """Read from a position to the end; return the parts, and the most rows that were held at once."""
    start = position or SqlServerPosition(1, ZERO)
    inside = start.cut is not None
    commits = [one for one in server.commits if one.lsn > start.lsn or (inside and one.lsn == start.lsn)]
    upto = commits[-1].lsn if commits else HIGHEST
    merger = PageMerger(
        "shop",
        commits,
        [TableRange(table, start.behind, upto) for table in tables],
        done=start.done if inside else 0,
        most_bytes=most_bytes,
    )
    parts: list[CommitPart] = []
    held = 0
    while not merger.done:
        for request in merger.wanted():
            rows, full = server.page(request)
            merger.feed(request.table, rows, full=full)
        held = max(held, sum(len(feed.rows) for feed in merger._feeds.values()))
        parts += merger.take()
    return parts, held


def changes(parts: Sequence[CommitPart]) -> list[tuple[Lsn, int, Change]]:
    """List all changes with their commit and ordinal."""
    return [
        (part.commit.lsn, part.first + place, change)
        for part in parts
        for place, change in enumerate(part.changes)
    ]


def positions(parts: Sequence[CommitPart]) -> list[SqlServerPosition]:
    """Every place at which somebody could stop: behind each change, and behind each commit."""
    made = []
    for part in parts:
        made += [
            SqlServerPosition(1, part.commit.lsn, part.first + place + 1, place_of(change[2]))
            for place, change in enumerate(part.changes)
        ]
        if part.complete:
            made.append(SqlServerPosition(1, part.commit.lsn, WHOLE))
    return made
