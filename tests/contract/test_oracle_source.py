"""Oracle's source keeps the contract over the model, as it is and in other ways to read it.

The model is behind the interface of python-oracledb.  It is not an Oracle.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest

from tests.fixtures.oracle_world import OracleWorld
from wrackline.testing.sources.source_suite import SourceSuite
from wrackline.testing.sources.source_world import SourceWorld


class TestOracle(SourceSuite):
    @pytest.fixture
    def world(self) -> Iterator[SourceWorld]:
        made = OracleWorld()
        yield made
        made.close()


class OracleVariant(NamedTuple):
    """Another database, or another way to read it."""

    threads: int = 1
    pdb: str | None = None
    settings: Mapping[str, str] = {}
    most_bytes: int | None = None  # in memory, of transactions
    archives: bool = False


VARIANTS = {
    "archived logs": OracleVariant(settings={"log.mining.archive.log.only.mode": "true"}, archives=True),
    "two threads": OracleVariant(threads=2, settings={"rac.nodes": "node1,node2"}),
    "little memory": OracleVariant(most_bytes=1),
    "pluggable": OracleVariant(pdb="SHOP1"),
    "small ranges": OracleVariant(
        settings={"log.mining.batch.size.default": "2", "log.mining.batch.size.min": "1"}
    ),
}


@pytest.mark.full
class TestOracleVariants(SourceSuite):
    @pytest.fixture(params=VARIANTS)
    def world(self, request: pytest.FixtureRequest) -> Iterator[SourceWorld]:
        variant = VARIANTS[request.param]
        made = OracleWorld(
            threads=variant.threads, pdb=variant.pdb, archives=variant.archives, **variant.settings
        )
        if variant.most_bytes is not None:
            made.oracle.most_bytes = variant.most_bytes
        yield made
        made.close()
