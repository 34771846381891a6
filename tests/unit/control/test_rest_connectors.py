"""Connectors over HTTP as Kafka Connect has them, managed by a client that was made for Connect."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from threading import Event
from typing import Any

import pytest
from kafka_connect import KafkaConnect  # type: ignore[import-untyped]  # it has none

from tests.fixtures.others import TARGET, Install
from tests.unit.control.test_rest import JSON, Client
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState, state_of_tasks
from wrackline.control.runtime.rest.model.connectors import GroupMember
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce
from wrackline.control.runtime.rest.routes import connector_routes, plugin_routes
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK as HOST
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.services.offsets import PastPosition, PlannedMove
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.versions import OURS

CONFIG = {"connector.class": "postgres", "name": "shop"}
WORKER = "127.0.0.1:8083"
PATIENCE = 20.0


class Crew:
    """Two pipelines of which only what was wished is kept."""

    worker = WORKER

    def __init__(self) -> None:
        self.standings = {
            "shop": ConnectorState(TaskState.RUNNING),
            "orders": ConnectorState(TaskState.FAILED, "[pg.slot_lost] it went"),
        }
        self.wished: list[tuple[str, DesiredState]] = []
        self.tasks: list[int | None] = []  # of each wish
        self.checking, self.checked = Event(), Event()  # its settings
        self.checked.set()

    def names(self) -> Sequence[str]:
        return ["shop", "orders"]

    def config(self, name: str) -> Mapping[str, str]:
        self.checking.set()
        assert self.checked.wait(PATIENCE), "somebody else is answered meanwhile"
        return {**CONFIG, "name": name}

    def known_config(self, name: str) -> Mapping[str, str] | None:
        del name
        return None

    def settings_in_force(self, name: str) -> Sequence[SettingInForce]:
        del name
        return []

    def rewind(self, name: str, to: datetime, *, as_new: bool, dry_run: bool) -> Sequence[PlannedMove]:
        raise AssertionError(name, to, as_new, dry_run)

    def standing(self, name: str) -> ConnectorState:
        return self.standings[name]

    def wish(self, name: str, wish: DesiredState, task: int | None = None) -> None:
        self.wished.append((name, wish))
        self.tasks.append(task)

    def members(self) -> Sequence[GroupMember]:
        return []

    def topics(self, name: str) -> Sequence[str]:
        return [f"{name}.d.public.b", f"{name}.d.public.a"]

    def offsets(self, name: str) -> Sequence[tuple[Mapping[str, str], object]]:
        return [({"server": name, "database": "d"}, {"lsn": "0/1"})]

    def offset_history(self, name: str) -> Sequence[PastPosition]:
        del name
        return []


TABLES = {"count": 1, "first": [{"table": "t", "code": "a.b", "sentence": "s", "hint": "h"}]}


@pytest.fixture
def crew() -> Crew:
    return Crew()


@pytest.fixture
def port(crew: Crew) -> Iterator[int]:
    resolver = Resolver(Allowed(), {"SHOP_PASSWORD": "c4n4ry"})
    installed = plugin_routes.routes(Installed(), lambda given: check(given, Installed(), resolver))
    routes = (connector_routes.routes(crew), connector_routes.file_routes(), installed)
    with open_endpoint(RestSettings(0), routes, tell=print) as door:
        yield door.port


@pytest.fixture
def client(port: int) -> Client:
    return Client(port)


@pytest.fixture
def connect(port: int) -> Any:
    return KafkaConnect(f"http://{HOST}:{port}")


def test_a_client_of_connect_sees_the_connectors(connect: Any, client: Client) -> None:
    task = {"id": 0, "state": "RUNNING", "worker_id": WORKER}
    running = {"state": "RUNNING", "worker_id": WORKER}
    status = {"name": "shop", "connector": running, "tasks": [task], "type": "source"}
    info = {"name": "shop", "config": CONFIG, "tasks": [{"connector": "shop", "task": 0}], "type": "source"}
    assert connect.list_connectors() == ["orders", "shop"]
    assert connect.list_connectors(expand="status")["shop"] == {"status": status}
    both = client.ask("GET", "/connectors?expand=status&expand=info")[1]
    assert both["shop"] == {"status": status, "info": info}
    assert sorted(connect.list_connectors(state="RUNNING")) == ["orders", "shop"]
    assert connect.get_connector("shop") == info
    assert connect.get_connector_config("shop") == CONFIG
    assert connect.get_connector_status("shop") == status
    assert connect.get_connector_task_status("shop", 0) == task
    assert connect.list_connector_tasks("shop") == [
        {"id": {"connector": "shop", "task": 0}, "config": CONFIG}
    ]
    assert connect.list_connector_topics("shop") == {
        "shop": {"topics": ["shop.d.public.a", "shop.d.public.b"]}
    }
    assert connect.get_cluster_info()["version"]


@pytest.mark.parametrize(
    "asked", ["/shop", "/shop/config", "/shop/tasks", "/shop/tasks-config", "?expand=info"]
)
def test_settings_that_have_to_be_checked_hold_up_nobody_else(crew: Crew, client: Client, asked: str) -> None:
    crew.checked.clear()
    with ThreadPoolExecutor(1) as other:
        waits = other.submit(client.ask, "GET", f"/connectors{asked}")
        assert crew.checking.wait(PATIENCE)
        assert client.ask("GET", "/health")[0] == 200
        crew.checked.set()
        assert waits.result()[0] == 200


def test_a_task_that_failed_says_why_and_its_connector_runs(connect: Any) -> None:
    status = connect.get_connector_status("orders")
    assert status["connector"]["state"] == "RUNNING"
    assert (status["tasks"][0]["state"], status["tasks"][0]["trace"]) == ("FAILED", "[pg.slot_lost] it went")


def test_a_task_that_runs_without_a_table_says_so_beside_what_connect_says(crew: Crew, connect: Any) -> None:
    before = connect.get_connector_status("shop")
    for tables, more in ((TABLES, {"tables_with_errors": TABLES}), ({"count": 0, "first": []}, {})):
        crew.standings["shop"] = ConnectorState(TaskState.RUNNING, tables=tables)
        assert connect.get_connector_status("shop") == {**before, **more}
        assert connect.list_connectors(expand="status")["shop"] == {"status": {**before, **more}}


def test_a_task_that_runs_without_a_database_names_it_and_of_several_tasks_all_are_together(
    crew: Crew, connect: Any
) -> None:
    before = connect.get_connector_status("shop")

    def without(*names: str) -> dict[str, Any]:
        first = [{"database": name, "code": "a.b", "sentence": "s", "hint": "h"} for name in names]
        return {"count": len(names), "first": first}

    crew.standings["shop"] = ConnectorState(TaskState.RUNNING, databases=without("crm"))
    assert connect.get_connector_status("shop") == {**before, "databases_with_errors": without("crm")}
    tasks = [ConnectorState(TaskState.RUNNING, databases=without(name)) for name in ("crm", "hr")]
    crew.standings["shop"] = state_of_tasks([*tasks, ConnectorState(TaskState.RUNNING)], None)
    assert connect.get_connector_status("shop")["databases_with_errors"] == without("crm", "hr")
    crew.standings["shop"] = ConnectorState(TaskState.RUNNING, databases=without())
    assert connect.get_connector_status("shop") == before


@pytest.mark.parametrize(
    ("state", "of_connector", "of_task"),
    [
        (TaskState.STARTING, "UNASSIGNED", "UNASSIGNED"),
        (TaskState.RECOVERING, "RUNNING", "RUNNING"),
        (TaskState.RESTARTING, "RUNNING", "RESTARTING"),
        (TaskState.PAUSED, "PAUSED", "PAUSED"),
        (TaskState.STOPPED, "STOPPED", None),
        (TaskState.COMPLETED, "STOPPED", None),
    ],
)
def test_states_have_connects_words(
    crew: Crew, connect: Any, state: TaskState, of_connector: str, of_task: str | None
) -> None:
    crew.standings["shop"] = ConnectorState(state)
    status = connect.get_connector_status("shop")
    assert status["connector"]["state"] == of_connector
    assert [task["state"] for task in status["tasks"]] == ([] if of_task is None else [of_task])
    assert (
        len(connect.list_connector_tasks("shop"))
        == len(connect.get_connector("shop")["tasks"])
        == len(status["tasks"])
    )


def test_a_client_of_connect_has_its_wishes_heard(crew: Crew, connect: Any) -> None:
    connect.pause_connector("shop")
    connect.stop_connector("shop")
    connect.resume_connector("shop")
    connect.restart_connector("shop")
    connect.restart_connector_task("shop", 0)
    assert crew.wished == [
        ("shop", wish)
        for wish in (
            DesiredState.PAUSE,
            DesiredState.STOP,
            DesiredState.RUN,
            DesiredState.RESTART,
            DesiredState.RESTART,
        )
    ]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("PUT /connectors/shop/pause", 202),
        ("PUT /connectors/shop/resume", 202),
        ("PUT /connectors/shop/stop", 204),
        ("POST /connectors/shop/restart", 204),
        ("POST /connectors/shop/restart?includeTasks=true", 202),
        ("POST /connectors/shop/tasks/0/restart", 204),
        ("PUT /connectors/shop/tasks/0/pause", 202),
        ("PUT /connectors/shop/tasks/0/resume", 202),
        ("GET /connectors/shop/offsets", 200),
        ("GET /connectors/shop/tasks-config", 200),
        ("GET /health", 200),
        ("GET /connectors?expand=nonsense", 200),
    ],
)
def test_answers_have_connects_codes(client: Client, asked: str, status: int) -> None:
    method, path = asked.split()
    assert client.ask(method, path)[0] == status


def test_only_failed_spares_a_running_connector_and_a_paused_one_is_not_restarted(
    crew: Crew, client: Client
) -> None:
    assert client.ask("POST", "/connectors/shop/restart?includeTasks=true&onlyFailed=true")[0] == 202
    assert client.ask("POST", "/connectors/orders/restart?includeTasks=true&onlyFailed=true")[0] == 202
    crew.standings["shop"] = ConnectorState(TaskState.PAUSED)
    assert client.ask("POST", "/connectors/shop/restart")[0] == 204
    assert client.ask("POST", "/connectors/shop/tasks/0/restart")[0] == 204
    assert crew.wished == [("orders", DesiredState.RESTART)]


def test_one_half_rests_alone_and_the_connector_runs(crew: Crew, client: Client) -> None:
    running, paused = ConnectorState(TaskState.RUNNING), ConnectorState(TaskState.PAUSED)
    crew.standings["shop"] = replace(running, target=running)
    assert client.ask("PUT", "/connectors/shop/tasks/1/pause")[0] == 202
    assert client.ask("PUT", "/connectors/shop/tasks/1/resume")[0] == 202
    for source, target, word in (
        (running, paused, "RUNNING"), (paused, running, "RUNNING"), (paused, paused, "PAUSED"),
    ):  # fmt: skip
        crew.standings["shop"] = replace(source, target=target)
        told = client.ask("GET", "/connectors/shop/status")[1]
        assert told["connector"]["state"] == word
        assert [task["state"] for task in told["tasks"]] == [source.state.value, target.state.value]
        assert client.ask("POST", "/connectors/shop/restart")[0] == 204
    one = [
        (DesiredState.PAUSE, 1),
        (DesiredState.RUN, 1),
        (DesiredState.RESTART, None),
        (DesiredState.RESTART, None),
    ]
    found = list(zip((wish for _, wish in crew.wished), crew.tasks, strict=True))
    assert found == one, "a connector all of whose tasks rest is not restarted"


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ("GET /connectors/none", 404, "rest.no_connector"),
        ("GET /connectors/none/status", 404, "rest.no_connector"),
        ("PUT /connectors/none/pause", 404, "rest.no_connector"),
        ("POST /connectors/none/restart", 404, "rest.no_connector"),
        ("GET /connectors/none/offsets", 404, "rest.no_connector"),
        ("GET /connectors/shop%2F..%2Forders", 404, None),
        ("GET /connectors/shop/tasks/1/status", 404, "rest.no_task"),
        ("GET /connectors/shop/tasks/-1/status", 404, "rest.no_task"),
        ("GET /connectors/shop/tasks/%00/status", 404, "rest.no_task"),
        ("POST /connectors/shop/tasks/x/restart", 404, "rest.no_task"),
        ("PUT /connectors/shop/tasks/1/pause", 404, "rest.no_task"),
        ("POST /connectors", 405, "rest.by_file"),
        ("PUT /connectors/shop/config", 405, "rest.by_file"),
        ("DELETE /connectors/shop", 405, "rest.by_file"),
        ("DELETE /connectors/shop/offsets", 405, "rest.by_file"),
        ("POST /connectors/shop/restart?onlyFailed=c4n4ry", 400, None),
        ("POST /connectors/shop/pause", 405, None),
        ("GET /connector-plugins/mongodb/config", 404, "rest.no_plugin"),
    ],
)
def test_what_is_wrong_changes_nothing(
    crew: Crew, client: Client, asked: str, status: int, code: str | None
) -> None:
    method, path = asked.split()
    answered, told = client.ask(method, path)
    assert (answered, told["error_code"], told.get("code")) == (status, status, code)
    assert "c4n4ry" not in str(told)
    assert not crew.wished


def test_a_client_of_connect_sees_what_is_installed(connect: Any, client: Client) -> None:
    (postgres,) = [one for one in connect.list_connector_plugins() if one["class"] == "postgres"]
    assert (postgres["type"], postgres["version"]) == ("source", OURS)
    for name in ("postgres", "io.debezium.connector.postgresql.PostgresConnector"):
        status, settings = client.ask("GET", f"/connector-plugins/{name}/config")
        host = next(one for one in settings if one["name"] == "database.hostname")
        assert status == 200
        assert host["required"]
        assert host["documentation"]


def test_targets_are_listed_for_those_who_ask_for_them(client: Client, install: Install) -> None:
    install("wrackline-reef", TARGET.replace("{kind}", "reef"), {"target": "reef"})
    install("broken-conch", "import a_driver_that_nobody_has", {"source": "conch"})
    sources = client.ask("GET", "/connector-plugins")[1]
    assert [(one["class"], one["type"]) for one in sources] == [
        (kind, "source") for kind in ("mariadb", "mysql", "oracle", "postgres", "sqlserver")
    ]
    assert client.ask("GET", "/connector-plugins?type=source")[1] == sources
    targets = client.ask("GET", "/connector-plugins?type=target")[1]
    assert {one["class"]: one["version"] for one in targets} == {
        **dict.fromkeys(
            ("bigquery", "delta", "iceberg", "postgres", "redshift", "snowflake", "spanner"), OURS
        ),
        "reef": "1.2",
    }
    settings = client.ask("GET", "/connector-plugins/reef/config?type=target")[1]
    assert [one["name"] for one in settings] == ["target.reef.path"]
    assert client.ask("GET", "/connector-plugins/mysql/config?type=target")[0] == 404
    assert client.ask("GET", "/connector-plugins?type=sink")[0] == 400
    assert client.ask("GET", "/connector-plugins/conch/config")[0] == 409


def test_a_client_of_connect_has_settings_validated(connect: Any) -> None:
    given = {
        "name": "shop",
        "database.port": "many",
        "database.password": "${env:SHOP_PASSWORD}",
        "x.y": "c4n4ry",
    }
    told = connect.validate_connector_config("postgres", given)
    of = {one["value"]["name"]: one["value"] for one in told["configs"]}
    warned = {"database.sslmode"}  # said beside the setting, and no reason to refuse
    assert of["database.sslmode"]["errors"][0].startswith("[settings.left_out]")
    assert told["error_count"] == sum(bool(one["errors"]) for name, one in of.items() if name not in warned)
    assert told["error_count"] > 2
    assert "setting" in of["database.port"]["errors"][0]
    assert of["topic.prefix"]["errors"]
    assert of["x.y"]["errors"]
    assert "SHOP_PASSWORD" in of["database.password"]["errors"][0], "what no environment allows is not read"
    assert "c4n4ry" not in str(told)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "rest.not_settings"),
        (b"{", "rest.not_settings"),
        (b"[]", "rest.not_settings"),
        (b"null", "rest.not_settings"),
        (b'{"a": {"b": 1}}', "rest.not_settings"),
        (b'{"a": null}', "rest.not_settings"),
        (b'{"a": ' + b"[" * 10_000, "rest.not_settings"),
        (b'{"a": "' + b"x" * (1 << 20) + b'"}', "rest.not_settings"),
        (b'{"connector.class": "mariadb"}', "rest.other_class"),
    ],
)
def test_settings_that_are_none_are_refused(client: Client, body: bytes, code: str) -> None:
    status, told = client.ask("PUT", "/connector-plugins/postgres/config/validate", body, JSON)
    assert (status, told["code"]) == (400, code)
