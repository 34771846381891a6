"""Dead letters in a table of ours, beside what is applied.

In: letters, and connections of the target's.  Out: a `LetterBox`.  A letter is known by its table's place in
this target and its record's spot, so two pipelines into two schemas have each their own.  A block is one
transaction; a page of letters is one query, so no replay holds a transaction open.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager

from psycopg import sql

from wrackline.consumers.contract import letters
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition, blocks
from wrackline.consumers.targets.postgres.catalog import has_schema, relation
from wrackline.consumers.targets.postgres.connect import Connection
from wrackline.consumers.targets.postgres.sql.place import PgTargetLayout, PgTargetPlace
from wrackline.schemas.tables.table import TableId

Session = Callable[[TableId, str], AbstractContextManager[Connection]]  # a table, and what is done

CREATING = 0x7772_6163_6B6C  # the advisory lock for creations, of all pipelines
_PAGE = 100
_CREATE = """
CREATE TABLE IF NOT EXISTS {box} (
  storage text NOT NULL, topic text NOT NULL, "partition" integer NOT NULL, "offset" bigint NOT NULL,
  code text NOT NULL, reason text NOT NULL, key bytea, value bytea, kept_at timestamptz NOT NULL,
  PRIMARY KEY (storage, topic, "partition", "offset"))"""
_KEEP = """
INSERT INTO {box} VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'epoch'::timestamptz + %s * interval '1 ms')
ON CONFLICT DO NOTHING"""
_SPOTS = 'SELECT topic, "partition", "offset" FROM {box} WHERE storage = %s'
_KEPT = """
SELECT topic, "partition", "offset", code, reason, key, value,
       round(extract(epoch FROM kept_at) * 1000)::bigint
FROM {box} WHERE storage = %s AND (topic, "partition", "offset") > (%s, %s, %s)
ORDER BY topic, "partition", "offset" LIMIT %s"""
_FORGET = "DELETE FROM {box} WHERE storage = %s"
_REMOVE = 'DELETE FROM {box} WHERE storage = %s AND topic = %s AND "partition" = %s AND "offset" = %s'


class PgTargetLetters:
    """The letters of one target."""

    def __init__(self, layout: PgTargetLayout, session: Session) -> None:
        self._layout, self._session = layout, session
        self._box = sql.Identifier(layout.storage_schema, letters.NAME)

    def keep(self, table: TableId, given: Iterable[DeadLetter]) -> None:
        """Insert the letters that are not there, block by block."""
        storage = self._layout.place(table).storage
        for block in blocks(given):
            with self._session(table, "the keeping of dead letters") as connection:
                self._make(connection)
                with connection.cursor() as cursor:
                    rows = [
                        (storage, *one.spot, one.code, one.reason, one.key, one.value, one.kept_ms)
                        for one in block
                    ]
                    cursor.executemany(self._statement(_KEEP), rows)
                connection.commit()

    def spots(self, table: TableId) -> frozenset[RecordPosition]:
        """Read only the spots."""
        with self._session(table, "a look at the dead letters") as connection:
            if not self._there(connection):
                return frozenset()
            found = connection.execute(self._statement(_SPOTS), [self._layout.place(table).storage])
            return frozenset(RecordPosition(*row) for row in found)

    def kept(self, table: TableId) -> Iterator[DeadLetter]:
        """Read them page by page."""
        after = RecordPosition("", -1, -1)
        while page := self._page(table, after):
            yield from page
            after = page[-1].spot

    def remove(self, table: TableId, spots: Collection[RecordPosition]) -> None:
        """Delete in one transaction."""
        storage = self._layout.place(table).storage
        with self._session(table, "the removal of dead letters") as connection:
            if self._there(connection):
                with connection.cursor() as cursor:
                    cursor.executemany(self._statement(_REMOVE), [(storage, *spot) for spot in spots])
                connection.commit()

    def forget(self, connection: Connection, place: PgTargetPlace) -> None:
        """Delete all of a table's letters in the caller's transaction."""
        if self._there(connection):
            connection.execute(self._statement(_FORGET), [place.storage])

    def _page(self, table: TableId, after: RecordPosition) -> list[DeadLetter]:
        with self._session(table, "a look at the dead letters") as connection:
            if not self._there(connection):
                return []
            arguments = [self._layout.place(table).storage, *after, _PAGE]
            found = connection.execute(self._statement(_KEPT), arguments).fetchall()
        return [DeadLetter(RecordPosition(*row[:3]), *row[3:]) for row in found]

    def _make(self, connection: Connection) -> None:
        if self._there(connection):
            return
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [CREATING])
        schema = self._layout.storage_schema
        if not has_schema(connection, schema):
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute(self._statement(_CREATE))

    def _there(self, connection: Connection) -> bool:
        return relation(connection, self._layout.storage_schema, letters.NAME) is not None

    def _statement(self, text: str) -> sql.Composed:
        return sql.SQL(text).format(box=self._box)
