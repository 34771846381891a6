"""A stream over a database whose tables come and go, and what it says of them."""

import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.integration.mysql.source_world import MySqlRegistry
from tests.integration.mysql.world import root, settings_of
from tests.integration.shop import Opened
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.steps import (
    Appeared,
    Coming,
    Commit,
    Fault,
    Found,
    Progress,
    Renamed,
    Reshaped,
    Shape,
    Step,
    Truncate,
    Vanished,
)
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, facts_of
from wrackline.producers.sources.mysql.source import MySqlSource
from wrackline.producers.sources.mysql.stream import MySqlStream
from wrackline.schemas.tables.table import TableId

TOLD = (Appeared, Vanished, Renamed, Reshaped, Truncate, Fault)


class Shop(Opened):
    """A database with the table `a`, and a pipeline over all in it that does not begin with x."""

    def __init__(self, server: MysqlServer, grants: Sequence[str] = (), **settings: str) -> None:
        """Make them; `grants` are run before the pipeline opens, with the database's name in them."""
        self.database = f"t_{uuid.uuid4().hex[:10]}"
        self._server, self._settings = server, settings
        self.sql = root(server)
        self.mariadb = facts_of(self.sql).flavour is Flavour.MARIADB
        self.run(f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4", f"USE {self.database}")
        self.run("CREATE TABLE a (id int PRIMARY KEY, note varchar(40))")
        self.run(*(grant.format(self.database) for grant in grants))
        super().__init__(MySqlRegistry())

    def start(self) -> tuple[MySqlSource, MySqlStream]:
        """Open the log where it was left, with the tables of now."""
        chosen = {
            "database.include.list": self.database,
            "table.exclude.list": rf"{self.database}\.x.*",
            "connect.keep.alive.interval.ms": "2000",
            **self._settings,
        }
        made = MySqlSource(settings_of(self._server, **chosen), self.around, "mysql")
        (partition,) = made.partitions()
        return made, made.stream(partition, made.tables(partition), self.saved)

    def close(self) -> None:
        self.stop()
        self.run(f"DROP DATABASE IF EXISTS {self.database}")
        self.sql.close()

    def run(self, *statements: str) -> None:
        with self.sql.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def named(self, name: str) -> TableId:
        return TableId(self.database, self.database, name)

    def told(self) -> list[Coming | Truncate | Fault]:
        """Read all that is written now, and return what is said of tables."""
        self.run("CREATE TABLE IF NOT EXISTS xend (id int)")
        return [step for step in self.all() if isinstance(step, TOLD)]

    def all(self) -> list[Step]:
        """Read all that is written now."""
        with self.sql.cursor() as cursor:
            cursor.execute(facts_of(self.sql).log_status)
            [found] = cursor.fetchall()
        end = (str(found[0]), int(found[1]))
        return self.read_until(partial(_reached, end))

    def columns(self, table: str) -> list[str]:
        """The columns of a table as the stream said them last."""
        shapes = [_shape_of(step) for step in self.steps]
        return [c.name for c in [s for s in shapes if s and s.id == self.named(table)][-1].columns]


def _shape_of(step: Step) -> Any:
    return (
        step.table
        if isinstance(step, Shape | Found)
        else step.shape
        if isinstance(step, Appeared | Reshaped | Renamed)
        else None
    )


def _reached(end: tuple[str, int], steps: Sequence[Step]) -> bool:
    places = [step.position.saved() for step in steps if isinstance(step, Commit | Progress)]
    return bool(places) and (str(places[-1]["file"]), int(str(places[-1]["offset"]))) >= end


def kinds(steps: Sequence[Step]) -> list[tuple[str, ...]]:
    """Steps by kind and name, those that only say a shape left out."""
    found: list[tuple[str, ...]] = []
    for step in steps:
        match step:
            case Renamed(old, new):
                found.append(("renamed", old.name, new.name))
            case Appeared(table, complete):
                found.append(("appeared", table.name, "complete" if complete else "to be read"))
            case Vanished(table):
                found.append(("vanished", table.name))
            case Reshaped(table, refresh=True):
                found.append(("refresh", table.name))
            case Truncate():
                found.append(("truncate",))
            case Fault(table, error):
                found.append(("fault", table.name, error.code))
    return found
