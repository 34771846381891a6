"""A draft in a group, as by curl: written at any worker, asked about real servers, made a connector."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.integration.group.world import GroupWorld, Worker, asked
from tests.integration.running.world import CANARY, wait_until

pytestmark = pytest.mark.servers


def ask(method: str, url: str, body: object = None, **headers: str) -> tuple[int, Any, str]:
    """Ask, and return the tag too."""
    more = {name.replace("_", "-"): of for name, of in headers.items()}
    named = {"Content-Type": "application/json", **more}
    data = None if body is None else json.dumps(body).encode()
    made = Request(url, data, named, method=method)  # noqa: S310 - ours
    try:
        with urlopen(made, timeout=60) as answer:  # noqa: S310 - ours
            return answer.status, json.loads(answer.read() or b"null"), answer.headers.get("ETag", "")
    except HTTPError as refused:
        return refused.code, json.loads(refused.read() or b"null"), ""


def stages(world: GroupWorld, number: int) -> dict[str, Any]:
    """The connector of a table as CDAP's document writes it, with what the document does not have."""
    given = world.config(number)
    properties = {
        "host": given["database.hostname"],
        "port": given["database.port"],
        "user": given["database.user"],
        "password": given["database.password"],
        "database": given["database.dbname"],
        "sslMode": "disable",
        "replicateExistingData": "false",
    }
    source = {"name": "db", "plugin": {"name": "postgres", "type": "cdcSource", "properties": properties}}
    return {
        "name": world.name(number),
        "stages": [source],
        "tables": [{"database": world.database.name, "schema": "public", "table": f"t{number}"}],
        "settings": {name: given[name] for name in ("slot.name", "publication.name")},
    }


def drafts(worker: Worker) -> str:
    return f"{worker.url}/v1/contexts/default/drafts"


def test_a_draft_becomes_a_connector_whichever_worker_is_asked(world: GroupWorld) -> None:
    first, second = world.start(), world.start()
    config = stages(world, 1)
    status, made, tag = ask("PUT", f"{drafts(second)}/shop", {"config": config})
    assert (status, made["config"], made["ignored"]) == (200, config, [])
    wait_until(lambda: asked("GET", f"{drafts(first)}/shop")[0] == 200)
    by_group = f"{first.url}/v1/contexts/{world.group}/drafts"
    assert [one["id"] for one in asked("GET", by_group)[1]] == ["shop"]

    status, both, _ = ask("PUT", f"{drafts(first)}/shop", {"config": {}}, If_Match='"0"')
    assert (status, both["stored"]["config"], both["sent"]["config"]["name"]) == (412, config, "shop")

    listed = asked("POST", f"{drafts(first)}/shop/listTables?search=t1", {})[1]
    known = {"table": "t1", "key": ["id"], "support": "YES", "selected": True}
    assert known.items() <= listed["tables"][0].items()
    described = asked("POST", f"{drafts(second)}/shop/describeTable", {"table": "t1"})[1]
    assert described["primaryKey"] == ["id"]
    assert [(one["name"], one["nullable"]) for one in described["columns"]] == [("id", False), ("note", True)]
    assessed = asked("POST", f"{drafts(second)}/shop/assessPipeline", {})[1]
    assert assessed["ok"], assessed["findings"]
    assert [one["table"] for one in assessed["tables"]] == ["t1"]

    warned = {one["id"] for one in assessed["findings"] if one["severity"] == "WARNING"}
    if warned:
        refused = asked("POST", f"{drafts(second)}/shop/deploy", {})
        assert (refused[0], refused[1]["code"]) == (409, "draft.not_accepted")
    accept = {"accept": sorted(warned), "initial_state": "RUNNING"}
    deployed = ask("POST", f"{drafts(second)}/shop/deploy", accept, If_Match=tag)
    assert (deployed[0], deployed[1]) == (201, {"name": world.name(1), "state": "RUNNING"})
    wait_until(lambda: asked("GET", drafts(first))[1] == asked("GET", drafts(second))[1] == [])
    world.runs(first, 1)
    world.insert(1, 1, 3)
    world.arrived(1, 3)
    for worker in (first, second):
        assert CANARY not in worker.text
