"""A coordinator that is killed or replaced during a change: it is made whole or not at all, and once."""

import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.integration.group.test_drafts import ask, drafts, stages
from tests.integration.group.world import GroupWorld, Worker, asked
from tests.integration.running.world import wait_until
from wrackline.control.runtime.rest.server.forward import MARK
from wrackline.producers import failpoints

pytestmark = [pytest.mark.servers, pytest.mark.full]

Asked = tuple[int, Any, str]


class Armed:
    """Two workers; the coordinator among them holds at a place, once it is armed."""

    def __init__(self, world: GroupWorld, folder: Path, place: str) -> None:
        self._folders, self._place = [folder / "held-0", folder / "held-1"], place
        self.workers = []
        for one in self._folders:
            one.mkdir()
            (one / failpoints.ALL_GO).touch()
            armed = {failpoints.VARIABLE: f"{place}=hold", failpoints.HELD: str(one)}
            self.workers.append(world.start(**armed))
        assert all(one.url for one in self.workers)

    def arm(self) -> None:
        """Hold from here on."""
        for one in self._folders:
            (one / self._place).unlink(missing_ok=True)
            (one / failpoints.ALL_GO).unlink()

    def release(self) -> None:
        """Hold nothing from here on."""
        for one in self._folders:
            (one / failpoints.ALL_GO).touch()

    def held(self, what: str) -> tuple[Worker, Worker]:
        """Wait until the coordinator holds with this write under way; return it, and the other worker."""
        found: list[int] = []

        def holds() -> bool:
            for number, folder in enumerate(self._folders):
                here = folder / self._place
                if here.exists():
                    if here.read_text() == what:
                        found.append(number)
                        return True
                    here.unlink()  # of another write, which continues
            return False

        wait_until(holds)
        return self.workers[found[0]], self.workers[1 - found[0]]


def meanwhile(do: Callable[[], Asked]) -> Future[Asked]:
    """Begin it on another thread."""
    return ThreadPoolExecutor(1).submit(do)


def accepted(worker: Worker, draft: str) -> dict[str, Any]:
    """Return what a deployment of a draft has to accept."""
    assessed = asked("POST", f"{drafts(worker)}/{draft}/assessPipeline", {})[1]
    assert assessed["ok"], assessed["findings"]
    return {"accept": sorted({one["id"] for one in assessed["findings"] if one["severity"] == "WARNING"})}


@pytest.mark.parametrize("place", failpoints.GROUP)
def test_a_deployment_whose_coordinator_is_killed_is_made_whole_or_not_at_all_and_never_twice(
    world: GroupWorld, tmp_path: Path, place: str
) -> None:
    armed = Armed(world, tmp_path, place)
    first, second = armed.workers
    assert ask("PUT", f"{drafts(second)}/shop", {"config": stages(world, 1)})[0] == 200
    wait_until(lambda: asked("GET", f"{drafts(first)}/shop")[0] == 200)
    accept, key = accepted(first, "shop"), str(uuid.uuid4())
    armed.arm()
    deployed = [
        meanwhile(lambda at=one: ask("POST", f"{drafts(at)}/shop/deploy", accept, Idempotency_Key=key))  # type: ignore[misc]
        for one in armed.workers
    ]
    coordinator, other = armed.held(world.name(1))
    coordinator.kill()
    (survivor,) = (of for one, of in zip(armed.workers, deployed, strict=True) if one is other)
    assert survivor.result()[0] in (409, 504), "it knows no answer"
    armed.release()

    status, told, _ = ask("POST", f"{drafts(other)}/shop/deploy", accept, Idempotency_Key=key)
    assert (status, told["code"]) == (409, "rest.key_unknown")
    made = place == "group_written"
    wait_until(lambda: (world.name(1) in asked("GET", f"{other.url}/connectors")[1]) is made)
    assert [one["id"] for one in asked("GET", drafts(other))[1]] == ([] if made else ["shop"])
    status, told, _ = ask("POST", f"{drafts(other)}/shop/deploy", accept, Idempotency_Key=str(uuid.uuid4()))
    assert (status, told.get("code")) == ((404, "draft.not_found") if made else (201, None))
    world.runs(other, 1)
    world.insert(1, 1, 3)
    world.arrived(1, 3)


def test_of_two_editors_at_two_coordinators_the_later_one_overwrites_nothing(
    world: GroupWorld, tmp_path: Path
) -> None:
    armed = Armed(world, tmp_path, "group_decided")
    config = stages(world, 1)
    _, _, tag = ask("PUT", f"{drafts(armed.workers[0])}/shop", {"config": config})
    wait_until(lambda: asked("GET", f"{drafts(armed.workers[1])}/shop")[0] == 200)
    armed.arm()
    late = {**config, "description": "late"}
    both = [
        meanwhile(lambda at=one: ask("PUT", f"{drafts(at)}/shop", {"config": late}, If_Match=tag))  # type: ignore[misc]
        for one in armed.workers[:1]
    ]
    coordinator, other = armed.held("shop")
    coordinator.freeze()  # it has found the tag good, and has not written
    armed.release()
    early = {**config, "description": "early"}
    made: list[Asked] = []

    def stored() -> bool:
        made.append(ask("PUT", f"{drafts(other)}/shop", {"config": early}, If_Match=tag))
        return made[-1][0] == 200

    wait_until(stored)
    coordinator.thaw()
    status, told, _ = both[0].result()
    assert status in (409, 412, 503, 504), told
    for one in armed.workers:
        wait_until(lambda at=one: asked("GET", f"{drafts(at)}/shop")[1]["config"] == early)  # type: ignore[misc]
    status, told, _ = ask("PUT", f"{drafts(coordinator)}/shop", {"config": late}, If_Match=tag)
    assert (status, told["stored"]["config"]["description"]) == (412, "early")


def test_a_key_is_known_to_each_worker_and_to_the_next_coordinator(world: GroupWorld) -> None:
    workers = [world.start(), world.start(), world.start()]
    body, key = {"name": world.name(1), "config": world.config(1)}, str(uuid.uuid4())
    assert all(one.url for one in workers)
    answers = [ask("POST", f"{one.url}/connectors", body, Idempotency_Key=key) for one in workers]
    assert [one[0] for one in answers] == [201] * 3
    assert answers[0][1] == answers[1][1] == answers[2][1]
    for _ in range(2):  # one of them was the coordinator, sooner or later
        workers.pop(0).kill()
        wait_until(lambda: ask("POST", f"{workers[0].url}/connectors", body, Idempotency_Key=key)[0] == 201)
        other = ask("POST", f"{workers[0].url}/connectors", {**body, "config": {}}, Idempotency_Key=key)
        assert (other[0], other[1]["code"]) == (422, "rest.key_reused")
    assert asked("GET", f"{workers[0].url}/connectors")[1] == [world.name(1)]


def test_a_rewind_that_races_a_resume_comes_before_it_or_is_refused(world: GroupWorld) -> None:
    """A slot hands its log out once, so each round has a slot that stayed where it was."""
    rounds, name = range(1, 5), world.name(1)
    for number in rounds:
        world.sql.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [f"c{number}_{name}"])
    workers = [world.start(), world.start()]
    world.make(workers[0], 1)
    connector = [f"{one.url}/connectors/{name}" for one in workers]
    history = f"{connector[0]}/offsets/history"
    wait_until(lambda: asked("GET", history)[1]["history"] != [])
    to = {"to": asked("GET", history)[1]["history"][0]["time"]}  # before the first row
    events = 0
    for number in rounds:
        world.runs(workers[0], 1)
        world.insert(1, number, number)
        wait_until(lambda: len(world.events(1)) == events + 1)  # noqa: B023 - at once
        assert asked("PUT", f"{connector[0]}/stop")[0] == 204
        for one in connector:
            wait_until(lambda at=one: asked("GET", f"{at}/status")[1]["tasks"] == [])  # type: ignore[misc]
        changed = world.config(1, **{"slot.name": f"c{number}_{name}"})
        assert asked("PUT", f"{connector[0]}/config", changed)[0] == 200
        first, second = connector if number % 2 else connector[::-1]
        ways = {
            "rewind": lambda: (*asked("POST", f"{first}/offsets/rewind", to), ""),  # noqa: B023 - at once
            "resume": lambda: (*asked("PUT", f"{second}/resume"), ""),  # noqa: B023
        }
        begun = {name: meanwhile(ways[name]) for name in sorted(ways, reverse=number % 2 == 0)}
        status, told, _ = begun["rewind"].result()
        assert begun["resume"].result()[0] == 202
        assert status == 200 or told["code"] == "rest.not_stopped", told
        events += 1 + (number if status == 200 else 0)  # all rows once more, or none of them
    world.runs(workers[0], 1)
    world.insert(1, 9, 9)
    wait_until(lambda: len(world.events(1)) >= events + 1)
    values = world.events(1)
    assert (len(values), len(set(values))) == (events + 1, len(rounds) + 1)


def test_a_wish_that_a_replaced_coordinator_sends_late_counts_nowhere(
    world: GroupWorld, tmp_path: Path
) -> None:
    armed = Armed(world, tmp_path, "group_decided")
    world.make(armed.workers[0], 1)
    world.runs(armed.workers[0], 1)
    name = world.name(1)

    def paused(at: Worker, **headers: str) -> Future[Asked]:
        return meanwhile(lambda: ask("PUT", f"{at.url}/connectors/{name}/pause", **headers))

    armed.arm()
    early = paused(armed.workers[0])
    coordinator, other = armed.held(name)
    armed.release()
    assert early.result()[0] == 202
    assert ask("PUT", f"{coordinator.url}/connectors/{name}/resume")[0] == 202
    world.runs(coordinator, 1)
    armed.arm()
    late = paused(coordinator, **{MARK: "1"})  # so it is not passed on to the next coordinator
    assert armed.held(name)[0] is coordinator
    coordinator.freeze()  # it has decided, and has not written
    armed.release()
    wait_until(lambda: ask("POST", f"{other.url}/connectors/{name}/restart")[0] in (202, 204))
    coordinator.thaw()
    status, told, _ = late.result()
    assert status in (409, 503, 504), told
    for one in armed.workers:
        wait_until(lambda at=one: asked("GET", f"{at.url}/connectors/{name}/status")[1]["tasks"] != [])  # type: ignore[misc]
    world.runs(other, 1)
    world.insert(1, 1, 3)
    world.arrived(1, 3)
    assert ask("PUT", f"{other.url}/connectors/{name}/pause")[0] == 202
    for one in armed.workers:
        wait_until(
            lambda at=one: (
                asked("GET", f"{at.url}/connectors/{name}/status")[1]["connector"]["state"]  # type: ignore[misc]
                == "PAUSED"
            )
        )
