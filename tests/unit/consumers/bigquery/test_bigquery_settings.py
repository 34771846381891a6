"""From settings to a client, and to where readers find a table; nothing here leaves the machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import requests
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import DefaultCredentialsError
from google.cloud.bigquery import Client

from wrackline.consumers.contract.target import SparkNeeds
from wrackline.consumers.targets.bigquery import PLUGIN, connect
from wrackline.consumers.targets.bigquery.config import SETTINGS
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import CheckedSettings, SettingsRegistry, Values
from wrackline.schemas.tables.table import TableId

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = Resolver(Allowed(folders=(Path("/keys"),)), {})
EMULATED = {"project": "shop", "endpoint": "http://127.0.0.1:9"}


def reading(**given: str) -> CheckedSettings:
    named = {f"target.{name}": value for name, value in given.items()}
    return SettingsRegistry(SETTINGS).read(named, KEYS)


def values(**given: str) -> Values:
    found = reading(**given)
    assert found.values is not None, found.problems
    return found.values


def answered(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> list[Any]:
    """Let the first call be answered, or end in an error; return what it was asked with."""
    asked = []

    def query(client: Client, text: str, *, job_config: Any, **_: object) -> None:
        asked.append((client, text, job_config.dry_run))
        if error is not None:
            raise error

    monkeypatch.setattr(Client, "query", query)
    return asked


def test_a_client_is_of_the_project_and_its_location(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answered(monkeypatch)
    client = connect.open_client(values(**EMULATED, location="europe-west3"))
    assert asked == [(client, "SELECT 1", True)]
    assert (client.project, client.location) == ("shop", "europe-west3")
    assert isinstance(client._credentials, AnonymousCredentials), "they would be sent in clear"


@pytest.mark.filterwarnings("ignore:The load_credentials_from_file method is deprecated")
def test_a_file_of_credentials_that_cannot_be_read_is_one_for_the_operator(tmp_path: Path) -> None:
    given = {"target.project": "shop", "target.credentials.file": str(tmp_path)}
    found = SettingsRegistry(SETTINGS).read(given, Resolver(Allowed(folders=(tmp_path,)), {}))
    assert found.values is not None, found.problems
    with pytest.raises(OperatorNeeded, match=r"bigquery\.login_refused"):
        connect.open_client(found.values)


def test_credentials_are_those_of_the_file_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch)
    asked = []

    def load(file: str, scopes: object) -> tuple[AnonymousCredentials, None]:
        asked.append((file, scopes))
        return AnonymousCredentials(), None  # type: ignore[no-untyped-call]

    monkeypatch.setattr("google.auth.load_credentials_from_file", load)
    file = "/keys/shop.json"
    connect.open_client(values(**{"project": "shop", "credentials.file": file}))
    assert asked == [(file, ("https://www.googleapis.com/auth/bigquery",))]


def test_without_a_file_they_are_the_machine_s(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch)

    def none_there(**_: object) -> None:
        raise DefaultCredentialsError("no credentials")  # type: ignore[no-untyped-call]

    monkeypatch.setattr("google.auth.default", none_there)
    with pytest.raises(OperatorNeeded, match=r"bigquery\.login_refused"):
        connect.open_client(values(project="shop"))


def test_a_project_that_does_not_answer_is_no_target(monkeypatch: pytest.MonkeyPatch) -> None:
    answered(monkeypatch, requests.ConnectionError("refused"))
    with pytest.raises(Transient, match=r"bigquery\.unreachable"):
        connect.open_client(values(**EMULATED))
    answered(monkeypatch, KeyError("a fault of ours"))
    with pytest.raises(KeyError):
        connect.open_client(values(**EMULATED))


def test_readers_find_a_table_as_lineage_names_it() -> None:
    found = PLUGIN.located(
        values(project="shop", schema="copy_{database}_{schema}"), TableId("db", "my-schema", "orders")
    )
    assert found == ("bigquery", "shop.copy_db_my_schema.orders")
    assert PLUGIN.needs(values(project="shop")) == SparkNeeds()


def test_a_missing_client_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wrackline.consumers.targets.bigquery.target", raising=False)
    monkeypatch.setitem(sys.modules, "google.cloud.bigquery", None)
    monkeypatch.delitem(sys.modules, "wrackline.consumers.targets.bigquery.connect", raising=False)
    with pytest.raises(OperatorNeeded, match=r"plugin\.driver_missing.*google\.cloud\.bigquery"):
        PLUGIN.open(values(project="shop"), cast("SparkSession", None))


def test_what_cannot_be_obeyed_is_refused() -> None:
    def refused(**given: str) -> list[str]:
        return [problem.setting for problem in reading(**given).problems]

    assert refused() == ["target.project"]
    for name, value in (
        ("project", "Shop x"),
        ("location", "E U"),
        ("schema", "{table}"),
        ("storage.schema", ""),
        ("partition", "day"),
        ("partition.width", "0"),
        ("job.timeout.ms", "1"),
        ("endpoint", "shop"),
    ):
        assert refused(**{"project": "shop", name: value}) == [f"target.{name}"]
    assert refused(project="shop") == []
