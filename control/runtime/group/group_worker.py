"""`wrackline worker --group`: one worker of a group, whose connectors come by REST.

    this thread     the supervisor: starts tasks' processes, receives their reports, restarts crashed ones
    member          takes part in the group; ends the tasks of slots that another worker gets
    follower        reads the group's records
    coordinator     is the only writer while the first slot is ours
    rest            answers

In: the group, and where REST listens.  Out: lines as `wrackline worker` prints them.  A worker leaves in this
order: the tasks end, the slots are released so that the others take them at once, REST closes.  The group
notices after 6 s that a worker was killed; its tasks end with it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from math import inf
from threading import Event
from typing import Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.check.assessment import assess_settings
from wrackline.control.runtime.ground.stop_signals import hear_stop_signals
from wrackline.control.runtime.group.config_records import SLOTS, Change, Connector
from wrackline.control.runtime.group.follower import Follower
from wrackline.control.runtime.group.group_connectors import GroupConnectors
from wrackline.control.runtime.group.group_drafts import GroupDrafts
from wrackline.control.runtime.group.group_settings import WorkerGroup
from wrackline.control.runtime.group.member import Member
from wrackline.control.runtime.group.threads import Threads
from wrackline.control.runtime.group.worker_tasks import WorkerTasks
from wrackline.control.runtime.letters import letter_work
from wrackline.control.runtime.letters.letter_work import LetterWork
from wrackline.control.runtime.logs.libraries import log_libraries
from wrackline.control.runtime.logs.lines import Log
from wrackline.control.runtime.logs.trail_writer import open_trail
from wrackline.control.runtime.notices.notifier import Notifier
from wrackline.control.runtime.probe.assess import try_settings
from wrackline.control.runtime.rest.model.drafts import DraftAccess
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.worker import task_process
from wrackline.control.runtime.worker.pipeline_requests import RequestsByName
from wrackline.control.runtime.worker.pipeline_tasks import TaskPlace
from wrackline.control.runtime.worker.pipeline_views import WorkerViews, following
from wrackline.control.runtime.worker.worker import (
    FOR_SOMEBODY,
    LOADED,
    MakePages,
    serve_rest,
)
from wrackline.control.runtime.worker.worker_log import WORKER, WorkerLog
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.nursery import Nursery
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.failures import of_exception
from wrackline.producers.kafka.login_check import check_login
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.kafka.topic_names import InternalTopics, internal_topics
from wrackline.schemas.message_texts import name_rest_in_hints

Tell = Callable[[WracklineError], None]

_AUDIT_DAYS: Final = 90
_FIRST: Final = 60.0  # seconds to read what is in the group's topics
_LAST: Final = 5.0  # seconds for the last reports to be sent
_LEAVE: Final = 40.0  # seconds for the tasks to end, and the group to be left
_FOLLOWING: Final = {"fetch.wait.max.ms": 100}  # it reads all the time, mostly without records
_MOST_RECORD: Final = {"max.message.bytes": str(4 << 20)}

NOT_READ = define(
    "group.not_read",
    Transient,
    "what the group {group} has kept was not read within {seconds:.0f} s",
    hint="see whether Kafka answers: kcat -b <brokers> -C -t {group}-configs -e -q; then start it again",
)


def work_in_group(
    group: WorkerGroup, log: Log, rest: RestSettings, most_memory: int, pages: MakePages | None = None
) -> int:
    """Take part in a group until it is asked to stop; return the exit code."""
    name_rest_in_hints()
    with (
        hear_stop_signals() as asked,
        join_group(group, asked, log, rest, most_memory, pages) as (_, supervisor),
    ):
        supervisor.run()
    return 0


@contextmanager
def join_group(
    group: WorkerGroup,
    asked: Callable[[], bool],
    log: Log,
    rest: RestSettings,
    most_memory: int,
    pages: MakePages | None = None,
) -> Iterator[tuple[GroupConnectors, Supervisor]]:
    """Join a group; its tasks run while the supervisor does."""
    cluster = check_login(group.client, time.monotonic)
    topics = internal_topics(group.id)
    _prepare(group.client, topics)
    hands: WorkerTasks
    clean = group.client.redactor.clean
    telling = WorkerLog(lambda name, standing: hands.stands(name, standing), log, clean)  # noqa: PLW0108 - it comes later
    nursery, threads = Nursery(LOADED), Threads()
    supervisor = Supervisor(
        {},
        telling,
        for_somebody=lambda code: code in FOR_SOMEBODY,
        must_stop=lambda: asked() or threads.error is not None,
        stays=True,
        most_memory=most_memory,
    )
    tell = partial(telling.wrong, WORKER)
    with ExitStack() as opened:
        opened.enter_context(log_libraries(log.bind(pipeline=WORKER), clean))
        report = opened.enter_context(_report_sender(group.client, topics.status, tell))
        hands = WorkerTasks(topics, supervisor, partial(_begins, nursery, group), report, tell)
        reader = group.client.reader(Identity(group.id, "follower", 0, 0)) | _FOLLOWING
        follower = Follower(reader, [topics.configs, topics.status], hands.hears, tell, threads)
        follower.start()
        opened.callback(follower.stop)
        if not follower.wait_for(lambda: follower.caught_up, _FIRST):
            raise NOT_READ(group=group.id, seconds=_FIRST)
        crew = GroupConnectors(group, cluster, hands, follower, tell, threads)
        boards = BoardFollower()
        opened.callback(boards.close)
        notifier = Notifier(lambda: crew.writes, telling.wrong, lambda _: f"{cluster}/{group.id}")
        opened.callback(notifier.close)
        ways = partial(_assess, nursery, group, crew), partial(_work_on_letters, nursery, group, crew)
        looks = WorkerViews(crew, boards, *ways, notifier)
        asks = RequestsByName(crew, lambda _, error: tell(error))
        access = _draft_access(nursery, group, crew, hands)
        more = None if pages is None else pages(crew, looks, access)
        put = opened.enter_context(
            open_trail(group.client, topics.audit, _AUDIT_DAYS, inf)
        )  # no write hides another
        boards.follow_lines(topics.audit, group.client)
        reports = telling.reports(put, lambda: boards.lines(topics.audit))
        door = opened.enter_context(serve_rest(crew, asks, looks, rest, reports, crew, more))
        opened.enter_context(following(looks))
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
    group: WorkerGroup,
    hands: WorkerTasks,
    crew: GroupConnectors,
    tell: Tell,
    threads: Threads,
    ready: Callable[[], None],
) -> Iterator[None]:
    """Be a member, on a separate thread; call `ready` once the group can take any request."""

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


def _begins(
    nursery: Nursery, group: WorkerGroup, connector: Connector, tasks: Iterable[int]
) -> Mapping[int, Begin]:
    settings, sources = dict(group.whole(connector.config)), connector.tasks.sources
    places = {number: TaskPlace(number, sources, connector.cut) for number in tasks}
    return {
        number: _way(nursery, task_process.run_settings, settings, group.allowed, place)
        for number, place in places.items()
    }


def _draft_access(
    nursery: Nursery, group: WorkerGroup, crew: GroupConnectors, hands: WorkerTasks
) -> DraftAccess:
    drafts = GroupDrafts(group.id, crew, hands, typed_secrets=group.typed_secrets)
    return DraftAccess(drafts, crew.names, crew.check, partial(_begin_call, nursery, group), crew)


def _begin_call(
    nursery: Nursery,
    group: WorkerGroup,
    main: Callable[..., None],
    settings: Mapping[str, str],
    *more: object,
) -> Begin:
    return _way(nursery, main, dict(group.whole(settings)), group.allowed, *more)


def _way(nursery: Nursery, main: Callable[..., None], *arguments: object) -> Begin:
    return nursery.way(task_process.for_group, main, *arguments)


def _assess(nursery: Nursery, group: WorkerGroup, crew: GroupConnectors, name: str, probe: bool) -> Begin:  # noqa: FBT001 - one of two ways
    run = try_settings if probe else assess_settings
    return _way(nursery, run, dict(group.whole(crew.stored_settings(name))), group.allowed)


def _work_on_letters(
    nursery: Nursery, group: WorkerGroup, crew: GroupConnectors, name: str, work: LetterWork
) -> Begin:
    settings = dict(group.whole(crew.stored_settings(name)))
    return _way(nursery, letter_work.work_on_settings, settings, group.allowed, work)


def _prepare(client: Client, topics: InternalTopics) -> None:
    """Make the group's topics, unless they exist."""
    admin = AdminClient(client.admin())
    for topic, partitions in ((topics.configs, 1), (topics.status, 1), (topics.tasks, SLOTS)):
        offsets_topic.prepare_offsets(admin, topic, partitions, -1, _MOST_RECORD)


@contextmanager
def _report_sender(client: Client, topic: str, tell: Tell) -> Iterator[Callable[[Change], None]]:
    """Send reports without waiting for any: a later report contains more."""
    producer = Producer(client.reporter("reports"))

    def report(change: Change) -> None:
        key, value = change
        producer.poll(0)
        try:
            producer.produce(topic, value, key, 0)
        except (BufferError, KafkaException) as error:  # Kafka has been away for a long time, or refuses
            tell(of_exception(error, "the reports", topic))

    try:
        yield report
    finally:
        producer.flush(_LAST)
