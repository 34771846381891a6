"""Workers in a group, as processes: they share the connectors, and take them over from one that is gone."""

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from tests.integration.group.world import GroupWorld, Worker, asked
from tests.integration.running.world import CANARY, PATIENCE, wait_until
from wrackline.control.runtime.ground.exits import Exit
from wrackline.schemas.redaction import MASK

pytestmark = pytest.mark.servers


def done(worker: Worker, name: str, what: str) -> None:
    """Have it done; while the group chooses its coordinator the answer is 409, and one asks again."""

    def asks() -> int:
        return asked("PUT", f"{worker.url}/connectors/{name}/{what}")[0]

    status = asks()
    while status == 409:
        wait_until(lambda: asks() != 409)
        status = asks()
    assert status == 202


@pytest.mark.full
def test_a_client_of_connect_makes_changes_and_removes_a_connector(world: GroupWorld) -> None:
    worker = world.start()
    connect, name = worker.connect, world.name(1)
    kafka = AdminClient({"bootstrap.servers": world.kafka.bootstrap}).list_topics(timeout=PATIENCE)
    assert connect.get_cluster_info()["kafka_cluster_id"] == kafka.cluster_id
    made = world.make(worker, 1)
    assert made["config"]["database.password"] == MASK
    assert world.runs(worker, 1) == {worker.id: 1}
    world.insert(1, 1, 5)
    world.arrived(1, 5)
    connect.pause_connector(name)
    wait_until(lambda: connect.get_connector_status(name)["tasks"][0]["state"] == "PAUSED")
    world.insert(1, 6, 8)
    connect.resume_connector(name)
    world.arrived(1, 8)
    connect.update_connector(name, world.config(1, **{"heartbeat.interval.ms": "5000"}))
    assert connect.get_connector_config(name)["heartbeat.interval.ms"] == "5000"
    world.insert(1, 9, 10)
    world.arrived(1, 10)
    wait_until(lambda: worker.began(name) == 3)
    connect.restart_connector_task(name, 0)
    wait_until(lambda: worker.began(name) == 4)
    task = f"{worker.url}/connectors/{name}/tasks/0"
    assert asked("PUT", f"{task}/pause")[0] == 202
    wait_until(lambda: connect.get_connector_status(name)["connector"]["state"] == "PAUSED")  # its only one
    assert asked("PUT", f"{task}/resume")[0] == 202
    wait_until(lambda: worker.began(name) == 5)
    connect.delete_connector(name)
    assert connect.list_connectors() == []
    assert worker.stop() == Exit.OK
    assert CANARY not in worker.text


@pytest.mark.full
def test_positions_are_edited_while_a_connector_is_stopped(world: GroupWorld) -> None:
    worker = world.start()
    name = world.name(1)
    offsets = f"{worker.url}/connectors/{name}/offsets"
    world.make(worker, 1)
    world.runs(worker, 1)
    world.insert(1, 1, 3)
    world.arrived(1, 3)
    assert asked("DELETE", offsets)[0] == 400
    now = {"to": "2999-01-01"}
    assert asked("POST", f"{offsets}/rewind?dry_run=true", now)[0] in (200, 409)
    assert asked("POST", f"{offsets}/rewind", now)[0] == 400
    worker.connect.stop_connector(name)
    wait_until(lambda: worker.connect.get_connector_status(name)["connector"]["state"] == "STOPPED")
    (kept,) = asked("GET", offsets)[1]["offsets"]
    history = asked("GET", f"{offsets}/history")[1]["history"]
    assert [one["position"]["epoch"] for one in history] == [kept["offset"]["epoch"]]
    early = asked("POST", f"{offsets}/rewind", {"to": "2001-01-01"})
    assert (early[0], early[1]["code"]) == (409, "offsets.not_kept")
    ahead = asked("POST", f"{offsets}/rewind?dry_run=true", now)
    assert (ahead[0], ahead[1]["code"]) == (409, "pg.slot_ahead"), "the source can't begin there"
    generation = f"{worker.url}/v1/contexts/default/apps/{name}/generations/1/instances/0/offset"
    assert asked("GET", generation)[1] == {"offset": kept["offset"]}
    assert asked("PUT", generation, {"offset": kept["offset"]})[0] == 200
    assert asked("PATCH", offsets, {"offsets": [kept]})[0] == 200
    assert asked("GET", offsets)[1]["offsets"] == [kept]
    world.insert(1, 4, 6)
    worker.connect.resume_connector(name)
    world.arrived(1, 6)
    worker.connect.stop_connector(name)
    wait_until(lambda: worker.connect.get_connector_status(name)["connector"]["state"] == "STOPPED")
    assert asked("DELETE", offsets)[0] == 200
    assert asked("GET", offsets)[1]["offsets"] != [kept]

    def writes(of: Worker) -> set[tuple[str, int]]:
        return {(one["what"], one["status"]) for one in asked("GET", f"{of.url}/audit")[1]["entries"]}

    path = f"/connectors/{name}"
    done_here = {
        (f"PUT {path}/stop", 204),
        (f"PATCH {path}/offsets", 200),
        (f"POST {path}/offsets/rewind", 400),
    }
    wait_until(lambda: done_here <= writes(worker))
    assert worker.stop() == Exit.OK
    other = world.start()
    wait_until(lambda: (f"DELETE {path}/offsets", 200) in writes(other))

    def lines() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = asked("GET", f"{other.url}{path}/logs?limit=1000")[1]["lines"]
        return found

    wait_until(lambda: {"owner", "stopped"} <= {one["event"] for one in lines()})
    assert CANARY not in str(lines())


def test_workers_share_connectors_and_take_over_from_one_that_leaves_or_is_killed(world: GroupWorld) -> None:
    """T-C01."""
    first = world.start()
    for number in range(6):
        world.make(first, number)
    world.runs(first, 6)
    second = world.start()
    shares = world.runs(first, 6, on={first.id, second.id})
    assert set(shares.values()) == {3}
    assert sum(second.began(world.name(number)) for number in range(6)) == 3, "only what must has moved"
    for number in range(6):
        world.insert(number, 1, 5)
    second.kill()
    for number in range(6):
        world.insert(number, 6, 10)
    world.runs(first, 6, on={first.id})
    for number in range(6):
        world.arrived(number, 10)
    third = world.start()
    world.runs(third, 6, on={first.id, third.id})
    assert first.stop() == Exit.OK
    for number in range(6):
        world.insert(number, 11, 15)
    world.runs(third, 6, on={third.id})
    for number in range(6):
        world.arrived(number, 15)
    assert third.stop() == Exit.OK


@pytest.mark.full  # test_killed.py kills each worker in turn, the coordinator too
def test_any_worker_takes_what_writes_and_another_coordinates_once_the_first_is_killed(
    world: GroupWorld,
) -> None:
    workers = [world.start() for _ in range(2)]
    for number in range(2):  # one of the two is not the coordinator
        world.make(workers[number], number)
    wait_until(lambda: all(len(one.connect.list_connectors()) == 2 for one in workers))
    status, told = asked("POST", f"{workers[0].url}/connectors", {"name": world.name(0), "config": {}})
    assert status in (400, 409), told
    killed, left = workers
    killed.kill()
    world.runs(left, 2, on={left.id})
    done(left, world.name(0), "pause")
    wait_until(lambda: left.connect.get_connector_status(world.name(0))["tasks"][0]["state"] == "PAUSED")
    again = world.start()
    wait_until(lambda: len(again.connect.list_connectors()) == 2)
    done(again, world.name(0), "resume")
    world.insert(0, 1, 3)
    world.arrived(0, 3)


def test_a_frozen_worker_that_comes_back_does_no_harm(world: GroupWorld) -> None:
    """T-C04."""
    first = world.start()
    world.make(first, 1)
    world.runs(first, 1)
    world.insert(1, 1, 3)
    world.arrived(1, 3)
    second = world.start()
    frozen, other = (first, second) if world.places(first)[world.name(1)] == first.id else (second, first)
    wait_until(lambda: other.connect.list_connectors() == [world.name(1)])
    frozen.freeze()
    wait_until(lambda: world.places(other).get(world.name(1)) == other.id)
    world.insert(1, 4, 6)
    world.arrived(1, 6)
    frozen.thaw()
    world.insert(1, 7, 9)
    world.arrived(1, 9)
    wait_until(lambda: world.name(1) in world.places(frozen))
    done(frozen, world.name(1), "pause")
    wait_until(lambda: not world.places(frozen))
