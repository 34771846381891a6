"""Notices: which changes are told, once each, and how they reach a real server."""

import hmac
import shlex
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from queue import Queue
from threading import Event
from threading import enumerate as enumerate_threads

import orjson
import pytest

from tests.unit.console import made_promise
from tests.unit.console.made import HOSTILE, both, database, half, source_table, target_table
from tests.unit.control.test_lineage_sending import Receiver, receiving, says
from tests.unit.corpus.worker import GOOD
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.notices.notice_bodies import as_json, as_pagerduty, as_slack
from wrackline.control.runtime.notices.notice_rules import (
    Condition,
    Notice,
    NoticeRules,
    conditions,
    recoveries,
)
from wrackline.control.runtime.notices.notice_settings import NoticeSettings
from wrackline.control.runtime.notices.notifier import Notifier
from wrackline.control.runtime.notices.receivers import KEPT, REFUSALS
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.board_records import Half, HalfBoard
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.declared.notify_settings import NOTIFY
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

ERROR = {
    "code": "pg.slot_lost",
    "kind": "OperatorNeeded",
    "sentence": "the slot is lost",
    "hint": "read again",
}
DDL = {**ERROR, "code": "consume.cant_take"}
T = "shop.public.orders"
EVERY = frozenset({"failed", "unsupported_ddl", "at_risk", "letters", "recovered"})
Halves = Mapping[Half, HalfBoard]


def well() -> Halves:
    board = both(half(databases={"shop": database()}), half())
    board[Half.SOURCE].tables[T], board[Half.TARGET].tables[T] = source_table(T), target_table()
    return board


def with_database(**more: object) -> Halves:
    return both(half(databases={"shop": database(**more), "other": database()}), half())  # type: ignore[arg-type]


def with_table(half_of: Half, **more: object) -> Halves:
    board = well()
    made = source_table(T, **more) if half_of is Half.SOURCE else target_table(**more)  # type: ignore[arg-type]
    board[half_of].tables[T] = made
    return board


@pytest.mark.parametrize(
    ("board", "found"),
    [
        (well(), []),
        (both(HalfBoard(), HalfBoard()), []),
        (both(half("stopped"), half("stopped")), []),
        (both(half("failed", error=ERROR), half()), [("failed", "source")]),
        (both(half("recovering", error=ERROR), half()), []),
        (both(half(), half(heard_ms=1)), [("failed", "target")]),
        (both(half(databases={"shop": database(lost_in_s=60)}), half()), [("at_risk", "shop")]),
        (with_database(state="failed", error=ERROR), [("failed", "database shop")]),
        (with_database(state="recovering", error=ERROR), []),
        (with_table(Half.SOURCE, state="failed", reason=ERROR), [("failed", T)]),
        (with_table(Half.TARGET, standing="stopped", error=ERROR), [("failed", T)]),
        (with_table(Half.TARGET, standing="stopped", error=DDL), [("unsupported_ddl", T)]),
        (with_table(Half.TARGET, standing="waiting", error=ERROR), []),
        (with_table(Half.TARGET, dead_letters=3), [("letters", T)]),
        (with_table(Half.SOURCE, letters={"pg.unfit": 2}), [("letters", T)]),
    ],
)
def test_what_needs_somebody_is_found_on_the_board(board: Halves, found: list[tuple[str, str]]) -> None:
    at_ms = max(one.heard_ms for one in board.values())  # it was made when the module was loaded
    assert sorted(conditions("shop", board, at_ms)) == found


def test_a_broken_promise_of_freshness_is_one_condition_of_the_pipeline() -> None:
    board, kept = both(half(), half()), made_promise.report(bad=4)
    assert conditions("shop", board, 0, kept) == {}
    [(condition, error)] = conditions("shop", board, 0, made_promise.report(bad=5)).items()
    assert condition == ("slo", "freshness")
    assert f"{made_promise.STUCK} had 5" in error["sentence"]
    assert error["hint"] == "wrackline slo shop"


def test_a_change_is_told_once_again_after_a_while_and_at_its_end() -> None:
    rules, wrong = NoticeRules("shop", EVERY, again_ms=1_000), {Condition("failed", T): ERROR}

    def told(now: Mapping[Condition, object], at_ms: int) -> list[str]:
        return [one.kind for one in rules.changes(now, at_ms)]  # type: ignore[arg-type]

    assert told(wrong, 0) == ["failed"]
    assert told(wrong, 999) == []
    assert told(wrong, 1_000) == ["failed"]
    assert told({}, 1_500) == ["recovered"]
    assert told({}, 9_999) == []
    assert told(wrong, 10_000) == ["failed"]
    assert told(wrong, 7_000) == [], "the clock was set back"
    assert told(wrong, 8_000) == ["failed"]


def test_a_command_to_paste_has_no_name_that_ends_it() -> None:
    board = well()
    board[Half.TARGET].tables["a'; rm -rf ~; '"] = target_table(dead_letters=3)
    (error,) = conditions("shop", board, now_ms()).values()
    command = error["hint"].replace("<pipeline.toml>", "pipeline.toml")
    assert shlex.split(command) == ["wrackline", "letters", "list", "pipeline.toml", "a'; rm -rf ~; '"]


def test_only_what_is_wished_is_told() -> None:
    rules = NoticeRules("shop", frozenset({"letters"}), 1_000)
    wrong = {Condition("failed", T): ERROR, Condition("letters", T): ERROR}
    assert [one.kind for one in rules.changes(wrong, 0)] == ["letters"]
    assert rules.changes({}, 1) == []


def test_the_forms_hold_what_a_reader_needs_and_no_markup_of_others() -> None:
    notice = Notice(HOSTILE, "failed", T, ERROR, 7)
    assert orjson.loads(as_json(notice)) == {
        "version": 1, "pipeline": HOSTILE, "kind": "failed", "about": T, "at_ms": 7,
        "code": "pg.slot_lost", "sentence": "the slot is lost", "hint": "read again",
    }  # fmt: skip
    text = orjson.loads(as_slack(notice))["text"]
    assert "<img" not in text
    assert text.endswith(f": failed, {T}: the slot is lost\nread again")


def test_an_incident_of_pagerduty_is_triggered_and_resolved_when_nothing_of_its_kind_stands() -> None:
    rules, other = NoticeRules("shop", EVERY, again_ms=1_000), Condition("failed", "shop.public.items")
    table, key = Condition("failed", T), Secret("r0uting")
    begun = [
        as_pagerduty(one, key, "prod1")
        for one in rules.changes({table: ERROR, other: ERROR}, 1_777_000_000_123)
    ]
    assert begun[0] is not None
    event, incident = begun[0]
    assert orjson.loads(event) == {
        "routing_key": "r0uting", "event_action": "trigger", "dedup_key": "wrackline:prod1:shop:failed",
        "client": "Wrackline",
        "payload": {
            "summary": f"shop: failed, {T}: the slot is lost", "source": "shop", "severity": "critical",
            "timestamp": "2026-04-24T03:06:40.123+00:00", "component": T, "class": "failed",
            "custom_details": {"code": "pg.slot_lost", "sentence": "the slot is lost", "hint": "read again"},
        },
    }  # fmt: skip
    assert {one and one[1] for one in begun} == {incident}, "one incident for each kind"
    assert [as_pagerduty(one, key, "prod1") for one in rules.changes({other: ERROR}, 1)] == [None], (
        "another stands"
    )
    (over,) = (as_pagerduty(one, key, "prod1") for one in rules.changes({}, 2))
    assert over is not None
    assert orjson.loads(over[0]) == {
        "routing_key": "r0uting", "event_action": "resolve", "dedup_key": "wrackline:prod1:shop:failed"
    }  # fmt: skip
    long = Notice("shop", "failed", T, {**ERROR, "sentence": "x" * 5_000}, 7)
    made = as_pagerduty(long, key, "prod1")
    assert made is not None
    assert len(orjson.loads(made[0])["payload"]["summary"]) == 1_024


@pytest.mark.parametrize("kind", next(one.recommended for one in NOTIFY if one.name == "notify.on"))
def test_each_kind_of_notice_has_every_form_and_an_end(kind: str) -> None:
    over = "failed" if kind == "recovered" else ""
    notice = Notice("shop", kind, T, ERROR, 7, over)
    assert orjson.loads(as_json(notice))["kind"] == kind
    assert f"shop: {kind}, {T}" in orjson.loads(as_slack(notice))["text"]
    made = as_pagerduty(notice, Secret("r0uting"), "prod1")
    assert made is not None
    assert orjson.loads(made[0])["dedup_key"].endswith(over or kind)
    assert (over or kind) in {one.over for one in recoveries("shop", {}, 7)}


def origin(pipeline: str) -> str:
    return f"kafka-1/{pipeline}"


@pytest.fixture
def told() -> Queue[WracklineError]:
    return Queue()


@pytest.fixture
def notifier(told: Queue[WracklineError]) -> Iterator[Notifier]:
    made = Notifier(lambda: True, lambda _, error: told.put(error), origin, first_wait=0.01)
    yield made
    made.close()


def settings(url: str, form: str = "json") -> NoticeSettings:
    return NoticeSettings(Secret(url), Secret("s3cret"), form, EVERY, 3_600_000, Secret("r0uting"))


def counting(
    answers: list[int], more: Mapping[str, str] | None = None
) -> tuple[Callable[[BaseHTTPRequestHandler], None], Queue[str | None]]:
    """Answer with these statuses in turn, then with 200; note each signature."""
    came: Queue[str | None] = Queue()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        says(answers.pop(0) if answers else 200, **(more or {}))(handler)
        came.put(handler.headers["X-Wrackline-Signature"])

    return answer, came


def test_a_notice_is_posted_signed_and_again_until_it_is_accepted(
    notifier: Notifier, told: Queue[WracklineError]
) -> None:
    answer, came = counting([503, 404, 302], {"Location": "http://127.0.0.1:1/elsewhere"})
    with receiving(answer) as server:
        failed = both(half("failed", error=ERROR), half())
        for _ in range(3):
            notifier.look("shop", settings(server.url), failed, now_ms())
        signatures = [came.get(timeout=30) for _ in range(4)]
        notifier.look("shop", settings(server.url), well(), now_ms())
        came.get(timeout=30)
        bodies = [body for _, _, body in server.came]
    assert [orjson.loads(body)["kind"] for body in bodies] == ["failed"] * 4 + ["recovered"]
    assert len(set(bodies[:4])) == 1, "it is the same notice, and a redirect is not followed"
    assert signatures[0] == f"sha256={hmac.digest(b's3cret', bodies[0], 'sha256').hex()}"
    error = told.get(timeout=30)
    assert (error.code, told.empty()) == ("notify.not_sent", True)
    assert "127.0.0.1" in error.sentence
    assert "/api/v1" not in str(error), "the address may be a secret"


def test_a_worker_that_is_not_the_one_that_sends_tells_nobody_until_it_is() -> None:
    sends = Event()
    answer, came = counting([])
    with receiving(answer) as server:
        notifier = Notifier(sends.is_set, print, origin)
        failed = both(half("failed", error=ERROR), half())
        notifier.look("shop", settings(server.url), failed, now_ms())
        sends.set()
        notifier.look("shop", settings(server.url), failed, now_ms())
        assert came.get(timeout=30)
        notifier.close()
        assert len(server.came) == 1


def test_only_the_newest_notices_are_kept_and_nobody_waits_for_them(notifier: Notifier) -> None:
    opened, busy = Event(), Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        busy.set()
        opened.wait(30)
        says(200)(handler)

    server: Receiver
    with receiving(answer) as server:
        many = well()
        notifier.look("shop", settings(server.url), both(half("failed", error=ERROR), half()), now_ms())
        assert busy.wait(30)
        for number in range(KEPT + 20):
            name = f"shop.public.t{number:03}"
            many[Half.TARGET].tables[name] = target_table(standing="stopped", error=ERROR)
        notifier.look("shop", settings(server.url), many, now_ms())
        assert len(server.came) == 1
        opened.set()
        while b"recovered" not in server.came[-1][2]:  # the last that was offered
            pass
        assert len(server.came) == KEPT + 1, "what was under way, and the newest"


def test_an_address_that_never_answers_has_one_thread_and_holds_up_no_other(notifier: Notifier) -> None:
    before, opened = set(enumerate_threads()), Event()
    answer, came = counting([])
    failed = both(half("failed", error=ERROR), half())

    def silent(_: BaseHTTPRequestHandler) -> None:
        opened.wait(60)

    with receiving(silent) as mute, receiving(answer) as server:
        for number in range(50):
            notifier.look(f"mute{number}", settings(mute.url), failed, now_ms())
        while not mute.came:
            pass
        notifier.look("shop", settings(server.url), failed, now_ms())
        assert came.get(timeout=30)
        ours = [one for one in set(enumerate_threads()) - before if one.name == "notices"]
        assert len(ours) <= 2, "one for each address"
        opened.set()


def test_a_notice_that_is_refused_holds_up_no_other_pipeline_of_its_address() -> None:
    came: Queue[str] = Queue()
    failed = both(half("failed", error=ERROR), half())

    def answer(handler: BaseHTTPRequestHandler) -> None:
        pipeline = orjson.loads(server.came[-1][2])["pipeline"]  # one at a time, so the last is this one
        says(503 if pipeline == "bad" else 200)(handler)
        came.put(pipeline)

    patient, before = (
        Notifier(lambda: True, lambda *_: None, origin, first_wait=3_600.0),
        set(enumerate_threads()),
    )
    with receiving(answer) as server:
        patient.look("bad", settings(server.url), failed, now_ms())
        assert came.get(timeout=30) == "bad"
        for name in ("good", "better"):  # its back-off has begun: who waits with it would wait an hour
            patient.look(name, settings(server.url), failed, now_ms())
        assert {came.get(timeout=30), came.get(timeout=30)} == {"good", "better"}
    (ours,) = [one for one in set(enumerate_threads()) - before if one.name == "notices"]
    patient.close()
    ours.join(30)
    assert not ours.is_alive(), "its thread waits for nobody any more"


def test_a_notice_that_no_try_can_help_is_dropped_so_that_the_next_is_sent(
    notifier: Notifier, told: Queue[WracklineError]
) -> None:
    answer, came = counting([503, *[400] * REFUSALS])
    with receiving(answer) as server:
        failed = both(half("failed", error=ERROR), half())
        notifier.look("shop", settings(server.url), failed, now_ms())
        notifier.look("shop", settings(server.url), well(), now_ms())
        for _ in range(REFUSALS + 2):
            came.get(timeout=30)
        kinds = [orjson.loads(body)["kind"] for _, _, body in server.came]
    assert kinds == ["failed"] * (REFUSALS + 1) + ["recovered"]
    assert [told.get(timeout=30).code, told.get(timeout=30).code] == ["notify.not_sent", "notify.dropped"]
    assert told.empty()


def test_a_sender_that_begins_resolves_what_does_not_stand(notifier: Notifier) -> None:
    answer, came = counting([])
    with receiving(answer) as server:
        failed = both(half("failed", error=ERROR), half())
        notifier.look("shop", settings(server.url, "pagerduty"), failed, now_ms())
        for _ in range(4):
            came.get(timeout=30)
        events = [orjson.loads(body) for _, _, body in server.came]
    assert events[0]["event_action"] == "trigger", "what needs you does not wait behind what is over"
    assert {(one["event_action"], one["dedup_key"].rpartition(":")[2]) for one in events} == {
        ("resolve", "unsupported_ddl"), ("resolve", "at_risk"), ("resolve", "letters"), ("trigger", "failed"),
    }  # fmt: skip


def test_two_installations_with_a_pipeline_of_one_name_have_an_incident_each() -> None:
    failed, keys = both(half("failed", error=ERROR), half()), set[str]()
    for place in ("staging", "production"):
        answer, came = counting([])  # of each its own: the first may still get what is over
        with receiving(answer) as server:
            notifier = Notifier(lambda: True, print, lambda _, of=place: of)  # type: ignore[misc]
            notifier.look("shop", settings(server.url, "pagerduty"), failed, now_ms())
            assert came.get(timeout=30)
            notifier.close()
            keys.add(orjson.loads(server.came[0][2])["dedup_key"])
    assert len(keys) == 2
    assert all(len(one) < 255 for one in keys)


def test_of_an_incident_that_waits_only_the_newest_event_is_sent(notifier: Notifier) -> None:
    opened, busy = Event(), Event()
    events: Queue[str] = Queue()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        busy.set()
        event = orjson.loads(server.came[-1][2])
        opened.wait(60)
        # before the answer: after it, the next event may come first, because each has a thread of its own
        events.put(f"{event['event_action']} {event['dedup_key'].rpartition(':')[2]}")
        says(200)(handler)

    with receiving(answer) as server:
        many = well()
        notifier.look("shop", settings(server.url, "pagerduty"), well(), now_ms())
        assert busy.wait(30)
        for number in range(200):
            many[Half.TARGET].tables[f"shop.public.t{number}"] = target_table(standing="stopped", error=ERROR)
        notifier.look("shop", settings(server.url, "pagerduty"), many, now_ms())
        notifier.look(
            "shop", settings(server.url, "pagerduty"), with_table(Half.TARGET, dead_letters=3), now_ms()
        )
        opened.set()
        seen = [events.get(timeout=30) for _ in range(5)]
    assert sorted(seen[-2:]) == ["resolve failed", "trigger letters"]
    assert "trigger failed" not in seen, "it was over before it could be sent"


def pipeline(**given: str) -> Pipeline:
    allowed = Resolver(Allowed().of_the_owner(), {})
    return check({"name": "shop", **GOOD, **given}, Installed(), allowed)


def test_settings_of_notices_are_read_and_an_address_is_shown_as_stars() -> None:
    url = "https://hooks.example.com/T0/s3cret"
    one = pipeline(**{"notify.url": url, "notify.on": "failed", "notify.form": "slack"})
    read = NoticeSettings.of(one.good())
    assert read is not None
    assert (read.url.reveal(), read.form, set(read.wanted)) == (url, "slack", {"failed"})
    assert one.registry.shown(one.given)["notify.url"] == "***"
    assert url not in repr(read)
    assert NoticeSettings.of(pipeline().good()) is None


def test_the_form_of_pagerduty_needs_its_key_which_is_shown_as_stars() -> None:
    given = {"notify.url": "https://events.pagerduty.com/v2/enqueue", "notify.form": "pagerduty"}
    (missing,) = [one for one in pipeline(**given).problems if not one.warning]
    assert "notify.routing.key" in str(missing.error)
    one = pipeline(**given, **{"notify.routing.key": "r0uting"})
    read = NoticeSettings.of(one.good())
    assert read is not None
    assert read.routing_key is not None
    assert read.routing_key.reveal() == "r0uting"
    assert one.registry.shown(one.given)["notify.routing.key"] == "***"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/b",
        "https://u:p@host/x",
        "host/x",
        "",
        "http://host:99999/",
        "http://[::::]/",
        "http://a..b/",
        f"http://{'a' * 64}.example/",
    ],
)
def test_an_address_that_is_none_is_refused_without_being_shown(url: str) -> None:
    (problem,) = [one for one in pipeline(**{"notify.url": url}).problems if not one.warning]
    assert problem.setting == "notify.url"
    assert not url or url not in str(problem.error)
