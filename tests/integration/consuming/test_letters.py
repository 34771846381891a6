"""Records that nobody can read, in a topic that a worker writes: kept, listed, tried again, dropped."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is public

from tests.fixtures.prepared import run_command
from tests.fixtures.servers import Database
from tests.integration.consuming.world import SPARK_PATIENCE, TARGET, Consuming, World
from tests.integration.running.world import CANARY, environment, wait_until
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.consumers.contract.plan import Applied, TopicPartition
from wrackline.consumers.kafka.client_settings import client_settings
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.letters.letter_work import LetterVerb, LetterWork, work_on_letters
from wrackline.control.runtime.letters.letters import open_letters
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.java import Java
from wrackline.schemas.errors import Definite

pytestmark = [pytest.mark.servers, pytest.mark.spark]

SECRET = b"c4n4ry in a record"


class Tolerant(World):
    """The same with dead letters, three a table."""

    target = TARGET.replace("[errors]", '[errors]\ntolerance = "all"\ndead.letters.max = 3')

    @property
    def table(self) -> str:
        """The table as its topic names it."""
        return self.topic.partition(".")[2]

    def poison(self, *values: bytes) -> None:
        """Write to the topic what no worker writes, under a key of its own."""
        key, _ = self.events()[0]
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap})
        for value in values:
            producer.produce(self.topic, value, key)
        assert producer.flush(30) == 0

    def letters(self, verb: str, *more: str) -> tuple[int, Any]:
        """Run `wrackline letters … --json` on the consumer's file."""
        command = ["letters", verb, str(self.consumer_file), *more, "--json"]
        done = run_command(command, timeout=SPARK_PATIENCE, env=environment())
        assert SECRET.decode() not in done.stdout + done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[Tolerant]:
    """A database with a table, and a pipeline over it."""
    made = Tolerant(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()


def poisoned(world: Tolerant) -> Consuming:
    """One record is set aside while its table continues; three more at once stop it."""
    world.run()
    world.insert(1, 3)
    world.arrived(3)
    world.poison(SECRET)
    consuming = world.consume()
    told = consuming.told("set aside", table=world.table)
    assert (told["letters"], told["in_all"]) == (1, 1)
    world.insert(4, 5)
    world.arrives()
    world.poison(SECRET, SECRET, b"\0\0")
    told = consuming.told("stopped", table=world.table)
    assert told["error"]["code"] == "consume.too_many_letters"
    assert consuming.stop() == Exit.OK
    assert SECRET.decode() not in consuming.output
    return consuming


def test_a_poison_message_is_set_aside_and_too_many_stop_the_table(world: Tolerant) -> None:
    poisoned(world)
    code, told = world.letters("replay", world.table)
    assert (code, told["errors"]) == (Exit.OPERATOR, [])
    (of_table,) = told["tables"]
    (reason,) = of_table["left"]
    assert (of_table["table"], of_table["merged"], of_table["left"]) == (world.table, 0, {reason: 1})
    assert reason.endswith("(consume.not_wire_format)")


@pytest.mark.deep
def test_dropped_letters_make_room_for_others(world: Tolerant) -> None:
    poisoned(world)
    code, told = world.letters("list")
    assert code == Exit.OK
    (letter,) = told["letters"]
    assert (letter["partition"], letter["code"]) == (0, "consume.not_wire_format")
    assert letter["bytes"] > len(SECRET)
    assert world.letters("drop", world.table)[1] == {"table": world.table, "dropped": 1}
    world.insert(6, 7)
    world.arrived(11)
    assert world.once()[0] == Exit.OK
    assert not world.differences("orders")
    assert len(world.letters("list", world.table)[1]["letters"]) == 3


def test_letters_in_postgres_are_listed_and_dropped_without_spark(
    world: Tolerant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java() -> Java:
        raise AssertionError("Spark is started")

    monkeypatch.setattr(java, "find_java", no_java)
    monkeypatch.setenv("WRACKLINE_DB_PASSWORD", CANARY)
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    admin.create_topics([NewTopic(world.topic, 1)])[world.topic].result(30)
    kept = DeadLetter(RecordPosition(world.topic, 0, 7), "some.code", "why", b"key", SECRET, 1000)
    with open_letters(good_pipeline(world.consumer_file)) as opened:
        (table,) = opened.tables()
        assert str(table) == world.table
        opened.box.keep(table, [kept, replace(kept, spot=RecordPosition(world.topic, 0, 9))])
    looked: Any = work_on_letters(good_pipeline(world.consumer_file), LetterWork(LetterVerb.LOOK))
    assert looked["groups"] == [{"table": world.table, "code": "some.code", "reason": "why", "count": 2}]
    assert bytes.fromhex(looked["letters"][0]["value"]) == SECRET
    one = LetterWork(LetterVerb.DROP, ids=frozenset({looked["letters"][1]["id"]}))
    left: Any = work_on_letters(good_pipeline(world.consumer_file), one)
    assert (left["done"], [letter["offset"] for letter in left["letters"]]) == ({"dropped": 1}, [7])
    with open_letters(good_pipeline(world.consumer_file)) as opened:
        assert list(opened.letters(table)) == [kept]
        assert opened.drop(table) == 1
        assert list(opened.letters(table)) == []


# a process of its own, as below a worker: Spark's Java ends with the work, and this one's is all tests'
REPLAYS = """
import json, sys
from pathlib import Path
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.letters.letter_work import LetterVerb, LetterWork, work_on_letters
file, table = sys.argv[1:]
print(json.dumps(work_on_letters(good_pipeline(Path(file)), LetterWork(LetterVerb.REPLAY, table))))
"""


@pytest.mark.full
def test_a_replay_for_the_console_says_what_stays(world: Tolerant) -> None:
    poisoned(world)
    command = [sys.executable, "-c", REPLAYS, str(world.consumer_file), world.table]
    done = subprocess.run(command, capture_output=True, check=True, env=environment())
    told: Any = json.loads(done.stdout)
    assert told["done"] == {"merged": 0, "left": 1, "errors": []}
    assert [letter["code"] for letter in told["letters"]] == ["consume.not_wire_format"]


@pytest.mark.full
def test_a_topic_created_again_is_not_the_one_that_was_merged(kafka: Broker, topic_prefix: str) -> None:
    """However many records it has by now."""
    topic = f"{topic_prefix}.d.public.orders"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    asks = TopicOffsets(client_settings({"bootstrap.servers": kafka.bootstrap}))

    def make(records: int) -> None:
        admin.create_topics([NewTopic(topic, 1)])[topic].result(30)
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for _ in range(records):
            producer.produce(topic, b"x", partition=0)
        assert producer.flush(30) == 0

    make(2)
    before = asks.with_topic_id(topic, Applied({TopicPartition(topic, 0): 2}))
    assert before.topic_ids.keys() == {topic}
    assert asks.with_topic_id(topic, before) == before
    admin.delete_topics([topic])[topic].result(30)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics)
    make(5)
    with pytest.raises(Definite, match=r"consume.topic_cut"):
        asks.with_topic_id(topic, before)
