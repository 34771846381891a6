"""Writers whose every committed change is on record: several sessions, tables and sizes of transactions.

In: a database.  Out: tables whose rows carry a write counter `n`, and a ledger with one line for each event
that the topics must hold.  Why it can be trusted: a trigger writes the ledger's lines in the transaction
that they speak of, so whatever is committed, rolled back, undone to a savepoint or lost with the server, the
ledger says the same; and it is no captured table.  `n` comes from one sequence while the row is locked, so
for one key it only grows.
"""

import contextlib
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Self

import psycopg

from tests.chaos.write_threads import WriteThreads

WHOLE = "accounts"  # its log has the old row in full; the others' only the key
TABLES = (WHOLE, "orders", "lines", "counters")
HOT = "counters"  # a few rows that all writers update
_OWN = TABLES[:3]
_COUNTERS = 4
_SIZES = (1, 1, 1, 1, 2, 3, 8, 40)
_STEP_ROWS = (1, 1, 1, 2, 5, 20)
_ROLLED_BACK = 0.1

_LEDGER = """
CREATE SEQUENCE writes;
CREATE TABLE ledger (
    at bigserial PRIMARY KEY, xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    name text NOT NULL, id bigint NOT NULL, op text NOT NULL, n bigint NOT NULL);
CREATE FUNCTION note_made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ledger (name, id, op, n) SELECT TG_TABLE_NAME, id, 'c', n FROM made;
    RETURN NULL; END $$;
CREATE FUNCTION note_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ledger (name, id, op, n) SELECT TG_TABLE_NAME, id, 'd', n FROM gone;
    RETURN NULL; END $$;
CREATE FUNCTION note_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO ledger (name, id, op, n)
        SELECT TG_TABLE_NAME, id, 'd', gone.n FROM gone LEFT JOIN made USING (id) WHERE made.n IS NULL;
    INSERT INTO ledger (name, id, op, n)
        SELECT TG_TABLE_NAME, id, CASE WHEN gone.n IS NULL THEN 'c' ELSE 'u' END, made.n
        FROM made LEFT JOIN gone USING (id);
    RETURN NULL; END $$"""
_TABLE = """
CREATE TABLE {0} (id bigint PRIMARY KEY, n bigint NOT NULL DEFAULT nextval('writes'), note text);
CREATE TRIGGER made AFTER INSERT ON {0} REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION note_made();
CREATE TRIGGER gone AFTER DELETE ON {0} REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_gone();
CREATE TRIGGER changed AFTER UPDATE ON {0} REFERENCING OLD TABLE AS gone NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION note_changed()"""

Session = psycopg.Connection[tuple[object, ...]]


def make_tables(session: Session) -> None:
    """Make the tables and the ledger."""
    session.execute(_LEDGER)
    for table in TABLES:
        session.execute(_TABLE.format(table).encode())
    session.execute(f"ALTER TABLE {WHOLE} REPLICA IDENTITY FULL".encode())


def fill_counters(session: Session) -> None:
    """Make the rows that all writers update."""
    session.execute(f"INSERT INTO {HOT} (id) SELECT generate_series(1, {_COUNTERS})".encode())


@dataclass
class _Keys:
    """The keys of one writer in one table: what there is, what was there once, and what never was."""

    live: list[int]
    gone: list[int]
    fresh: int
    step: int

    def new(self, chance: random.Random) -> int:
        """A key without a row; often one that had one."""
        if self.gone and chance.random() < 0.5:
            return self.gone.pop(chance.randrange(len(self.gone)))
        self.fresh += self.step
        return self.fresh

    def copy(self) -> Self:
        """Keep them for the case that what follows is undone."""
        return replace(self, live=list(self.live), gone=list(self.gone))

    def some(self, count: int, chance: random.Random) -> list[int]:
        return chance.sample(self.live, min(count, len(self.live)))


class Writer:
    """One session's transactions; it alone inserts, deletes and changes its keys."""

    def __init__(self, dsn: str, number: int, of: int, chance: random.Random) -> None:
        self._number, self._of, self._chance = number, of, chance
        self._sql = psycopg.connect(dsn, autocommit=True, connect_timeout=5)
        self._keys = {table: self._known(table) for table in _OWN}

    def close(self) -> None:
        self._sql.close()

    def transaction(self) -> bool:
        """Write one transaction; whether it was committed."""
        keep = self._chance.random() >= _ROLLED_BACK
        with self._undoing(not keep), self._sql.transaction():
            for _ in range(self._chance.choice(_SIZES)):
                if self._chance.random() < 0.1:
                    self._undone()
                else:
                    self._step()
            if self._chance.random() < 0.3:
                self._sql.execute(
                    f"UPDATE {HOT} SET n = nextval('writes') WHERE id = %s".encode(),
                    [self._chance.randint(1, _COUNTERS)],
                )
            if not keep:
                raise psycopg.Rollback
        return keep

    def _undone(self) -> None:
        """A step that is undone to its savepoint."""
        with self._undoing(True), self._sql.transaction():
            self._step()
            raise psycopg.Rollback

    @contextlib.contextmanager
    def _undoing(self, undone: bool) -> Iterator[None]:  # noqa: FBT001 - the name says it
        before = {table: keys.copy() for table, keys in self._keys.items()}
        yield
        if undone:
            self._keys = before

    def _step(self) -> None:
        chance = self._chance
        table = chance.choice(_OWN)
        keys, rows = self._keys[table], chance.choice(_STEP_ROWS)
        what = chance.choice(("insert", "update", "update", "delete", "move")) if keys.live else "insert"
        if what == "insert":
            new = [keys.new(chance) for _ in range(rows)]
            self._sql.execute(
                f"INSERT INTO {table} (id, note) SELECT unnest(%s::bigint[]), repeat('x', %s)".encode(),
                [new, chance.choice((0, 10, 300))],
            )
            keys.live += new
        elif what == "update":
            self._sql.execute(
                f"UPDATE {table} SET n = nextval('writes') WHERE id = ANY (%s)".encode(),
                [keys.some(rows, chance)],
            )
        elif what == "delete":
            old = keys.some(rows, chance)
            self._sql.execute(f"DELETE FROM {table} WHERE id = ANY (%s)".encode(), [old])
            self._leave(keys, old)
        else:
            [old_key] = keys.some(1, chance)
            new_key = keys.new(chance)
            self._sql.execute(
                f"UPDATE {table} SET id = %s, n = nextval('writes') WHERE id = %s".encode(),
                [new_key, old_key],
            )
            self._leave(keys, [old_key])
            keys.live.append(new_key)

    @staticmethod
    def _leave(keys: _Keys, old: list[int]) -> None:
        left = set(old)
        keys.live = [key for key in keys.live if key not in left]
        keys.gone += old

    def _known(self, table: str) -> _Keys:
        """Ask for one's keys, as they are after whatever has become of an earlier session."""
        ours = f"id > 0 AND id % {self._of} = {self._number}"
        there = self._sql.execute(f"SELECT id FROM {table} WHERE {ours}".encode())
        live = [int(str(key)) for (key,) in there]
        had = self._sql.execute(f"SELECT DISTINCT id FROM ledger WHERE name = '{table}' AND {ours}".encode())
        ever = {int(str(key)) for (key,) in had}
        gone = sorted(ever - set(live))
        return _Keys(live, gone, max(ever, default=self._number), self._of)


class Writers(WriteThreads):
    """Several of them over one database."""

    gone = (psycopg.OperationalError, psycopg.Rollback)  # the last amid a transaction that was being undone

    def __init__(self, dsn: str, seed: int, count: int = 3, pace: float = 0.03) -> None:
        super().__init__(seed, count, pace)
        self._dsn = dsn

    def opened(self, number: int, of: int, chance: random.Random) -> AbstractContextManager[Writer]:
        """Open one."""
        return contextlib.closing(Writer(self._dsn, number, of, chance))
