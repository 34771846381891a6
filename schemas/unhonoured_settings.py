"""Settings that Debezium and Kafka Connect know and that have no effect here, each with its reason.

A Debezium connector's configuration runs as it is; what we do not do is said at once.  A line that would
change or hide data is refused: leaving it out silently would publish what was meant to be transformed.
"""

from wrackline.schemas.setting import NotHonoured

_TAKE_OUT = "take the line out"
_TYPES = "types are fixed, so that log and snapshot give the same bytes"
_TYPES_HINT = "see docs/types.md; for one column: column.as.text"
_OTHERWISE = "it is done another way"


def _quiet(why: str, hint: str, *names: str) -> tuple[NotHonoured, ...]:
    return tuple(NotHonoured(name, why, hint) for name in names)


def _refused(why: str, hint: str, *names: str) -> tuple[NotHonoured, ...]:
    return tuple(NotHonoured(name, why, hint, refused=True) for name in names)


UNHONOURED = (
    *_quiet(
        "rows are taken as the server sends them, and incremental.snapshot.chunk.size bounds a statement",
        _TAKE_OUT,
        "snapshot.fetch.size",
    ),
    *_refused(
        "single message transforms and converters do not run here, and the data would differ without them",
        "shape the data in the target, or mask columns with column.mask.*",
        "transforms",
        "transforms.<rest>",
        "predicates",
        "predicates.<rest>",
        "converters",
        "post.processors",
        "post.processors.<rest>",
    ),
    *_refused(
        "a class of your own can't be loaded into a Python worker",
        _TAKE_OUT,
        "snapshot.mode.custom.name",
        "snapshot.locking.mode.custom.name",
        "snapshot.query.mode.custom.name",
        "topic.naming.strategy",
        "sourceinfo.struct.maker",
    ),
    *_quiet(
        "events are Avro in the Confluent wire format",
        "name the registry: schema.registry.url",
        "key.converter",
        "key.converter.<rest>",
        "value.converter",
        "value.converter.<rest>",
        "header.converter",
        "header.converter.<rest>",
    ),
    *_quiet(
        _TYPES,
        _TYPES_HINT,
        "include.unknown.datatypes",
        "column.propagate.source.type",
        "datatype.propagate.source.type",
    ),
    *_quiet(
        "names are always made safe for Avro, and the database's own name is kept beside",
        _TAKE_OUT,
        "schema.name.adjustment.mode",
        "field.name.adjustment.mode",
        "sanitize.field.names",
    ),
    *_quiet(
        "Kafka transactions are always on, cut at the database's commits",
        _TAKE_OUT,
        "exactly.once.support",
        "transaction.boundary",
        "transaction.boundary.interval.ms",
        "offsets.storage.topic",
        "offset.flush.interval.ms",
        "offset.flush.timeout.ms",
    ),
    *_quiet(
        "the schema stands in the log itself, no history topic is kept",
        _TAKE_OUT,
        "schema.history.internal",
        "schema.history.internal.<rest>",
        "database.history.<rest>",
        "snapshot.mode.configuration.based.snapshot.schema",
        "snapshot.mode.configuration.based.snapshot.on.schema.error",
    ),
    *_quiet(
        "memory is bounded in bytes and batches are cut at the database's commits",
        _TAKE_OUT,
        "max.batch.size",
        "max.queue.size",
        "max.queue.size.in.bytes",
        "poll.interval.ms",
    ),
    *_quiet(
        "a row that can't be carried pauses its table, it is never skipped",
        "mend the cause, or carry the column as text: column.as.text",
        "errors.log.enable",
        "errors.log.include.messages",
    ),
    *_quiet(
        "topics always have four parts with dots between",
        _TAKE_OUT,
        "topic.delimiter",
        "topic.transaction",
        "topic.cache.size",
        "topic.heartbeat.name",
    ),
    *_quiet(
        "chunks are read without locks, each in a transaction of its own",
        _TAKE_OUT,
        "snapshot.isolation.mode",
        "snapshot.locking.mode",
        "snapshot.lock.timeout.ms",
        "snapshot.query.mode",
        "snapshot.tables.order.by.row.count",
        "legacy.snapshot.max.threads",
        "incremental.snapshot.allow.schema.changes",
        "incremental.snapshot.threads",
    ),
    *_quiet(
        _OTHERWISE,
        "name lineage.url or lineage.file in its place",
        "openlineage.integration.enabled",
        "openlineage.integration.<rest>",
    ),
    *_quiet(
        _OTHERWISE,
        "take the line out",
        "advanced.metrics.enable",
        "guardrail.collections.max",
        "guardrail.collections.limit.action",
    ),
    *_quiet(
        _OTHERWISE,
        _TAKE_OUT,
        "signal.poll.interval.ms",
        "signal.kafka.groupId",
        "signal.kafka.bootstrap.servers",
        "signal.kafka.poll.timeout.ms",
        "signal.file",
        "signal.consumer.<rest>",
        "signal.emit.failure.<rest>",
        "executor.shutdown.timeout.ms",
        "connection.validation.timeout.ms",
        "extended.headers.enabled",
        "record.processing.threads",
        "record.processing.order",
        "record.processing.shutdown.timeout.ms",
        "config.action.reload",
        "streaming.delay.ms",
        "snapshot.delay.ms",
        "custom.metric.tags",
    ),
)
