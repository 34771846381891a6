"""Several databases of one server: what concerns all of them is asked of one that answers."""

from collections.abc import Sequence
from typing import cast

import pytest

from tests.unit.settings.shop import GOOD, checked
from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.sources.postgres.chunks.marks import PgFence
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.producers.sources.postgres.databases import PgDatabases
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.tables.table import SourcePartition

AWAY = define("test.database_away", Transient, "{database} is away", hint="wait")
PARTITIONS = [SourcePartition("server", name) for name in "abcde"]


class Answering:
    """A database, as far as it is asked about the server."""

    def __init__(self, name: str, asked: list[str], away: set[str]) -> None:
        self.name, self.slot, self._asked, self._away = name, f"slot_{name}", asked, away

    def log_end(self, partition: SourcePartition) -> PgFence:
        del partition
        self._answer()
        return PgFence("end", 7)

    def states_of_slots(self, slots: Sequence[str]) -> dict[str, LogState]:
        self._answer()
        return {slot: LogState(slot, None, 1, 1, 1, None, None) for slot in slots if slot != "slot_b"}

    def stream(self, *_given: object) -> None:
        if self.name in self._away:
            raise AWAY(database=self.name)

    def _answer(self) -> None:
        self._asked.append(self.name)
        if self.name in self._away:
            raise AWAY(database=self.name)


class Server:
    """Five databases, some of which are away."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.away: set[str] = set()
        self.databases = object.__new__(PgDatabases)
        self.databases._next = 0
        self.databases._opened = set()
        self.databases._sources = {
            one: cast("PgSource", Answering(one.database, self.asked, self.away)) for one in PARTITIONS
        }


class Connection:
    """A connection that is open or not."""

    def __init__(self, made: list["Connection"]) -> None:
        self.closed = False
        made.append(self)

    def close(self) -> None:
        self.closed = True


def test_connections_that_ask_about_catalogues_are_no_more_with_more_databases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Connection] = []
    monkeypatch.setattr(PgServer, "guarded", lambda _: Connection(made))
    given = {**GOOD, "database.names": ",".join(f"shop{number}" for number in range(40))}
    del given["database.dbname"]
    values = checked(given).values
    assert values is not None
    around = Surroundings(lambda: 0.0, lambda: 0, lambda _: cast("WriterIds", None))
    databases = PgDatabases(values, around)
    for _ in range(2):
        for source in databases._sources.values():
            with source._connection.lend():
                pass
    assert (len(databases.partitions()), sum(not one.closed for one in made)) == (40, 16)
    databases.close()
    assert all(one.closed for one in made)


def test_one_database_answers_for_all() -> None:
    server = Server()
    assert server.databases.log_ends() == dict.fromkeys(PARTITIONS, PgFence("end", 7))
    states = server.databases.log_states()
    assert [state and state.name for state in states.values()] == [
        "slot_a",
        None,
        "slot_c",
        "slot_d",
        "slot_e",
    ]
    assert list(states) == PARTITIONS
    assert server.asked == ["a", "a"]


def test_another_one_is_asked_if_it_is_away_and_stays_the_first() -> None:
    server = Server()
    server.away |= {"a", "b"}
    for _ in range(3):
        server.databases.log_ends()
    assert server.asked == ["a", "b", "c", "c", "c"]


def test_few_are_asked_if_all_are_away_and_the_next_time_others() -> None:
    server = Server()
    server.away |= set("abcde")
    for _ in range(2):
        with pytest.raises(WracklineError, match="away"):
            server.databases.log_ends()
    assert server.asked == ["a", "b", "c", "d", "e", "a"]


def test_many_databases_that_refuse_us_come_behind_one_whose_log_was_opened() -> None:
    server = Server()
    server.away |= set("abcd")
    for partition in PARTITIONS:
        try:
            server.databases.stream(partition, (), None)
        except WracklineError:
            continue
    server.databases.log_ends()
    assert server.asked == ["e"]
    server.away.add("e")
    for _ in range(2):
        with pytest.raises(WracklineError, match="e is away"):
            server.databases.log_ends()
    assert server.asked == ["e"] * 3, "each time once"
    server.away.remove("a")
    server.databases.stream(PARTITIONS[0], (), None)
    assert server.databases.log_ends().keys() == set(PARTITIONS)
