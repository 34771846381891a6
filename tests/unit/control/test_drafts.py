"""Drafts over HTTP, of a worker by files: two editors, bad input, and what becomes of a draft."""

import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
import requests

from tests.fakes.drafts import MadeAnswers, made_access
from tests.fakes.group import DEFAULTS, FakeGroup
from wrackline.control.plane import draft_routes
from wrackline.control.plane.draft_service import DraftService
from wrackline.control.runtime.check.server_check import start_error_finding
from wrackline.control.runtime.files import file_drafts
from wrackline.control.runtime.files.file_drafts import FileDrafts
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.plain_json import plain_values
from wrackline.control.runtime.group import config_records
from wrackline.control.runtime.group.config_records import GroupConfig
from wrackline.control.runtime.rest.contexts import app_routes
from wrackline.control.runtime.rest.model import drafts as of_drafts
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK, RestSettings
from wrackline.control.runtime.worker.worker import _check_alone
from wrackline.producers.sources.postgres.log.continuity import SLOT_AHEAD
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import draft_records
from wrackline.schemas.kafka.draft_records import Draft, StoredDraft
from wrackline.schemas.kafka.login_errors import LOGIN_REFUSED as KAFKA_LOGIN
from wrackline.schemas.pipelines.pipeline import check, parse
from wrackline.schemas.settings import secret_refs
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

CANARY = "c4n4ry-hunter2"
FLAT = {
    **DEFAULTS,
    "name": "shop",
    "topic.prefix": "shop1",
    "connector.class": "postgres",
    "database.hostname": "db",
    "database.user": "u",
    "database.password": "${env:WRACKLINE_PW}",
    "database.dbname": "shop",
}


class Door:
    """A worker's drafts, and what was asked behind them."""

    def __init__(self, folder: Path, port: int, answers: MadeAnswers) -> None:
        self.folder, self.answers = folder, answers
        self.url = f"http://{LOOPBACK}:{port}/v1/contexts/default"

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> requests.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else None if body is None else orjson.dumps(body)
        json = {"Content-Type": "application/json"} if data is not None else {}
        return requests.request(method, f"{self.url}{path}", data=data, headers={**json, **named}, timeout=30)

    def put(self, body: object, draft: str = "shop", **headers: str) -> requests.Response:
        return self.ask("PUT", f"/drafts/{draft}", body, **headers)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    resolver = Resolver(Allowed(), {"WRACKLINE_PW": CANARY})
    checking = partial(check, plugins=Installed(), resolve=resolver)
    access, answers = made_access(tmp_path / "drafts", lambda: ["orders"], checking)
    with open_endpoint(RestSettings(0), [draft_routes.routes(DraftService(access))], tell=print) as opened:
        yield Door(tmp_path, opened.port, answers)


def code(answer: requests.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_draft_is_kept_shown_in_each_form_and_removed(door: Door) -> None:
    made = door.put({"config": FLAT})
    assert (made.status_code, made.headers["ETag"]) == (200, f'"{made.json()["tag"]}"')
    assert [one["id"] for one in door.ask("GET", "/drafts").json()] == ["shop"]
    assert door.ask("GET", "/drafts/shop").json()["config"] == FLAT
    staged = door.ask("GET", "/drafts/shop?form=stages").json()["config"]
    assert staged["stages"][0]["plugin"]["properties"]["host"] == "db"
    text = door.ask("GET", "/drafts/shop?form=toml").json()["config"]
    assert parse(text, "shop.toml") == (FLAT, ())
    assert code(door.ask("GET", "/drafts/shop?form=xml")) == (400, "draft.not_a_draft")
    again = door.put({**door.ask("GET", "/drafts/shop").json(), "config": staged})
    assert (again.json()["form"], again.json()["created"]) == ("stages", made.json()["created"])
    assert door.ask("DELETE", "/drafts/shop").status_code == 204
    assert code(door.ask("DELETE", "/drafts/shop")) == (404, "draft.not_found")


def test_of_two_editors_the_later_one_gets_both_texts_and_overwrites_nothing(door: Door) -> None:
    first = door.put({"config": FLAT}, If_None_Match="*").headers["ETag"]
    ours = {**FLAT, "database.port": "5433"}
    theirs = {**FLAT, "database.port": "5434"}
    assert door.put({"config": ours}, If_Match=first).status_code == 200
    late = door.put({"config": theirs}, If_Match=first)
    assert code(late) == (412, "draft.changed")
    assert (late.json()["stored"]["config"], late.json()["sent"]["config"]) == (ours, theirs)
    assert door.ask("GET", "/drafts/shop").json()["config"] == ours
    assert door.put({"config": theirs}, If_None_Match="*").status_code == 412
    assert door.ask("DELETE", "/drafts/shop", If_Match=first).status_code == 412
    assert door.ask("POST", "/drafts/shop/deploy", {}, If_Match=first).status_code == 412
    assert door.answers.asked == [], "and no server is asked about what the editor has not seen"
    assert door.put({"config": theirs}, If_Match=late.json()["stored"]["tag"]).status_code == 200


@pytest.mark.parametrize(
    "draft", ["..", ".hidden", "a%2Fb", "%2e%2e%2fetc", "a%00b", "é", "x" * 101, "a b", "<script>", "%0a"]
)
def test_a_hostile_name_makes_no_file(door: Door, draft: str) -> None:
    answer = door.put({"config": FLAT}, draft)
    assert answer.status_code in (400, 404, 405)
    assert not [one for one in door.folder.rglob("*") if one.is_file()]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "draft.not_a_draft")),
        (b"[", (400, "rest.not_settings")),
        (b'{"config":{"a":"1","a":"2"}}', (400, "rest.not_settings")),
        (b'{"config":{"stages":[{"name":1,"name":2}]}}', (400, "rest.not_settings")),
        (b'{"config":{"a":NaN}}', (400, "rest.not_settings")),
        (b'{"config":{"a":1' + b"0" * 400 + b"}}", (400, "rest.not_settings")),
        (b'{"config":' + b'{"a":' * 5000 + b"1" + b"}" * 5001, (400, "rest.not_settings")),
        (b'{"config":{"stages":' + b"[" * 200 + b"]" * 200 + b"}}", (400, "draft.not_a_draft")),
        (b'{"config":{"a":"\\ud800"}}', (400, "rest.not_settings")),
        (b'{"config":[]}', (400, "draft.not_a_draft")),
        (b'{"config":{},"drop":"tables"}', (400, "draft.not_a_draft")),
        (b'{"config":{"a":"' + b"x" * (256 << 10) + b'"}}', (413, "draft.too_large")),
        (b'{"config":{"a":"' + b"x" * (1 << 20) + b'"}}', (400, "rest.not_settings")),
    ],
)
def test_what_is_no_draft_is_refused_and_not_kept(door: Door, body: bytes, expected: tuple[int, str]) -> None:
    assert code(door.put(body)) == expected
    assert door.ask("GET", "/drafts").json() == []


def test_a_planted_secret_is_nowhere(door: Door, capsys: pytest.CaptureFixture[str]) -> None:
    planted = {**FLAT, "database.password": CANARY}
    bodies: list[Any] = [{"config": planted}, {"config": {"stages": [], "settings": planted}}]
    said = [door.put(body) for body in bodies]
    said += [door.ask("POST", f"/{name}", bodies[0]) for name in ("listTables", "assessPipeline")]
    door.put({"config": FLAT})
    said += [door.put(bodies[0], If_Match='"1"'), door.ask("GET", "/drafts/shop?form=toml")]
    assert [one.status_code for one in said[:2]] == [400, 400]
    assert all(CANARY not in one.text for one in said)
    assert all(CANARY not in one.read_text() for one in door.folder.rglob("*") if one.is_file())
    assert CANARY not in "".join(capsys.readouterr())


def test_a_draft_s_file_is_its_owner_s_alone_and_what_is_no_draft_is_passed_over(door: Door) -> None:
    door.put({"config": FLAT})
    file = door.folder / "drafts" / "shop.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    (file.parent / "bad.json").write_text("{")
    (file.parent / "link.json").symlink_to(file)
    (file.parent / "a b.json").write_bytes(file.read_bytes())
    assert [one["id"] for one in door.ask("GET", "/drafts").json()] == ["shop"]
    assert door.put({"config": FLAT}, "link").status_code == 409, "no link is followed"


def test_drafts_are_listed_by_pages(door: Door) -> None:
    for name in ("c", "a", "b", "d"):
        door.put({"config": FLAT}, name)
    first = door.ask("GET", "/drafts?limit=3")
    assert ([one["id"] for one in first.json()], first.links["next"]["url"]) == (
        ["a", "b", "c"],
        "/v1/contexts/default/drafts?limit=3&after=c",
    )
    door.ask("DELETE", "/drafts/c")  # a page begins after an id, whether it is still there or not
    last = door.ask("GET", "/drafts?limit=3&after=c")
    assert ([one["id"] for one in last.json()], last.links) == (["d"], {})
    assert len(door.ask("GET", "/drafts").json()) == 3, "without a limit all, as CDAP's clients expect"
    door.put({"config": {**FLAT, "database.port": "5433"}}, "a")
    assert door.ask("GET", "/drafts").json()[0]["config"]["database.port"] == "5433", "and as they are now"
    for bad in ("limit=0", "limit=1001", "limit=x", f"after={'x' * 101}"):
        assert door.ask("GET", f"/drafts?{bad}").status_code == 400


def test_a_draft_s_file_is_read_once_for_each_version_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, read = FileDrafts(tmp_path / "drafts", _check_alone), file_drafts._read
    files: list[str] = []

    def noted(file: Path) -> StoredDraft | None:
        files.append(file.name)
        return read(file)

    monkeypatch.setattr(file_drafts, "_read", noted)
    assert kept.stored() == {}
    for name in ("a", "b"):
        kept.put(name, Draft(name, 1, 1, "", {}), of_drafts.NEW)
    files.clear()
    for _ in range(3):
        assert set(kept.stored()) == {"a", "b"}
    assert files == ["b.json"], "the newest one; a was read when b was put"
    (tmp_path / "drafts" / "a.json").write_bytes(draft_records.write_draft(Draft("by hand", 1, 2, "", {})))
    assert kept.stored()["a"].draft.name == "by hand"
    (tmp_path / "drafts" / "b.json").unlink()
    assert set(kept.stored()) == {"a"}


def test_tables_are_listed_by_pages_and_searched(door: Door) -> None:
    door.put({"config": FLAT})
    first = door.ask("POST", "/drafts/shop/listTables?limit=1").json()
    assert ([one["table"] for one in first["tables"]], first["total"], first["next"]) == (["orders"], 2, 1)
    second = door.ask("POST", "/listTables?after=1", {"config": FLAT}).json()
    assert ([one["table"] for one in second["tables"]], second["next"]) == (["items"], None)
    assert door.ask("POST", "/drafts/shop/listTables?search=ORD").json()["total"] == 1
    assert len(door.answers.asked) == 1, "an answer is shared for a while"
    assert door.ask("POST", "/drafts/shop/listTables?limit=0").status_code == 400
    asked = door.ask("POST", "/drafts/shop/describeTable", {"database": "shop", "table": "orders"})
    assert asked.json()["primaryKey"] == ["id"]
    assert door.answers.asked[-1][2] == (("shop", "", "orders"),)
    assert code(door.ask("POST", "/drafts/shop/assessTable", {})) == (400, "draft.not_a_draft")
    assert code(door.ask("POST", "/drafts/none/listTables")) == (404, "draft.not_found")


def test_an_error_of_the_source_is_the_answer(door: Door) -> None:
    away = {"code": "pg.away", "kind": "Transient", "sentence": "it does not answer", "hint": "wait"}
    door.answers.answers["list_tables"] = {"error": away}
    assert code(door.ask("POST", "/listTables", {"config": FLAT})) == (503, "pg.away")


def finding(id_: str, severity: str) -> dict[str, Any]:
    return dict.fromkeys(("name", "description", "suggestion", "impact"), "x") | {
        "id": id_,
        "severity": severity,
        "connects": False,
    }


def test_an_assessment_parts_the_connection_from_the_features(door: Door) -> None:
    errors = [KAFKA_LOGIN(who="shop", reason="SASL"), SLOT_AHEAD(slot="s", confirmed="0/2", position="0/1")]
    found = [plain_values(start_error_finding("shop", one)) for one in errors]
    found.append(finding("pg_target.unreachable", "ERROR") | {"connects": True})
    door.answers.answers["assess_draft"] = {**door.answers.answers["assess_draft"], "findings": found}
    staged = {"stages": [], "settings": FLAT, "odd": 1}
    told = door.ask("POST", "/assessPipeline", {"config": staged}).json()
    assert [one["id"] for one in told["connectivityProblems"]] == [
        "kafka.login_refused",
        "pg_target.unreachable",
    ]
    assert [one["id"] for one in told["featureProblems"]] == ["pg.slot_ahead", "cdap.property_ignored"]


def test_a_draft_is_deployed_once_errors_are_gone_and_warnings_confirmed(door: Door) -> None:
    door.put({"config": FLAT})
    door.answers.answers["assess_draft"] |= {"findings": [finding("pg.bad", "ERROR")]}
    assert code(door.ask("POST", "/drafts/shop/deploy", {"accept": ["pg.bad"]})) == (409, "draft.not_ready")
    door.answers.answers["assess_draft"] |= {"findings": [finding("pg.slow", "WARNING")]}
    door.put({"config": {**FLAT, "database.port": "5433"}})  # a new text is assessed anew
    refused = door.ask("POST", "/drafts/shop/deploy")
    assert code(refused) == (409, "draft.not_accepted")
    assert '{"accept": ["pg.slow"]}' in refused.json()["hint"]
    made = door.ask("POST", "/drafts/shop/deploy", {"accept": ["pg.slow"], "initial_state": "STOPPED"})
    file = door.folder / "shop.toml"
    assert made.status_code == 201
    assert made.json()["start"] == f"wrackline worker {file}"
    assert parse(file.read_text(), "shop.toml")[0] == {**FLAT, "database.port": "5433"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert door.ask("GET", "/drafts").json() == []
    door.put({"config": {**FLAT, "database.port": "5433"}})
    again = door.ask("POST", "/drafts/shop/deploy", {"accept": ["pg.slow"]})
    assert code(again) == (409, "draft.file_exists")


def test_a_draft_of_a_pipeline_that_is_there_or_is_not_valid_is_not_deployed(door: Door) -> None:
    door.put({"config": {**FLAT, "name": "orders"}}, "one")
    assert code(door.ask("POST", "/drafts/one/deploy")) == (409, "rest.exists")
    door.put({"config": {"connector.class": "oracle"}}, "two")
    assert code(door.ask("POST", "/drafts/two/deploy")) == (400, "rest.invalid")
    assert door.answers.asked == [], "no server is asked about it"
    assert code(door.ask("POST", "/drafts/two/deploy", {"initial_state": "GONE"})) == (
        400,
        "draft.not_a_draft",
    )


STAGES: dict[str, Any] = {
    "stages": [
        {
            "name": "db",
            "plugin": {
                "name": "postgres",
                "type": "cdcSource",
                "properties": {
                    "host": "db",
                    "user": "u",
                    "password": "${env:WRACKLINE_PW}",
                    "database": "shop",
                    "sslMode": "verify-full",
                    "artifact": "0.1",
                },
            },
        }
    ],
    "tables": [{"database": "shop", "schema": "public", "table": "orders"}],
}


@pytest.fixture
def apps(tmp_path: Path) -> Iterator[tuple[str, FakeGroup, MadeAnswers]]:
    """A worker of a group: the address of its application `shop`, and what is behind it."""
    group = FakeGroup()
    group.resolver = Resolver(Allowed.from_environment({"WRACKLINE_PW": CANARY}), {"WRACKLINE_PW": CANARY})
    access, answers = made_access(tmp_path / "drafts", group.names, group.check, group=group)
    routes = [draft_routes.routes(DraftService(access)), app_routes.routes(group, group)]
    with open_endpoint(RestSettings(0), routes, tell=print) as opened:
        yield f"http://{LOOPBACK}:{opened.port}/v3/namespaces/default/apps/shop", group, answers


def test_an_application_is_made_stopped_started_changed_and_asks_no_server(
    apps: tuple[str, FakeGroup, MadeAnswers],
) -> None:
    app, group, answers = apps
    artifact: Any = {"name": "delta-app", "version": "0.1.0", "scope": "SYSTEM"}
    made = requests.put(app, json={"artifact": artifact, "config": STAGES}, timeout=30)
    assert made.status_code == 200, made.text
    assert "artifact" in {one["property"] for one in made.json()["ignored"]}
    settings = dict(group.stored_settings("shop"))
    assert (settings["database.hostname"], settings["connector.class"]) == ("db", "postgres")
    assert requests.get(f"{app}/workers/DeltaWorker/status", timeout=30).json() == {"status": "STOPPED"}
    requests.post(f"{app}/workers/DeltaWorker/start", timeout=30)
    group.put("shop", GoodSettings({**settings, "database.password": "typed"}, 1), None)
    changed = {**FLAT, "database.port": "5433", "database.password": "***"}
    again = requests.put(app, json={"config": changed}, timeout=30)
    assert again.status_code == 200, again.text
    assert group.stored_settings("shop")["database.port"] == "5433"
    assert group.stored_settings("shop")["database.password"] == "typed", "the stars stand for it"
    assert group.standing("shop").state.value == "RUNNING", "a change does not stop it"
    assert answers.asked == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"config": {**FLAT, "database.password": CANARY}}, (400, "draft.typed_secret")),
        ({"config": {**FLAT, "database.password": "***"}}, (400, "draft.masked")),
        ({"config": {**FLAT, "database.port": "many"}}, (400, "rest.invalid")),
        ({"config": {**FLAT, "name": "other"}}, (400, "rest.other_name")),
        (
            {"config": {"stages": STAGES["stages"], "settings": {"slot.name": "${run}"}}},
            (400, "draft.not_a_draft"),
        ),
        ({"config": FLAT, "drop": "all"}, (400, "draft.not_a_draft")),
        ({}, (400, "draft.not_a_draft")),
    ],
)
def test_what_is_no_application_makes_no_connector(
    apps: tuple[str, FakeGroup, MadeAnswers], body: dict[str, Any], expected: tuple[int, str]
) -> None:
    app, group, _ = apps
    assert code(requests.put(app, json=body, timeout=30)) == expected
    assert group.names() == []


def test_files_define_pipelines_so_no_application_is_put_and_other_paths_say_what_there_is(
    door: Door, apps: tuple[str, FakeGroup, MadeAnswers]
) -> None:
    of_files = door.url.replace("/v1/contexts/", "/v3/namespaces/") + "/apps/shop"
    assert code(requests.put(of_files, json={"config": FLAT}, timeout=30)) == (405, "rest.by_file")
    app, _, _ = apps
    for method, path, status in (
        ("PUT", "/workers/DeltaWorker/start", 405),
        ("POST", "", 405),
        ("POST", "/workers/Other/start", 404),
        ("PUT", "/../../other/apps/shop", 404),
        ("PUT", "/versions/1", 404),
    ):
        told = requests.request(method, app + path, json={"config": FLAT}, timeout=30)
        assert (told.status_code, "GET /openapi.json" in told.json()["hint"]) == (status, True), (
            method,
            path,
        )


@pytest.mark.parametrize("name", secret_refs.WIDENING)
def test_a_draft_does_not_say_what_its_file_may_read(door: Door, name: str) -> None:
    text = {"secrets.allow.env": "*", "secrets.allow.folders": "/", "secrets.secure.provider": "dir:/root"}
    door.put({"config": {**FLAT, name: text[name]}})
    assert code(door.ask("POST", "/drafts/shop/deploy")) == (409, "draft.not_the_owner")
    assert not (door.folder / "shop.toml").exists()


def test_there_is_room_for_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_drafts, "MOST_DRAFTS", 2)
    kept = FileDrafts(tmp_path / "drafts", _check_alone)
    for name in ("a", "b"):
        kept.put(name, Draft(name, 1, 1, "", {}), of_drafts.NEW)
    with pytest.raises(WracklineError) as raised:
        kept.put("c", Draft("c", 1, 1, "", {}), of_drafts.ANY)
    assert raised.value.code == "draft.too_many"
    assert kept.put("b", Draft("b", 1, 2, "ann", {}), of_drafts.ANY).draft.by == "ann"


def test_a_group_s_draft_is_read_as_it_was_written_and_its_tag_is_its_place() -> None:
    kept, draft = GroupConfig(), Draft("shop", 1, 2, "ann", {"stages": []})
    kept.apply(draft_records.key_of("my-shop"), draft_records.write_draft(draft), 41)
    assert kept.drafts == {"my-shop": (draft, "41")}
    assert kept.connectors == {}
    kept.apply(*config_records.draft_removal("my-shop"), 42)
    assert kept.drafts == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"draft-default-.a", b"{}"),
        (b"draft-other-a", b"{}"),
        (b"draft-default-a", b"[]"),
        (b"draft-default-a", b'{"version":2}'),
        (b"draft-default-a", b'{"version":1,"name":"a","created_ms":1,"updated_ms":1,"by":"","config":[]}'),
        (b"draft-default-a", b'{"version":1,"name":"a","created_ms":-1,"updated_ms":1,"by":"","config":{}}'),
    ],
)
def test_a_record_that_is_no_draft_is_refused(key: bytes, value: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        GroupConfig().apply(key, value)
