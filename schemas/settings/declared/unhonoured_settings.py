"""Settings that Debezium and Kafka Connect know and that have no effect here, each with its reason.

A Debezium connector's configuration runs as it is; what we do not do is reported at once.  A line that would
change or hide data is refused: ignoring it silently would publish what was meant to be transformed.
"""

from wrackline.schemas.settings.setting import NotHonoured

_TAKE_OUT = "remove the line"
_TYPES = "types are fixed, so that log and snapshot give the same bytes"
_TYPES_HINT = "see docs/types.md; for one column: column.as.text"
_OTHERWISE = "it is done another way"


def _quiet(why: str, hint: str, *names: str) -> tuple[NotHonoured, ...]:
    return tuple(NotHonoured(name, why, hint) for name in names)


def _refused(why: str, hint: str, *names: str, done: tuple[str, ...] = ()) -> tuple[NotHonoured, ...]:
    """Refuse these, except for values that mean what is done anyway."""
    return tuple(NotHonoured(name, why, hint, refused=True, done=done) for name in names)


_AVRO = ("io.confluent.connect.avro.AvroConverter", "io.apicurio.registry.utils.converter.AvroConverter")
_OTHER_FORMATS = (  # the same data in another form; an unknown class may hide a part of it
    "org.apache.kafka.connect.json.JsonConverter",
    "org.apache.kafka.connect.storage.StringConverter",
    "org.apache.kafka.connect.converters.ByteArrayConverter",
    "io.debezium.converters.BinaryDataConverter",
    "io.debezium.converters.ByteBufferConverter",
    "io.debezium.converters.CloudEventsConverter",
    "io.confluent.connect.json.JsonSchemaConverter",
    "io.confluent.connect.protobuf.ProtobufConverter",
    "io.apicurio.registry.utils.converter.ExtJsonConverter",
)


_RUN_LATER = (
    "let the readers do it, or shape the data in the target: docs/other-readers.md, Transforms and the"
    " outbox; to hide columns: column.mask.*, column.exclude.list"
)

UNHONOURED = (
    *_quiet(
        "rows are read as the server sends them, and incremental.snapshot.chunk.size limits a statement",
        _TAKE_OUT,
        "snapshot.fetch.size",
    ),
    *_refused(
        "it is the first part of topic names, which Debezium 2 and Wrackline call topic.prefix",
        "write topic.prefix instead",
        "database.server.name",
    ),
    *_refused(
        "the outbox's rows are published like those of any table; Wrackline does not route them",
        "remove the line, and let the readers select by column: docs/other-readers.md, Transforms and the"
        " outbox",
        "transforms.outbox.<rest>",
    ),
    *_refused(
        "single message transforms and converters are not supported, and the data would differ without them",
        _RUN_LATER,
        "transforms",
        "transforms.<rest>",
        "predicates",
        "predicates.<rest>",
        "converters",
        "post.processors",
        "post.processors.<rest>",
    ),
    *_refused(
        "a custom class can't be loaded into a Python worker",
        _TAKE_OUT,
        "snapshot.mode.custom.name",
        "snapshot.locking.mode.custom.name",
        "snapshot.query.mode.custom.name",
        "transaction.metadata.factory",
    ),
    *_refused(
        "a custom class can't be loaded into a Python worker, and Wrackline names topics differently",
        'for Debezium\'s names: topic.naming = "debezium"; and remove the line',
        "topic.naming.strategy",
    ),
    *_refused(
        "a custom class can't be loaded into a Python worker",
        _TAKE_OUT,
        "sourceinfo.struct.maker",
        done=(
            "io.debezium.connector.postgresql.PostgresSourceInfoStructMaker",
            "io.debezium.connector.mysql.MySqlSourceInfoStructMaker",
            "io.debezium.connector.mariadb.MariaDbSourceInfoStructMaker",
        ),
    ),
    *(
        NotHonoured(
            name,
            "events are Avro in the Confluent wire format; no other class can write them",
            "let the readers read Avro, or shape the data in the target; name the registry:"
            " schema.registry.url",
            refused=True,
            done=_AVRO,
            mild=_OTHER_FORMATS,
        )
        for name in ("key.converter", "value.converter")
    ),
    *(
        NotHonoured(
            f"{side}.converter.rule.service.loader.enable",
            "registry rules are not run",
            _TAKE_OUT,
            done=("false",),
        )
        for side in ("key", "value")
    ),
    *_refused(
        "registry rules that encrypt or change fields are not run, and the data would be published without"
        " them",
        "mask columns with column.mask.*, or leave them out with column.exclude.list",
        "key.converter.rule.<rest>",
        "value.converter.rule.<rest>",
    ),
    *_quiet(
        "events are Avro in the Confluent wire format",
        "name the registry: schema.registry.url",
        "key.converter.<rest>",
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
        "names are always made safe for Avro, and the original name is kept with them",
        _TAKE_OUT,
        "sanitize.field.names",
    ),
    *(
        NotHonoured(
            name,
            "a name is escaped as _uXXXX only where two columns would have one name: else each character that"
            " Avro does not allow becomes _",
            "write avro; the database's own name of a column is wrackline.name in the schema. For topics, and"
            ' the schemas that are named after them: topic.naming = "wrackline_unicode"',
            refused=True,
            done=("avro",),
            mild=("none",),
        )
        for name in ("schema.name.adjustment.mode", "field.name.adjustment.mode")
    ),
    *_quiet(
        "Kafka transactions are always used, and end at the database's commits",
        _TAKE_OUT,
        "exactly.once.support",
        "transaction.boundary",
        "transaction.boundary.interval.ms",
        "offsets.storage.topic",
        "offset.flush.interval.ms",
        "offset.flush.timeout.ms",
    ),
    *_quiet(
        "the log itself contains the schema, so no history topic is kept",
        _TAKE_OUT,
        "schema.history.internal",
        "schema.history.internal.<rest>",
        "database.history.<rest>",
        "snapshot.mode.configuration.based.snapshot.schema",
        "snapshot.mode.configuration.based.snapshot.on.schema.error",
    ),
    *_quiet(
        "memory is limited in bytes, and batches end at the database's commits",
        _TAKE_OUT,
        "max.batch.size",
        "max.queue.size",
        "max.queue.size.in.bytes",
        "poll.interval.ms",
    ),
    *_quiet(
        "a row that can't be carried sets its table aside, or is handled as value.unfit says",
        "set value.unfit, or carry the column as text: column.as.text",
        "errors.log.enable",
        "errors.log.include.messages",
    ),
    NotHonoured(
        "event.converting.failure.handling.mode",
        "a row that can't be carried sets its table aside, or is handled as value.unfit says",
        "set value.unfit: letter sets the row aside, null publishes null for the value",
        done=("fail",),
    ),
    *_quiet(
        "the log or the catalogue itself describes the columns of its rows",
        _TAKE_OUT,
        "inconsistent.schema.handling.mode",
    ),
    *(
        NotHonoured(
            name,
            "events would go to other topics than the setting names",
            f"remove the line, and let the readers read {topic}",
            refused=True,
            done=(done,),
        )
        for name, done, topic in (
            ("topic.delimiter", ".", "the list of topics is printed by: wrackline tables <pipeline.toml>"),
            ("topic.transaction", "transaction", "<topic.prefix>.transaction"),
        )
    ),
    *_quiet(
        "the parts of a topic's name are always separated by dots",
        _TAKE_OUT,
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
        "use lineage.url or lineage.file instead",
        "openlineage.integration.enabled",
        "openlineage.integration.<rest>",
    ),
    *_quiet(
        _OTHERWISE,
        "remove the line",
        "advanced.metrics.enable",
    ),
    *_refused(
        "records would be written with another login, or to other brokers, than the settings say",
        "use kafka.* instead: wrackline settings kafka.",
        "producer.override.sasl.<rest>",
        "producer.override.ssl.<rest>",
        "producer.override.security.protocol",
        "producer.override.bootstrap.servers",
    ),
    *_quiet(
        "Wrackline creates its own producers and topics, with its own settings",
        "see wrackline settings kafka.",
        "producer.override.<rest>",
        "errors.deadletterqueue.<rest>",
    ),
    *_quiet(
        "there is nothing here that it could affect",
        _TAKE_OUT,
        "tasks.max.enforce",
        "connector.plugin.version",
        "snapshot.max.threads.multiplier",
        "query.fetch.size",
        "custom.sanitize.pattern",
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
