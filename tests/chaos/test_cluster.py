"""Three brokers, of which two must have what is acknowledged: each is killed in turn, and is not missed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, TopicMetadata  # type: ignore[attr-defined]  # as their pages do

from tests.chaos import evidence as ev
from tests.chaos.checks import check_all
from tests.chaos.world import World
from tests.chaos.writers import Writers
from tests.integration.running.world import wait_until
from wrackline.control.local.stack import kafka
from wrackline.control.local.stack.servers import Cluster, PostgresServer, SchemaRegistry

pytestmark = [pytest.mark.deep, pytest.mark.servers, pytest.mark.timeout(900)]

TRANSACTIONS = "__transaction_state"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers that no other module uses."""
    made = kafka.cluster(tmp_path_factory.mktemp("cluster"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def world(
    tmp_path: Path, postgres: PostgresServer, cluster: Cluster, registry: SchemaRegistry
) -> Iterator[World]:
    """A database that is written to, and a pipeline with the settings that it has by itself."""
    made = World(tmp_path, postgres, cluster, registry)
    yield made
    made.close()


def topics(cluster: Cluster) -> dict[str, TopicMetadata]:
    """All topics, Kafka's own too."""
    return AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=30).topics


def whole(cluster: Cluster) -> bool:
    """Whether every broker has every partition, to its end."""
    return all(len(one.isrs) == 3 for topic in topics(cluster).values() for one in topic.partitions.values())


def coordinator(world: World, cluster: Cluster) -> int:
    """Return the index of the broker that coordinates the pipeline's transactions now."""
    transactional_id = f"{world.group}.{world.prefix}.0".encode()
    kept = ev.Reader(cluster.bootstrap).read([TRANSACTIONS])
    [partition] = {record.partition for record in kept if (record.key or b"").endswith(transactional_id)}
    return topics(cluster)[TRANSACTIONS].partitions[partition].leader - 1


def kill(world: World, cluster: Cluster, index: int, writers: Writers) -> None:
    """Kill a broker while rows are written; all of them come before it is back."""
    wait_until(lambda: whole(cluster))
    writers.more(20)
    cluster.brokers[index].process.kill()
    writers.more(20)
    world.caught_up()
    cluster.brokers[index].process.start()
    writers.more(20)


def test_each_broker_and_the_coordinator_of_transactions_are_killed(world: World, cluster: Cluster) -> None:
    running = world.run()
    with world.writing() as writers:
        for index in range(3):
            kill(world, cluster, index, writers)
        kill(world, cluster, coordinator(world, cluster), writers)
    world.caught_up()
    assert running.process.poll() is None, running.output
    check_all(world)


def test_what_the_pipeline_makes_is_on_all_brokers(world: World, cluster: Cluster) -> None:
    world.run()
    world.insert("orders", 1)
    world.caught_up()
    there = topics(cluster)
    replicas = {name: {len(one.replicas) for one in there[name].partitions.values()} for name in there}
    assert set(world.topics()) | {world.offsets, TRANSACTIONS} <= replicas.keys()
    assert {name for name, counts in replicas.items() if counts != {3}} == set()
    asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in [*world.topics(), world.offsets]]
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    found = [future.result(30) for future in admin.describe_configs(asked).values()]
    assert {settings["min.insync.replicas"].value for settings in found} == {"2"}
