"""`wrackline consume`: one pipeline's topics into its target, in the foreground, until it is asked to stop.

    Spark       spark_session.py decides where; what Java prints goes to a file or nowhere, so that the output
                is only ours
    driver      consumer_loop.py, on this thread, which receives SIGTERM and SIGHUP

It runs without the source's half, and the source's half without it.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from wrackline.consumers.batch.batch import Batches
from wrackline.consumers.contract.drop_rules import DropRules
from wrackline.consumers.contract.modes import ModeSettings
from wrackline.consumers.contract.target import load_target
from wrackline.consumers.drive.claim import ConsumerClaim, claim_name
from wrackline.consumers.drive.departures import Departures
from wrackline.consumers.drive.leaving import CopyRemover
from wrackline.consumers.kafka.client_settings import client_settings
from wrackline.consumers.kafka.record_reader import RecordReader
from wrackline.consumers.kafka.topic_offsets import Ends, TopicOffsets
from wrackline.consumers.kafka.wish_topic import WishTopic
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.offset_poll import OffsetPoll, OffsetQuestions
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.control.runtime.board.board_progress import followed_board, source_progress, source_rests
from wrackline.control.runtime.board.board_writer import written_board
from wrackline.control.runtime.board.gone_tables import beginnings, gone_tables
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.control.runtime.board.target_report import TargetReport
from wrackline.control.runtime.ground.exits import Exit, exit_of_all
from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.lineage.run_events import RunState
from wrackline.control.runtime.lineage.runs import report_run
from wrackline.control.runtime.lineage.target_half import report_batches
from wrackline.control.runtime.logs.libraries import log_libraries
from wrackline.control.runtime.logs.lines import Log
from wrackline.control.runtime.logs.sent_lines import sent_lines
from wrackline.control.runtime.running.batch_rules import batch_rules
from wrackline.control.runtime.running.consumer_log import ConsumerLog
from wrackline.control.runtime.running.consumer_loop import ConsumerLoop
from wrackline.control.runtime.running.transaction_boundaries import check_boundaries, whole_transactions
from wrackline.control.runtime.spark.spark_session import open_target
from wrackline.control.runtime.spark.target_access import target_of
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import schema_registry
from wrackline.schemas.kafka.board_records import Half, HalfBoard, HalfState
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.minutes.slo_terms import SloTerms
from wrackline.schemas.pipelines.lineage_names import Located, Locating
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_ANY: Final = TableId("database", "schema", "table")  # what one claim covers lies beside each other


def consume(
    pipeline: Pipeline,
    log: Log,
    *,
    once: bool,
    spark_log: Path | None,
    tell: Callable[[HalfState], None] = lambda _: None,
    is_wished: Callable[[], bool] = lambda: False,
) -> Exit:
    """Merge a pipeline that was found good, and return the exit code; `tell` gets each new state.

    `is_wished` says whether somebody wished that it rests, when it is asked to stop.
    """
    values, kind = target_of(pipeline)
    check_boundaries(values)
    server = values.text("topic.prefix")
    figures = ConsumerFigures(server)
    log = log.bind(pipeline=values.text("name"))
    teller, slo = ConsumerLog(log, figures), SloFigures(SloTerms.of(values), figures)
    with log_libraries(log, values.redactor.clean), ExitStack() as opened:
        opened.enter_context(sent_lines(values, Half.TARGET))
        boards = opened.enter_context(followed_board(values))
        rests = source_rests(boards, values.text("name"))
        report = TargetReport(kind, figures, HalfStanding(tell, is_wished), slo, rests)
        policy = Departures(DropRules.of(values), gone_tables(boards, values.text("name")), now_ms)

        def earlier(half: HalfBoard) -> None:
            policy.remember(beginnings(half))
            report.earlier(half)

        maps = opened.enter_context(written_board(values, Half.TARGET, report.look, teller.warned, earlier))
        opened.enter_context(report.standing.until_its_end())
        opened.callback(report.ends)
        lineage = opened.enter_context(report_run(values, "consume", log, streams=not once))
        session, place = opened.enter_context(open_target(values, kind, spark_log))
        ModeSettings.of(values).check(place.can)
        DropRules.of(values).check(place.can)
        texts = opened.enter_context(schema_registry.RegistryClient(schema_registry.registry_access(values)))
        given = values.below("kafka.")
        asks = TopicOffsets(client_settings(given))
        bounds = opened.enter_context(whole_transactions(values, session, asks, texts.text))
        hears = report_batches(lineage, load_target(kind), values, place.held, maps.knows, figures.batch)
        claim = opened.enter_context(closing(target_claim(values, kind, teller.warned)))
        is_local = (session.conf.get("spark.master", None) or "").startswith("local")
        reader = RecordReader(client_settings(given), claim.name, is_local=is_local)
        opened.callback(reader.close)
        common = replace(batch_rules(values, given, texts.text), hold=claim.hold, reader=reader)
        batches = Batches(session, asks, place, common, hears, bounds)

        naming = naming_of(values)

        def ends() -> Ends:
            found = asks.ends(server, naming)  # its error says more if Kafka is away
            claim.take()
            return found

        progress = source_progress(boards, values.text("name"))
        ask = OffsetQuestions(ends, asks.first_offsets, asks.written, progress)
        look = OffsetPoll(ask, naming.form(server), figures, teller.warned)
        topic = internal_topics(group_of(values.text("name"))).wishes
        wishes = opened.enter_context(closing(WishTopic(client_settings(given), topic, figures.pause)))
        leaving = CopyRemover(policy, place, asks.marks, claim.hold)
        loop = ConsumerLoop(values, place, figures, teller, report.begins, wishes, leaving, slo)
        failed = list(loop.drive(look, batches.merge, once=once))
        if once and look.nothing is not None:
            failed.append(look.nothing)
        if lineage is not None and once:
            lineage.outcome = (RunState.FAIL, failed[0]) if failed else (RunState.COMPLETE, None)
    return exit_of_all(failed)


def target_claim(values: Values, kind: str, warn: Callable[[WracklineError], None]) -> ConsumerClaim:
    """Return the claim on the copies of a pipeline's tables, not taken yet."""
    target, server = load_target(kind), values.text("topic.prefix")
    at = target.located(values, _ANY) if isinstance(target, Locating) else Located(kind, values.text("name"))
    given, name = client_settings(values.below("kafka.")), claim_name(server, at)
    return ConsumerClaim(given, server, naming_of(values), name, warn, now_ms)
