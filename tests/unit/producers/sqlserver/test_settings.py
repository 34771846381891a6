"""Debezium's SQL Server connector's settings: what runs as it is, what is named, what is refused."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from wrackline.producers.sources.sqlserver.config import SETTINGS
from wrackline.producers.sources.sqlserver.wire.login import ServerLogin
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


OF_A_DOMAIN = {"driver.integratedSecurity": "true", "driver.domain": "CORP"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (None, None, None, "sa")),
        ({"driver.accessTokenFile": "/run/token"}, ("/run/token", None, None, "sa")),
        (OF_A_DOMAIN, (None, "JavaKerberos", "CORP", "CORP\\sa")),
        ({**OF_A_DOMAIN, "driver.authenticationScheme": "ntlm"}, (None, "NTLM", "CORP", "CORP\\sa")),
        ({"driver.integratedSecurity": "false"}, (None, None, None, "sa")),
    ],
)
def test_a_login_is_one_of_four_kinds(given: Mapping[str, str], expected: tuple[str | None, ...]) -> None:
    kept = {name: value for name, value in DEBEZIUM.items() if name != "database.password"}
    read = reading({**(kept if "driver.accessTokenFile" in given else DEBEZIUM), **given})
    assert read.values is not None, read.problems
    login = ServerLogin.of_settings(read.values)
    assert (login.token_file, login.scheme, login.domain, login.account) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"driver.accessTokenFile": "/run/token"},  # beside a password
        {"driver.accessTokenFile": "/run/token", "driver.integratedSecurity": "true"},
        {"driver.accessToken": "eyJ0eXAi.ours"},
        {"driver.authenticationScheme": "NTLM"},
        {"driver.domain": "CORP"},
        {**OF_A_DOMAIN, "driver.domain": "CORP\\sa"},
        {**OF_A_DOMAIN, "driver.authenticationScheme": "NativeAuthentication"},
    ],
)
def test_two_kinds_of_login_at_once_are_refused(more: Mapping[str, str]) -> None:
    read = reading({**DEBEZIUM, **more})
    assert read.values is None
    assert "eyJ0eXAi" not in str(read.problems)


def test_a_token_that_is_written_as_a_setting_is_shown_nowhere() -> None:
    registry = SettingsRegistry(CORE, SETTINGS)
    given = {**DEBEZIUM, "driver.accessToken": "eyJ0eXAi.ours", "driver.accessTokenFile": "eyJ0eXAi.ours"}
    resolver = Resolver(Allowed(folders=(Path("/run"),)), {})
    shown = (registry.shown(given), registry.validate("sqlserver", given, resolver))
    assert "eyJ0eXAi" not in repr(shown)
    assert "eyJ0eXAi" not in str(registry.read(given, resolver).problems)
