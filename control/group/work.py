"""`wrackline worker --group`: one worker of a group, whose connectors come by REST.

    this thread     the supervisor: starts tasks' processes, hears them, begins crashed ones again
    member          takes part in the group; ends the tasks of slots that become another's
    follower        hears the group's records
    coordinator     holds the pen while the first slot is ours
    rest            answers

In: the group, and where REST listens.  Out: lines as `wrackline worker` prints them.  Leaving is in order:
the tasks end, the slots are given up so that the others take them at once, REST closes.  A worker that is
killed is missed after 6 s; its tasks end with it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Event
from typing import Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from wrackline.control import assessing, worker_task
from wrackline.control.group.crew import GroupCrew
from wrackline.control.group.follower import Follower
from wrackline.control.group.hands import Hands
from wrackline.control.group.member import Member
from wrackline.control.group.records import SLOTS, Change, Connector
from wrackline.control.group.settings import Group
from wrackline.control.group.threads import Threads
from wrackline.control.logs.libraries import libraries_say
from wrackline.control.logs.lines import Log
from wrackline.control.rest.desk import PipelineDesk
from wrackline.control.rest.pipeline_looks import PipelineLooks
from wrackline.control.rest.settings import RestSettings
from wrackline.control.run import asked_to_stop
from wrackline.control.worker import FOR_SOMEBODY, LOADED, answering
from wrackline.control.worker_telling import WORKER, Telling
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.nursery import Nursery
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.failures import of_exception
from wrackline.producers.kafka.knock import knock
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.topics import InternalTopics, internal_topics

Tell = Callable[[WracklineError], None]

_FIRST: Final = 60.0  # seconds for what is in the group's topics to be heard
_LAST: Final = 5.0  # seconds for the last reports to be sent
_LEAVE: Final = 40.0  # seconds for the tasks to end, and the group to be left
_FOLLOWING: Final = {"fetch.wait.max.ms": 100}  # it is always there, and most of the time there is nothing
_MOST_RECORD: Final = {"max.message.bytes": str(4 << 20)}

NOT_READ = define(
    "group.not_read",
    Transient,
    "what the group {group} has kept was not read within {seconds:.0f} s",
    hint="see whether Kafka answers: kcat -b <brokers> -C -t {group}-configs -e -q; then start it again",
)


def work(group: Group, log: Log, rest: RestSettings, most_memory: int) -> int:
    """Take part in a group until it is asked to stop; return the exit code."""
    with asked_to_stop() as asked, joined(group, asked, log, rest, most_memory) as (_, supervisor):
        supervisor.run()
    return 0


@contextmanager
def joined(
    group: Group, asked: Callable[[], bool], log: Log, rest: RestSettings, most_memory: int
) -> Iterator[tuple[GroupCrew, Supervisor]]:
    """Be in a group; its tasks run while the supervisor does."""
    knock(group.client, time.monotonic)
    topics = internal_topics(group.id)
    _prepare(group.client, topics)
    hands: Hands
    clean = group.client.redactor.clean
    telling = Telling(lambda name, standing: hands.stands(name, standing), log, clean)  # noqa: PLW0108 - it comes later
    nursery, threads = Nursery(LOADED), Threads()
    supervisor = Supervisor(
        {},
        telling,
        for_somebody=lambda code: code in FOR_SOMEBODY,
        asked=lambda: asked() or threads.error is not None,
        stays=True,
        most_memory=most_memory,
    )
    tell = partial(telling.wrong, WORKER)
    with ExitStack() as opened:
        opened.enter_context(libraries_say(log.bind(pipeline=WORKER), clean))
        report = opened.enter_context(_reporting(group.client, topics.status, tell))
        hands = Hands(topics, supervisor, partial(_begin, nursery, group), report, tell)
        reader = group.client.reader(Identity(group.id, "follower", 0, 0)) | _FOLLOWING
        follower = Follower(reader, [topics.configs, topics.status], hands.hears, tell, threads)
        follower.start()
        opened.callback(follower.stop)
        if not follower.wait_for(lambda: follower.caught_up, _FIRST):
            raise NOT_READ(group=group.id, seconds=_FIRST)
        crew = GroupCrew(group, hands, follower, tell, threads)
        looks = PipelineLooks(crew, partial(_assessing, nursery, group, crew))
        door = opened.enter_context(answering(crew, _Desks(crew, tell), looks, rest, tell, crew))
        hands.begin(door.worker)
        crew.begin(door.worker, door.url, telling.group, users=rest.users is not None)
        opened.enter_context(
            _member(group, hands, crew, tell, threads, partial(telling.listens, f"{door.url}/connectors"))
        )
        yield crew, supervisor
        if threads.error is not None:
            raise threads.error


@contextmanager
def _member(
    group: Group, hands: Hands, crew: GroupCrew, tell: Tell, threads: Threads, ready: Callable[[], None]
) -> Iterator[None]:
    """Be a member, on a thread of its own; say when the group is one that can be asked for anything."""

    def owns(slots: frozenset[int]) -> None:
        hands.owns(slots)
        crew.owns(slots)

    reader = group.client.reader(Identity(group.id, crew.worker, 0, 0)) | {"group.id": group.id}
    member = Member(reader, internal_topics(group.id).tasks, owns, hands.loses, tell)
    leaving = Event()

    def take_part() -> None:
        while not leaving.is_set() and not (member.assigned and crew.led):
            member.poll()
        ready()
        while not leaving.is_set():
            member.poll()
        crew.end()
        member.leave()

    thread = threads.make("member", take_part)
    thread.start()
    try:
        yield
    finally:
        leaving.set()
        thread.join(_LEAVE)
        hands.leave()


def _begin(nursery: Nursery, group: Group, connector: Connector) -> Begin:
    return nursery.way(worker_task.of_map, dict(group.whole(connector.config)), group.allowed)


def _assessing(nursery: Nursery, group: Group, crew: GroupCrew, name: str) -> Begin:
    return nursery.way(assessing.of_map, dict(group.whole(crew.given(name))), group.allowed)


def _prepare(client: Client, topics: InternalTopics) -> None:
    """Make the group's topics, unless they are there."""
    admin = AdminClient(client.admin())
    for topic, partitions in ((topics.configs, 1), (topics.status, 1), (topics.tasks, SLOTS)):
        offsets_topic.prepare(admin, topic, partitions, -1, _MOST_RECORD)


@contextmanager
def _reporting(client: Client, topic: str, tell: Tell) -> Iterator[Callable[[Change], None]]:
    """Send reports, none of which is waited for: a later one says more."""
    producer = Producer(client.reporter("reports"))

    def report(change: Change) -> None:
        key, value = change
        producer.poll(0)
        try:
            producer.produce(topic, value, key, 0)
        except (BufferError, KafkaException) as error:  # Kafka has been away for long, or refuses
            tell(of_exception(error, "the reports", topic))

    try:
        yield report
    finally:
        producer.flush(_LAST)


class _Desks(Mapping[str, PipelineDesk]):
    """The requests of each of the group's connectors."""

    def __init__(self, crew: GroupCrew, tell: Tell) -> None:
        self._crew, self._tell = crew, tell

    def __getitem__(self, name: str) -> PipelineDesk:
        if name not in self._crew.names():
            raise KeyError(name)
        return PipelineDesk(self._crew.pipeline(name), self._tell)

    def __iter__(self) -> Iterator[str]:
        return iter(self._crew.names())

    def __len__(self) -> int:
        return len(self._crew.names())
