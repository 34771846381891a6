"""SQL Server is being built: nobody can choose it yet, by its name or by Debezium's class."""

import pytest

from wrackline.control.runtime.ground.installed import Installed
from wrackline.producers.contract.source_plugin import SOURCES, load
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.pipelines.plugin_finder import list_kinds
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

GIVEN = {
    "name": "shop",
    "topic.prefix": "shop1",
    "kafka.bootstrap.servers": "127.0.0.1:1",
    "schema.registry.url": "http://127.0.0.1:1",
}


@pytest.mark.parametrize("named", ["sqlserver", "io.debezium.connector.sqlserver.SqlServerConnector"])
def test_a_source_that_is_half_built_can_t_be_chosen(named: str) -> None:
    assert "sqlserver" not in list_kinds(SOURCES)
    pipeline = check({**GIVEN, "connector.class": named}, Installed(), Resolver(Allowed(), {}))
    assert "pipeline.unknown_kind" in [problem.error.code for problem in pipeline.problems]
    with pytest.raises(OperatorNeeded, match="there is no source named 'sqlserver'"):
        load("sqlserver")
