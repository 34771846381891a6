"""Debezium's SQL Server connector's settings: what runs as it is, what is named, what is refused."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from wrackline.producers.sources.sqlserver.config import SETTINGS
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import CheckedSettings, SettingsRegistry

# As Debezium's own tutorial and its reference write them.
DEBEZIUM = {
    "name": "inventory-connector",
    "connector.class": "io.debezium.connector.sqlserver.SqlServerConnector",
    "tasks.max": "1",
    "kafka.bootstrap.servers": "broker:9092",
    "schema.registry.url": "http://registry:8081",
    "database.hostname": "192.168.99.100",
    "database.port": "1433",
    "database.user": "sa",
    "database.password": "Password!",
    "database.names": "testDB1,testDB2",
    "topic.prefix": "fullfillment",
    "table.include.list": "dbo.customers",
    "schema.history.internal.kafka.bootstrap.servers": "kafka:9092",
    "schema.history.internal.kafka.topic": "schemahistory.fullfillment",
    "driver.trustStore": "path/to/trust-store",
    "driver.trustStorePassword": "geheim",
    "driver.applicationIntent": "readonly",
    "driver.encrypt": "true",
    "driver.loginTimeout": "30",
    "snapshot.isolation.mode": "repeatable_read",
    "snapshot.mode": "initial",
    "data.query.mode": "direct",
    "max.iteration.transactions": "500",
    "poll.interval.ms": "500",
    "streaming.fetch.size": "10000",
    "incremental.snapshot.option.recompile": "false",
    "signal.data.collection": "testDB1.dbo.signals",
}


def reading(given: Mapping[str, str]) -> CheckedSettings:
    return SettingsRegistry(CORE, SETTINGS).read(given, Resolver(Allowed(folders=(Path("/"),)), {}))


def test_a_debezium_connector_runs_as_it_is_with_warnings() -> None:
    read = reading(DEBEZIUM)
    assert read.values is not None, [problem for problem in read.problems if not problem.warning]
    assert "geheim" not in str(read.problems)
    assert {problem.setting for problem in read.problems} == {
        "schema.history.internal.kafka.bootstrap.servers",
        "schema.history.internal.kafka.topic",
        "driver.trustStore",
        "driver.trustStorePassword",
        "streaming.fetch.size",
        "incremental.snapshot.option.recompile",
    }
    assert read.values.listed("database.names") == ("testDB1", "testDB2")
    assert read.values.integer("poll.interval.ms") == 500
    assert read.values["driver.applicationIntent"] == "ReadOnly"


@pytest.mark.parametrize(
    "more",
    [
        {"database.names": ""},
        {"database.names": "shop,shop"},
        {"database.names": "x" * 129},
        {"database.hostname": "server\\instance"},
        {"database.instance": "a\\b"},
        {"database.instance": "sales", "database.port": "1434"},
        {"driver.encrypt": "maybe"},
        {"driver.authentication": "ActiveDirectoryManagedIdentity"},
        {"snapshot.isolation.mode": "read_uncommitted"},
        {"snapshot.isolation.mode": "exclusive"},
        {"max.iteration.transactions": "0"},
        {"time.precision.mode": "adaptive"},
    ],
)
def test_what_cannot_be_obeyed_is_refused(more: Mapping[str, str]) -> None:
    assert reading({**DEBEZIUM, **more}).values is None


def test_a_setting_of_debezium_for_a_function_is_named() -> None:
    read = reading({**DEBEZIUM, "data.query.mode": "function"})
    assert read.values is not None
    assert "data.query.mode" in {problem.setting for problem in read.problems}


def test_by_default_the_server_must_prove_its_identity() -> None:
    defaults = {one.name: one.default for one in SETTINGS.settings}
    assert (defaults["driver.encrypt"], defaults["driver.trustServerCertificate"]) == ("true", "false")
