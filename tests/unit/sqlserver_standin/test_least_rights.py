"""A login that has what `check` asks for, and nothing else, can do what a pipeline does."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from tests.fixtures.sqlserver_world import USER, SqlServerWorld
from tests.unit.sqlserver_standin.shop import outcomes, session
from wrackline.control.local.sqlserver_standin.model.database import Grant
from wrackline.control.local.sqlserver_standin.wire.sql_types import sql_type
from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.sources.sqlserver.chunks.marks import SqlServerFence
from wrackline.producers.sources.sqlserver.log.lsn import ZERO
from wrackline.producers.sources.sqlserver.source import SqlServerSource
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.tables.table import TableId


class Poor:
    """A world whose login has no right but to enter the database."""

    def __init__(self, kind: MarkKind, **more: str) -> None:
        self.world = SqlServerWorld(1, kind, **more)
        self.partition = self.world.source.partitions()[0]
        self.database = self.world.database(self.partition)
        self.world.model.create_login("sa", "secret", administrator=True)
        self.world.model.administrators.discard(USER)
        self.admin = session(self.world.model, "sa", database="shop0")
        self.world.model.grant(USER, "shop0", Grant(schemas=frozenset(), views_state=False))

    @property
    def source(self) -> SqlServerSource:
        assert isinstance(self.world.source, SqlServerSource)
        return self.world.source

    def allow(self, table: str) -> None:
        """Let the login read a table, which it does not see before."""
        outcomes(self.admin, f"GRANT SELECT ON OBJECT::[{table.replace('.', '].[')}] TO {USER};")

    def findings(self) -> Sequence[Finding]:
        return self.source.check(self.partition, self.tables())

    def tables(self) -> Sequence[TableId]:
        try:
            return self.source.tables(self.partition)
        except OperatorNeeded:
            return ()

    def errors(self) -> Sequence[Finding]:
        return [one for one in self.findings() if one.severity is Severity.ERROR]

    def repair(self) -> list[str]:
        """Run what the findings say, as somebody who may; return their ids."""
        seen = []
        while missing := [one for one in self.errors() if one.fixes]:
            for one in missing:
                outcomes(self.admin, one.fixes[0]["sql"])
                seen.append(one.id.removeprefix("sqlserver."))
            assert len(seen) < 20, seen
        assert self.errors() == []
        return seen


Make = Callable[..., Poor]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Poor] = []

    def poor(kind: MarkKind, edition: int = 3, **more: str) -> Poor:
        made.append(Poor(kind, **more))
        made[-1].world.model.edition = edition
        return made[-1]

    yield poor
    for one in made:
        one.world.close()


@pytest.mark.parametrize(
    ("edition", "of_server"), [(3, True), (5, False), (8, True)], ids=["server", "azure", "managed"]
)
def test_a_place_of_the_log_is_read_with_the_rights_that_the_check_asks_for(
    make: Make, edition: int, *, of_server: bool
) -> None:
    poor = make(MarkKind.FENCE, edition)
    poor.allow("public.orders")
    assert ("server_right_lacks" in poor.repair()) == of_server
    mark = poor.source.reader(poor.partition).marks.set("mine", Edge.CLOSE)
    assert isinstance(mark, SqlServerFence)
    assert poor.source.log_end(poor.partition).lsn >= mark.lsn > ZERO


def test_a_signal_table_needs_no_right_on_the_server_but_a_table_without_a_key_does(make: Make) -> None:
    poor = make(MarkKind.SIGNAL, **{"table.include.list": r"public\..*"})
    poor.allow("public.orders")
    assert "server_right_lacks" not in poor.repair()
    poor.source.reader(poor.partition).marks.set("mine", Edge.CLOSE)
    poor.database.create_table("public.keyless", {"a": "int"}, ())
    poor.database.enable_table("public.keyless")
    poor.database.scan()
    poor.allow("public.keyless")
    assert [one.id for one in poor.errors()] == ["sqlserver.server_right_lacks"]
    poor.repair()
    table = TableId("shop0", "public", "keyless")
    whole = poor.source.reader(poor.partition).whole(table)
    whole.close()


def test_a_captured_table_that_the_login_can_t_see_is_not_passed_over_in_silence(make: Make) -> None:
    poor = make(MarkKind.SIGNAL, **{"table.include.list": r"public\..*"})
    poor.database.enable_table("public.elsewhere")
    poor.database.scan()
    poor.allow("public.orders")
    poor.repair()
    [found] = [one for one in poor.findings() if one.id == "sqlserver.tables_unseen"]
    assert found.description.endswith("of shop0: public_elsewhere")
    poor.allow("public.elsewhere")
    assert not [one for one in poor.findings() if one.id == "sqlserver.tables_unseen"]


def test_an_owner_of_the_database_needs_no_role_of_an_instance(make: Make) -> None:
    """Whoever rotates instances owns the database, and is let in without the role."""
    poor = make(MarkKind.SIGNAL)
    poor.database.disable_table("public_orders")
    poor.database.enable_table("public.orders", role="readers")
    poor.database.scan()
    poor.allow("public.orders")
    poor.allow("public.signals")
    poor.repair()
    assert poor.database.grants[USER].roles == {"readers"}
    poor.world.model.grant(USER, "shop0", Grant(owner=True))
    assert poor.errors() == []


@pytest.mark.parametrize("key", [("id",), ()], ids=["chunks", "whole"])
def test_values_that_the_login_sees_masked_are_refused_and_not_copied(
    make: Make, key: tuple[str, ...]
) -> None:
    """A change table has the values themselves, so existing rows would differ from their changes."""
    poor = make(MarkKind.FENCE, **{"table.include.list": r"public\..*"})
    table = poor.database.create_table("public.people", {"id": "int", "mail": "nvarchar(50)"}, key)
    table.columns = tuple(replace(one, masked=one.name == "mail") for one in table.columns)
    poor.database.enable_table("public.people")
    poor.database.scan()
    poor.allow("public.people")
    poor.world.model.viewers.add(USER)
    outcomes(poor.admin, "GRANT SELECT ON SCHEMA::cdc TO reader;")
    reader, people = poor.source.reader(poor.partition), TableId("shop0", "public", "people")

    def read() -> None:
        if key:
            reader.queries.describe(people)
        else:
            reader.whole(people).close()

    with pytest.raises(OperatorNeeded) as caught:
        read()
    assert caught.value.code == "sqlserver.values_masked"
    assert "mail" in caught.value.sentence
    assert poor.repair() == ["column_masked"]
    read()


def test_what_is_encrypted_is_copied_as_ciphertext_and_named(make: Make) -> None:
    """The catalogue shows the type of the values, and the wire what the server has: varbinary."""
    poor = make(MarkKind.SIGNAL, **{"table.include.list": r"public\..*"})
    table = poor.database.create_table(
        "public.people", {"id": "int", "mail": "varbinary(8000)", "note": "varbinary(max) null"}, ("id",)
    )
    table.columns = tuple(
        replace(one, encrypts=sql_type(f"nvarchar({50 if one.name == 'mail' else 'max'})"))
        if one.name != "id"
        else one
        for one in table.columns
    )
    poor.database.enable_table("public.people")
    poor.database.scan()
    poor.allow("public.people")
    poor.repair()
    people = TableId("shop0", "public", "people")
    shape = poor.source.describe(poor.partition, people)
    assert [(one.name, one.type.kind.value, one.type.source) for one in shape.columns[1:]] == [
        ("mail", "bytes", "varbinary(8000)"),
        ("note", "bytes", "varbinary(max)"),
    ]
    found = [one for one in poor.findings() if one.id == "sqlserver.column_encrypted"]
    assert [one.column for one in found] == ["mail", "note"]
    assert "column.exclude.list = 'shop0.public.people.mail'" in found[0].suggestion
    table.columns = tuple(replace(one, encrypts=sql_type("int")) for one in table.columns)
    with pytest.raises(OperatorNeeded) as caught:
        poor.source.describe(poor.partition, people)
    assert caught.value.code == "sqlserver.key_unordered"


def test_an_agent_that_the_login_can_t_see_is_no_agent_that_runs(make: Make) -> None:
    poor = make(MarkKind.SIGNAL)

    def found() -> list[str]:
        return [one.id for one in poor.findings() if one.id == "sqlserver.agent_unseen"]

    assert found() == ["sqlserver.agent_unseen"]
    poor.world.model.viewers.add(USER)
    assert found() == []
