"""Debezium's MySQL and MariaDB connectors' settings: what runs as it is, what is named, what is refused."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from wrackline.producers.sources.mysql.config import SETTINGS
from wrackline.producers.sources.mysql.connect import tls
from wrackline.producers.sources.mysql.connect.connect import replica_id
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.filters import TableFilter
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import CheckedSettings, SettingsRegistry
from wrackline.schemas.tables.table import TableId

OURS = {"kafka.bootstrap.servers": "broker:9092", "schema.registry.url": "http://registry:8081"}
# As Debezium's own tutorial and its reference write them.
MYSQL = {
    "name": "inventory-connector",
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "tasks.max": "1",
    "database.hostname": "mysql",
    "database.port": "3306",
    "database.user": "debezium",
    "database.password": "dbz",
    "database.server.id": "184054",
    "database.ssl.mode": "preferred",
    "database.ssl.truststore": "/etc/kafka/truststore.jks",
    "database.ssl.truststore.password": "geheim",
    "database.allowPublicKeyRetrieval": "true",
    "topic.prefix": "dbserver1",
    "database.include.list": "inventory",
    "table.include.list": "inventory.orders,inventory.customers",
    "column.exclude.list": "inventory.customers.email",
    "include.query": "false",
    "include.schema.changes": "true",
    "connect.keep.alive": "true",
    "connect.keep.alive.interval.ms": "60000",
    "connect.timeout.ms": "30000",
    "bigint.unsigned.handling.mode": "precise",
    "decimal.handling.mode": "precise",
    "event.processing.failure.handling.mode": "fail",
    "inconsistent.schema.handling.mode": "fail",
    "snapshot.mode": "initial",
    "snapshot.locking.mode": "minimal",
    "snapshot.fetch.size": "2000",
    "min.row.count.to.stream.results": "1000",
    "enable.time.adjuster": "true",
    "read.only": "true",
    "heartbeat.interval.ms": "5000",
    "signal.data.collection": "inventory.debezium_signal",
    "schema.history.internal.kafka.bootstrap.servers": "kafka:9092",
    "schema.history.internal.kafka.topic": "schema-changes.inventory",
}
MARIADB = {**MYSQL, "connector.class": "mariadb", "database.ssl.mode": "trust"}


def reading(given: Mapping[str, str]) -> CheckedSettings:
    resolver = Resolver(Allowed(folders=(Path("/"),)), {})
    return SettingsRegistry(CORE, SETTINGS).read({**OURS, **given}, resolver)


@pytest.mark.parametrize("given", [MYSQL, MARIADB])
def test_a_debezium_connector_runs_as_it_is_with_warnings(given: Mapping[str, str]) -> None:
    read = reading(given)
    assert read.values is not None, [problem for problem in read.problems if not problem.warning]
    named = {problem.setting for problem in read.problems}
    assert "geheim" not in str(read.problems)
    assert named == {
        "database.ssl.truststore",
        "database.ssl.truststore.password",
        "include.query",
        "connect.keep.alive",
        "inconsistent.schema.handling.mode",
        "snapshot.locking.mode",
        "snapshot.fetch.size",
        "min.row.count.to.stream.results",
        "enable.time.adjuster",
        "schema.history.internal.kafka.bootstrap.servers",
        "schema.history.internal.kafka.topic",
    }


@pytest.mark.parametrize(
    "more",
    [
        {"database.exclude.list": "mysql"},
        {"schema.include.list": "inventory"},
        {"database.port": "0"},
        {"database.server.id": "4294967296"},
        {"database.server.id": "0"},
        {"database.ssl.mode": "verify_host"},
        {"database.hostname": "mysql:3306"},
        {"database.ssl.key": "/etc/key.pem"},
        {"database.ssl.ca": "/etc/ca.pem", "database.ssl.mode": "required"},
        {"transforms": "unwrap"},
        {"gtid.source.includes": "24bc7850-2c16-11e6-a073-0242ac110002"},
        {"gtid.source.excludes": "24bc7850-2c16-11e6-a073-0242ac110002"},
        {"time.precision.mode": "connect"},
    ],
)
def test_what_cannot_be_obeyed_is_refused(more: Mapping[str, str]) -> None:
    assert reading({**MYSQL, **more}).values is None


def test_databases_are_what_schemas_are_elsewhere() -> None:
    read = reading({**MYSQL, "database.include.list": "shop,inv.*", "table.include.list": ".*"})
    assert read.values is not None
    captures = TableFilter.of(read.values).captures
    assert captures(TableId("inventory", "inventory", "orders"))
    assert captures(TableId("Shop", "Shop", "orders"))
    assert not captures(TableId("shop2", "shop2", "orders"))
    without = {name: text for name, text in MYSQL.items() if name != "database.include.list"}
    read = reading({**without, "database.exclude.list": "shop", "table.include.list": ".*"})
    assert read.values is not None
    captures = TableFilter.of(read.values).captures
    assert captures(TableId("inventory", "inventory", "orders"))
    assert not captures(TableId("shop", "shop", "orders"))


def test_our_number_is_the_same_after_every_restart_and_another_for_every_pipeline() -> None:
    without = {name: text for name, text in MYSQL.items() if name != "database.server.id"}

    def number(**more: str) -> int:
        read = reading({**without, **{name.replace("_", "."): text for name, text in more.items()}})
        assert read.values is not None
        return replica_id(read.values)

    assert number() == number() == 1_188_522_226
    numbers = {number(name=f"p{one}", topic_prefix=f"t{two}") for one in range(10) for two in range(10)}
    assert len(numbers) == 100
    assert min(numbers) >= 1_000_000_000
    assert max(numbers) < 2_000_000_000
    assert number(database_server_id="17") == 17


def test_by_default_the_server_must_prove_its_identity() -> None:
    """A-DRIVER-09."""
    [setting] = [one for one in SETTINGS.settings if one.name == "database.ssl.mode"]
    assert setting.default == tls.VERIFY_IDENTITY
