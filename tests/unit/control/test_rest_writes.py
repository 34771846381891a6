"""Connectors written over HTTP as Kafka Connect has it, also by a client that was made for Connect."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import orjson
import pytest
import requests
from kafka_connect import KafkaConnect  # type: ignore[import-untyped]  # it has none
from requests import HTTPError

from tests.contract.group_suite import CONFIG
from tests.fakes.group import WORKER, FakeGroup
from tests.unit.control.test_rest import Client
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.control.runtime.rest.routes import connector_routes, plugin_routes, write_routes
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK as HOST
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

SECRET = CONFIG["database.password"]
OF_SHOP = {"partition": {"server": "shop1", "database": "shop"}, "offset": {"lsn": "0/1"}}


@pytest.fixture
def group() -> FakeGroup:
    return FakeGroup()


@pytest.fixture
def port(group: FakeGroup) -> Iterator[int]:
    resolver = Resolver(Allowed(), {"WRACKLINE_PW": "pw", "HOME": SECRET})
    group.resolver = resolver
    routes = (
        connector_routes.routes(group),
        write_routes.routes(group),
        plugin_routes.routes(Installed(), group.check),
    )
    with open_endpoint(RestSettings(0), routes, tell=print) as door:
        yield door.port


@pytest.fixture
def client(port: int) -> Client:
    return Client(port)


@pytest.fixture
def connect(port: int) -> Any:
    return KafkaConnect(f"http://{HOST}:{port}")


def sent(document: object) -> bytes:
    return orjson.dumps(document)


def shown(name: str = "shop", **more: str) -> dict[str, str]:
    return {**CONFIG, "name": name, "database.password": "***", **more}


def test_a_client_of_connect_makes_changes_and_removes_a_connector(connect: Any, group: FakeGroup) -> None:
    info = {"name": "shop", "tasks": [{"connector": "shop", "task": 0}], "type": "source"}
    config, tls = {**CONFIG, "database.sslmode": "require"}, {"database.sslmode": "require"}
    assert connect.create_connector({"name": "shop", "config": config}) == {**info, "config": shown(**tls)}
    assert connect.list_connectors() == ["shop"]
    assert connect.get_connector_status("shop")["connector"] == {"state": "RUNNING", "worker_id": WORKER}
    with pytest.raises(HTTPError, match="409"):
        connect.create_connector({"name": "shop", "config": config})
    changed = {**config, "table.include.list": "public.a"}
    assert connect.update_connector("shop", changed)["config"] == shown(
        **tls, **{"table.include.list": "public.a"}
    )
    assert group.stored_settings("shop") == {**changed, "name": "shop"}
    connect.delete_connector("shop")
    assert connect.list_connectors() == []


def test_what_validate_finds_good_is_made(client: Client) -> None:
    body = sent({**CONFIG, "name": "shop"})
    judged = client.ask("PUT", "/connector-plugins/postgres/config/validate", body)[1]
    assert judged["error_count"] == 0, "the group's file says where Kafka and the registry are"
    assert client.ask("POST", "/connectors", sent({"name": "shop", "config": CONFIG}))[0] == 201


def test_answers_have_connects_codes_and_places(port: int, client: Client) -> None:
    url = f"http://{HOST}:{port}/connectors"
    made = requests.post(url, json={"name": " shop ", "config": CONFIG}, timeout=10)
    assert (made.status_code, made.headers["Location"]) == (201, "/connectors/shop")
    by_put = requests.put(f"{url}/orders/config", json=CONFIG, timeout=10)
    assert (by_put.status_code, by_put.headers["Location"]) == (201, "/connectors/orders")
    assert by_put.json()["config"] == shown("orders")
    again = requests.put(f"{url}/orders/config", json=CONFIG, timeout=10)
    assert (again.status_code, again.headers.get("Location")) == (200, None)
    assert client.ask("PATCH", "/connectors/shop/config", sent({}))[0] == 200
    assert client.ask("DELETE", "/connectors/shop", headers={}) == (204, None)
    assert client.ask("DELETE", "/connectors/shop")[0] == 404
    assert client.ask("POST", "/connectors/orders/tasks", sent([]))[0] == 405, (
        "it is between workers in Connect"
    )


@pytest.mark.parametrize(
    ("asked", "state"),
    [
        (None, TaskState.RUNNING),
        ("RUNNING", TaskState.RUNNING),
        ("paused", TaskState.PAUSED),
        ("STOPPED", TaskState.STOPPED),
    ],
)
def test_a_connector_begins_as_it_is_asked_to(
    client: Client, group: FakeGroup, asked: str | None, state: TaskState
) -> None:
    body = {"name": "shop", "config": CONFIG, "initial_state": asked}
    status, told = client.ask("POST", "/connectors", sent(body))
    assert (status, group.standing("shop").state) == (201, state)
    assert bool(told["tasks"]) is (state is not TaskState.STOPPED)


def test_a_patch_changes_what_it_names(client: Client, group: FakeGroup) -> None:
    group.put(
        "shop",
        GoodSettings({**CONFIG, "name": "shop", "table.include.list": "public.a"}, 1),
        DesiredState.STOP,
    )
    patch = {"table.include.list": None, "database.port": 5433, "database.password": "***"}
    status, told = client.ask("PATCH", "/connectors/shop/config", sent(patch))
    assert (status, told["config"]) == (200, shown(**{"database.port": "5433"}))
    assert group.stored_settings("shop") == {**CONFIG, "name": "shop", "database.port": "5433"}
    assert group.standing("shop").state is TaskState.STOPPED


def test_a_setting_that_has_no_effect_here_stops_nothing_and_comes_back(
    client: Client, group: FakeGroup
) -> None:
    config = {**CONFIG, "name": "shop", "poll.interval.ms": "250"}
    assert client.ask("PUT", "/connectors/shop/config", sent(config))[0] == 201
    assert client.ask("PUT", "/connectors/shop/config", sent(group.config("shop")))[0] == 200
    assert group.stored_settings("shop") == config


def test_the_answer_names_what_has_no_effect_and_what_was_left_to_its_default(client: Client) -> None:
    config = {
        **CONFIG,
        "poll.interval.ms": "250",
        "value.converter": "io.confluent.connect.avro.AvroConverter",
    }
    for status, made in (
        client.ask("PUT", "/connectors/shop/config", sent(config)),
        client.ask("POST", "/connectors", sent({"name": "orders", "config": config})),
        client.ask("PATCH", "/connectors/shop/config", sent({"database.port": 5433})),
    ):
        named = {one["setting"]: one["code"] for one in made["warnings"]}
        assert (status // 100, named) == (
            2,
            {"poll.interval.ms": "settings.not_honoured", "database.sslmode": "settings.left_out"},
        )
    given = {**CONFIG, "database.sslmode": "disable"}
    assert "warnings" not in client.ask("PUT", "/connectors/shop/config", sent(given))[1]
    assert "warnings" not in client.ask("GET", "/connectors/shop")[1]


def test_validate_says_what_tls_is_asked_of_the_server(client: Client) -> None:
    def of_sslmode(config: Mapping[str, str]) -> Any:
        told = client.ask("PUT", "/connector-plugins/postgres/config/validate", sent(config))[1]
        assert told["error_count"] == 0
        return next(
            one["value"]["errors"] for one in told["configs"] if one["value"]["name"] == "database.sslmode"
        )

    said = of_sslmode({**CONFIG, "name": "shop"})
    assert "database.sslmode is not given, so it is verify-full" in said[0]
    assert "database.sslmode = require" in said[0]
    assert of_sslmode({**CONFIG, "name": "shop", "database.sslmode": "prefer"}) == []


def test_what_get_shows_may_be_edited_and_put(client: Client, group: FakeGroup) -> None:
    group.put("shop", GoodSettings({**CONFIG, "name": "shop"}, 1), None)
    config = client.ask("GET", "/connectors/shop/config")[1]
    assert config["database.password"] == "***"
    assert client.ask("PUT", "/connectors/shop/config", sent({**config, "database.port": 5433}))[0] == 200
    assert group.stored_settings("shop") == {**CONFIG, "name": "shop", "database.port": "5433"}


def test_stars_for_which_nothing_is_stored_are_no_secret(client: Client, group: FakeGroup) -> None:
    body = {**CONFIG, "database.password": "***"}
    for method, path, sends in (
        ("PUT", "/connectors/shop/config", body),
        ("POST", "/connectors", {"name": "shop", "config": body}),
    ):
        status, told = client.ask(method, path, sent(sends))
        assert (status, told["code"]) == (400, "rest.masked")
        assert "database.password" in told["message"]
    assert not group.asked


def test_settings_that_are_wrong_are_all_named_as_connect_names_them(
    client: Client, group: FakeGroup
) -> None:
    wrong = {
        "connector.class": "postgres",
        "database.port": "many",
        "databse.user": SECRET,
        "database.sslmode": "require",
    }
    status, told = client.ask("PUT", "/connectors/shop/config", sent(wrong))
    validated = client.ask(
        "PUT", "/connector-plugins/postgres/config/validate", sent({**wrong, "name": "shop"})
    )[1]
    found = {error for one in validated["configs"] for error in one["value"]["errors"]}
    assert status == 400
    assert told["message"].startswith("Connector configuration is invalid and contains the following ")
    assert told["message"].endswith("at the endpoint `/connector-plugins/{connectorType}/config/validate`")
    assert all(error in told["message"] for error in found)
    assert validated["error_count"] == int(told["message"].partition("following ")[2].split()[0])
    assert SECRET not in told["message"]
    assert not group.asked


def test_of_many_errors_some_are_reported(client: Client, group: FakeGroup) -> None:
    wrong = {**CONFIG, **{f"nothing.{n}.at.all": "x" for n in range(300)}}
    status, told = client.ask("PUT", "/connectors/shop/config", sent(wrong))
    assert (status, "the following 300 error(s)" in told["message"]) == (400, True)
    assert "and 280 more" in told["message"]
    assert len(told["message"]) < 10_000
    assert not group.asked


def test_a_secret_is_taken_where_the_worker_allows_it(client: Client, group: FakeGroup) -> None:
    good = {**CONFIG, "database.password": "${env:WRACKLINE_PW}"}
    assert client.ask("PUT", "/connectors/shop/config", sent(good))[0] == 201
    assert group.stored_settings("shop")["database.password"] == "${env:WRACKLINE_PW}", "kept as a reference"
    bad = {**CONFIG, "database.password": "${env:HOME}", "secrets.allow.env": "*"}
    status, told = client.ask("PUT", "/connectors/shop/config", sent(bad))
    assert (status, "secret.not_allowed" in told["message"], SECRET in str(told)) == (400, True, False)


def test_a_name_that_kafka_takes_for_another_is_refused(client: Client, group: FakeGroup) -> None:
    group.put("a.b_c", GoodSettings({**CONFIG, "name": "a.b_c"}, 1), None)
    status, told = client.ask("PUT", "/connectors/a_b.c/config", sent(CONFIG))
    assert (status, told["code"]) == (409, "rest.too_like")
    assert client.ask("PUT", "/connectors/a.b_c/config", sent(CONFIG))[0] == 200


def test_positions_of_what_is_stopped_are_edited(client: Client, group: FakeGroup) -> None:
    group.put("shop", GoodSettings({**CONFIG, "name": "shop"}, 1), DesiredState.STOP)
    status, told = client.ask("PATCH", "/connectors/shop/offsets", sent({"offsets": [OF_SHOP]}))
    assert (status, told["message"]) == (200, "The offsets for this connector have been altered successfully")
    assert client.ask("GET", "/connectors/shop/offsets")[1] == {"offsets": [OF_SHOP]}
    removed = {"offsets": [{**OF_SHOP, "offset": None}]}
    assert client.ask("PATCH", "/connectors/shop/offsets", sent(removed))[0] == 200
    assert client.ask("GET", "/connectors/shop/offsets")[1] == {"offsets": []}
    status, told = client.ask("DELETE", "/connectors/shop/offsets")
    assert (status, told["message"]) == (200, "The offsets for this connector have been reset successfully")


def test_positions_of_what_runs_are_not(client: Client, group: FakeGroup) -> None:
    """A-ROLE-10."""
    group.put("shop", GoodSettings({**CONFIG, "name": "shop"}, 1), DesiredState.PAUSE)
    for method, body in (("PATCH", sent({"offsets": [OF_SHOP]})), ("DELETE", None)):
        status, told = client.ask(method, "/connectors/shop/offsets", body)
        assert (status, told["code"]) == (400, "rest.not_stopped")
        assert told["message"] == (
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done"
            " for the specified connector by issuing a 'PUT' request to the '/connectors/shop/stop' endpoint"
        )
    assert client.ask("GET", "/connectors/shop/offsets")[1] == {"offsets": []}


def test_of_two_changes_at_once_none_undoes_the_other(
    client: Client, group: FakeGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.put("shop", GoodSettings({**CONFIG, "name": "shop"}, 1), None)
    both, put = Barrier(2), group.put

    def meets(name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool) -> None:
        with suppress(BrokenBarrierError):  # a single writer meets no other
            both.wait(0.5)
        put(name, good, wish, new=new)

    monkeypatch.setattr(group, "put", meets)
    patches = ({"database.port": "5433"}, {"table.include.list": "public.a"})
    with ThreadPoolExecutor(2) as pool:
        path = "/connectors/shop/config"
        asked = [pool.submit(client.ask, "PATCH", path, sent(patch)) for patch in patches]
        assert [one.result()[0] for one in asked] == [200, 200]
    assert group.stored_settings("shop") == {**CONFIG, "name": "shop", **patches[0], **patches[1]}


def test_what_is_too_large_for_a_record_is_not_kept(client: Client, group: FakeGroup) -> None:
    group.put("shop", GoodSettings({**CONFIG, "name": "shop", "table.include.list": "x" * 500_000}, 1), None)
    patch = sent({"column.include.list": "y" * 500_000})
    status, told = client.ask("PATCH", "/connectors/shop/config", patch)
    assert (status, told["code"]) == (400, "rest.not_settings")
    assert "column.include.list" not in group.stored_settings("shop")
