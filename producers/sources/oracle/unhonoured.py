"""Settings of Debezium's connector for Oracle that have no effect here, each with its reason."""

from typing import Final

from wrackline.schemas.settings.setting import NotHonoured

_TAKE_OUT = "remove the line"
_PEM = "name a PEM file with the server's authorities instead: database.ssl.ca"
_LOSES = "changes of long transactions would be lost; each is kept, on disk if it must be"
_PUBLISHES = "the rows that this leaves out would be published"
UNHONOURED_HERE: Final = (
    NotHonoured(
        "database.url",
        "a URL of the Java driver is not read",
        "set database.hostname, database.port and database.dbname, and rac.nodes for a cluster; for TLS:"
        ' database.ssl.mode = "verify_identity"',
        refused=True,
    ),
    NotHonoured(
        "lob.enabled",
        "large objects are copied: where the log lacks a value, the row is read again by its key",
        "set it to true, or remove the line; a column that nobody needs: column.exclude.list",
        done=("true",),
    ),
    NotHonoured(
        "log.mining.strategy",
        "the log is mined with the catalogue of now, and a table whose columns have changed is read again",
        _TAKE_OUT,
        done=("online_catalog",),
    ),
    *(
        NotHonoured(name, _LOSES, _TAKE_OUT, refused=True, done=("0",))
        for name in (
            "log.mining.transaction.retention.ms",
            "log.mining.buffer.transaction.events.threshold",
        )
    ),
    *(
        NotHonoured(
            name, _PUBLISHES, "leave tables out: table.exclude.list; or log.mining.username.exclude.list",
            refused=True,
        )
        for name in (
            "log.mining.username.include.list",
            "log.mining.clientid.include.list",
            "log.mining.clientid.exclude.list",
        )
    ),
    NotHonoured(
        "log.mining.read.only",
        "without writes nothing says how far the current log is complete",
        "mine archived logs alone: log.mining.archive.log.only.mode = true",
        refused=True,
        done=("false",),
    ),
    NotHonoured(
        "capture.mode",
        "the database in database.hostname would be mined, and not another one",
        "name the database to mine: database.hostname",
        refused=True,
        done=("primary",),
    ),
    NotHonoured(
        "log.mining.include.redo.sql",
        "statements, which contain rows' values, are not published: source.redo_sql is null",
        _TAKE_OUT,
        done=("false",),
    ),
    NotHonoured(
        "archive.log.hours",
        "each log since the stored position is mined, because one that is left out would lose changes",
        _TAKE_OUT,
        done=("0",),
    ),
    *(
        NotHonoured(f"driver.{name}", "Java is not used, and its key stores are not read", _PEM)
        for name in ("javax.net.ssl.<rest>", "oracle.net.wallet_location")
    ),
    *(
        NotHonoured(name, why, _TAKE_OUT)
        for name, why in (
            ("driver.<rest>", "the Java driver is not used"),
            ("database.jdbc.driver", "the Java driver is not used"),
            ("database.initial.statements", "custom statements are not run on Wrackline's connections"),
            ("database.query.timeout.ms", "driver.oracle.jdbc.ReadTimeout bounds each call"),
            ("database.out.server.name", "XStream is not used"),
            ("xstream.<rest>", "XStream is not used"),
            ("openlogreplicator.<rest>", "OpenLogReplicator is not used"),
            ("secondary.<rest>", "one database is mined"),
            ("log.mining.readonly.hostname", "one database is mined"),
            ("log.mining.buffer.<rest>", "transactions are kept in memory, and in files beyond 64 MiB"),
            ("log.mining.path.dictionary", "the catalogue itself is asked"),
            ("log.mining.query.filter.mode", "rows of captured owners are asked for"),
            ("log.mining.log.count.min", "the files that a range needs are mined"),
            ("log.mining.batch.size.increment", "the size follows the time that a mining takes"),
            ("log.mining.sleep.time.<rest>", "poll.interval.ms says when the log is mined again"),
            ("log.mining.scn.gap.<rest>", "the size follows the time that a mining takes"),
            ("log.mining.session.max.ms", "each mining ends its session"),
            ("log.mining.window.max.ms", "no transaction is given up"),
            ("log.mining.restart.connection", "a connection is opened again when it is lost"),
            ("internal.<rest>", "they are of the inside of another connector"),
            ("legacy.decimal.handling.strategy", "numbers are what docs/types.md says"),
            ("snapshot.database.errors.max.retries", "a read that fails is always tried again"),
            ("include.schema.comments", "comments of tables and columns are not published"),
            ("table.ignore.builtin", "the server's own tables are never copied"),
            ("poll.dispatch.interval.ms", "changes are handed on as they come"),
            ("statistics.metrics.enabled", "metrics are always there: docs/metrics.md"),
        )
    ),
)  # fmt: skip
