"""The target as a pipeline's settings open it: it is looked at, and tried with frames of Spark's."""

import json
import subprocess
import sys

import pytest
from google.cloud.spanner_v1.client import Client

from wrackline.consumers.contract.target import load_target
from wrackline.consumers.targets.spanner.session import SpannerSession
from wrackline.control.local.emulators.spanner import INSTANCE, PROJECT, make_database
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.errors import Transient
from wrackline.schemas.pipelines.lineage_names import Located, Locating
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import TableId

PROBE = """
import json, sys
from tests.integration.targets.spanner.test_spanner_opened import pipeline
from wrackline.control.runtime.probe.target_trial import try_target
tried = try_target(pipeline(int(sys.argv[1]), "tried"), ["shop.db.public.orders"])
print(json.dumps(tried.measures if tried.ok else {"failed": tried.finding.id}))
"""
ORDERS = TableId("db", "public", "orders")


def pipeline(port: int, dbname: str) -> Pipeline:
    given = {
        "name": "shop",
        "topic.prefix": "shop",
        "connector.class": "postgres",
        "database.hostname": "127.0.0.1",
        "database.user": "wrackline",
        "database.password": "x",
        "database.dbname": "db",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "target.kind": "spanner",
        "target.endpoint": f"http://127.0.0.1:{port}",
        "target.project": PROJECT,
        "target.instance": INSTANCE,
        "target.dbname": dbname,
        "target.view.security": "invoker",
        "spark.master": "local[1]",
    }
    made = check(given, Installed(), Resolver(Allowed(), {}))
    assert made.values is not None, made.problems
    return made


def test_an_emulator_in_the_service_s_place_is_reached_and_looked_at(emulator: int, client: Client) -> None:
    """The emulator has no rights, and the check says so.  EMULATORS.md: sp-rights."""
    make_database(client, "looked")
    plugin, values = load_target("spanner"), pipeline(emulator, "looked").good()
    target = plugin.open(values, None)  # type: ignore[arg-type]  # nothing is merged
    assert [one.id for one in target.check([ORDERS])] == ["spanner.rights_unknown"]
    assert not target.can.whole
    target.close()
    assert isinstance(plugin, Locating)
    located = Located(f"spanner://{PROJECT}:{INSTANCE}", "looked.db_public.orders")
    assert plugin.located(values, ORDERS) == located


def test_a_database_that_is_not_there_is_found_at_once(emulator: int, client: Client) -> None:
    make_database(client, "other")
    with pytest.raises(Transient, match=r"spanner\.gone"):
        load_target("spanner").open(pipeline(emulator, "absent").good(), None)  # type: ignore[arg-type]


@pytest.mark.full
def test_the_probe_merges_ten_rows_twice_and_leaves_no_table(emulator: int, client: Client) -> None:
    """In a process of its own, as a command has its Spark."""
    database = make_database(client, "tried")
    command = [sys.executable, "-c", PROBE, str(emulator)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"rows": 10, "columns": 10}
    session = SpannerSession(client, database, 1.0)
    left = session.ask("SELECT t.table_name FROM information_schema.tables AS t WHERE t.table_schema != ''")
    assert [name for (name,) in left if "trial" in name] == []
