"""Every kind of catalogue that an Iceberg target can use, with a real one behind it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.catalogues import Catalogue, glue, hive, rest
from tests.e2e.copying import Copying, expected
from tests.e2e.written import Server
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

pytestmark = [
    pytest.mark.servers,
    pytest.mark.spark,
    pytest.mark.deep,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # the registry's client leaves one
]


@pytest.mark.parametrize("serve", [rest, hive, glue])
def test_a_catalogue_is_merged_into(
    serve: Callable[[Path], Catalogue],
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    namespace: str,
) -> None:
    catalogue = serve(tmp_path / "catalogue")
    process = Process(catalogue.program)
    process.start()
    try:
        catalogue.prepare()
        lines = ["[target]", 'kind = "iceberg"', *catalogue.lines, "[spark]", 'master = "local[2]"']
        server, port = Server(kafka, registry, topic_prefix, namespace), choose(tmp_path, "status")["status"]
        made = Copying(tmp_path, server, registry, port, lines, catalogue.environment)
        assert made.merged_by() == expected()
    finally:
        process.kill()
