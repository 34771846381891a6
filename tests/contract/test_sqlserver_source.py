"""SQL Server's source keeps the contract over the stand-in, with one database and several.

The stand-in speaks TDS over a model of change data capture.  It is not a SQL Server.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from tests.fixtures.tiers import alternatives
from wrackline.control.local.sqlserver_standin.model.server import AZURE
from wrackline.producers.contract.source_plugin import MarkKind, Whole
from wrackline.schemas.errors import OperatorNeeded
from wrackline.testing.sources.source_suite import SourceSuite
from wrackline.testing.sources.source_world import SourceWorld


class TestSqlServer(SourceSuite):
    @pytest.fixture(params=alternatives([(1, MarkKind.SIGNAL), (3, MarkKind.FENCE)]), ids=str)
    def world(self, request: pytest.FixtureRequest) -> Iterator[SourceWorld]:
        made = SqlServerWorld(*request.param)
        yield made
        made.close()


class Variant(NamedTuple):
    """Another server, or another way to read it; `refused`: what it can't do, which other tests try."""

    kind: MarkKind
    settings: Mapping[str, str] = {}
    edition: int = 3
    refused: frozenset[str] = frozenset()


VARIANTS = {
    "row versions": Variant(MarkKind.SIGNAL, {"snapshot.isolation.mode": "snapshot"}),
    "azure": Variant(
        MarkKind.SIGNAL,
        edition=AZURE,  # one connection may not enter all databases
        refused=frozenset({"test_one_answer_about_all_logs_is_right_for_each"}),
    ),
    "secondary": Variant(
        MarkKind.FENCE,
        {"driver.applicationIntent": "ReadOnly"},
        refused=frozenset(  # a table without a key needs a lock that a secondary does not give
            {
                "test_pieces_meet_every_row_once_and_number_them",
                "test_a_whole_read_has_what_is_older_than_its_rows_and_nothing_else",
                "test_a_later_read_voids_the_rows_of_an_earlier_one_on_an_idle_database_too",
                "test_a_read_that_another_thread_gave_up_ends",
            }
        ),
    ),
}


@pytest.mark.full
class TestSqlServerVariants(SourceSuite):
    @pytest.fixture(params=VARIANTS)
    def world(self, request: pytest.FixtureRequest) -> Iterator[SourceWorld]:
        variant = VARIANTS[request.param]
        if request.node.originalname in variant.refused:
            pytest.skip(f"refused by design: {request.param}")
        made = SqlServerWorld(1, variant.kind, **variant.settings)
        made.model.edition = variant.edition
        yield made
        made.close()


def test_a_table_without_a_key_is_not_read_on_a_secondary() -> None:
    """Its rows are read at one place of the log, which needs a lock."""
    world = SqlServerWorld(1, MarkKind.FENCE, **VARIANTS["secondary"].settings)
    try:
        (partition,) = world.source.partitions()
        reader = world.source.reader(partition)
        assert isinstance(reader, Whole)
        with pytest.raises(OperatorNeeded) as caught:
            reader.whole(world.orders(partition).id)
        assert caught.value.code == "sqlserver.no_key_on_secondary"
    finally:
        world.close()
