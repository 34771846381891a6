"""Which settings of the Kafka client (librdkafka) a pipeline may set, as `kafka.<name>`.

An allow-list, because some names load a library, run a command or fetch an address that the writer of the
configuration chooses; and some belong to exactly-once delivery and are only ours.
"""

from wrackline.schemas.settings.setting import Declared, Importance, NotHonoured, Requirement, Setting
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    Validator,
    at_least,
    between,
    matching,
    not_empty,
    one_of,
)

GROUP = "Kafka"
TRANSACTION_TIMEOUT_MAX = 900_000  # the broker's own limit

_IMPORTANCE = {
    "security.protocol": Importance.HIGH,
    "sasl.mechanism": Importance.HIGH,
    "sasl.username": Importance.HIGH,
    "sasl.password": Importance.HIGH,
    "compression.type": Importance.MEDIUM,
    "transaction.timeout.ms": Importance.MEDIUM,
}


def _client(
    name: str,
    kind: SettingKind,
    doc: str,
    default: str | None = None,
    validator: Validator | None = None,
    *,
    host: bool = False,
) -> Setting:
    importance = _IMPORTANCE.get(name, Importance.LOW)
    return Setting(f"kafka.{name}", kind, doc, default, importance, GROUP, validator=validator, host=host)


_PORT = r"(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
_BROKER = (
    r"(?:(?:PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL)://)?"
    rf"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::{_PORT})?"
)
_BROKERS = matching(rf"{_BROKER}(?:\s*,\s*{_BROKER})*", "host:port, several separated by commas")

_BOOTSTRAP = Setting(
    "kafka.bootstrap.servers",
    SettingKind.STRING,
    "The brokers to connect to first: host:port, several separated by commas.",
    None,
    Importance.HIGH,
    GROUP,
    required=True,
    validator=_BROKERS,
    host=True,
)

_SASL = ("sasl_plaintext", "sasl_ssl", "SASL_PLAINTEXT", "SASL_SSL")
_TLS = ("ssl", "sasl_ssl", "SSL", "SASL_SSL")
_BY_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# a token goes to the server at that address: TLS proves which server it is, and this machine needs no proof
_ENDPOINT = matching(
    r"https://[^\s/@?#]+(?:[/?]\S*)?|http://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?(?:[/?]\S*)?",
    "an https:// address without user and password; http:// only for this machine itself",
)


def _file(name: str, doc: str) -> Setting:
    return Setting(
        f"kafka.{name}",
        SettingKind.STRING,
        f"{doc} It must be in one of secrets.allow.folders.",
        None,
        Importance.LOW,
        GROUP,
        validator=not_empty,
        file=True,
    )


_SECURITY = (
    _client(
        "security.protocol",
        SettingKind.STRING,
        "The protocol to use with the brokers.",
        "plaintext",
        one_of("plaintext", "ssl", "sasl_plaintext", "sasl_ssl", "PLAINTEXT", "SSL", *_SASL[2:]),
    ),
    _client(
        "sasl.mechanism",
        SettingKind.STRING,
        "How to log in.",
        None,
        one_of(*_BY_PASSWORD, "OAUTHBEARER", "GSSAPI"),
    ),
    _client("sasl.username", SettingKind.STRING, "The name to log in with.", None, not_empty),
    _client("sasl.password", SettingKind.PASSWORD, "The password to log in with.", None, not_empty),
    _client(
        "sasl.oauthbearer.method",
        SettingKind.STRING,
        "How OAUTHBEARER gets its token: from an OpenID Connect endpoint; there is no other way.",
        None,
        one_of("oidc"),
    ),
    _client(
        "sasl.oauthbearer.client.id",
        SettingKind.STRING,
        "The client id for the token endpoint.",
        None,
        not_empty,
    ),
    _client(
        "sasl.oauthbearer.client.secret",
        SettingKind.PASSWORD,
        "The client secret for the token endpoint.",
        None,
        not_empty,
    ),
    _client(
        "sasl.oauthbearer.token.endpoint.url",
        SettingKind.STRING,
        "The token endpoint: an https:// address, or http:// on this machine.",
        None,
        _ENDPOINT,
        host=True,
    ),
    _client(
        "sasl.oauthbearer.scope", SettingKind.STRING, "The scope to request for a token.", None, not_empty
    ),
    _client(
        "sasl.oauthbearer.extensions",
        SettingKind.STRING,
        "Extensions to send to a broker with the token: name=value, several separated by commas.",
        None,
        matching(r"[A-Za-z]+=[^,\s]+(?:,[A-Za-z]+=[^,\s]+)*", "name=value, several separated by commas"),
    ),
    _file("https.ca.location", "The file with the certificate authorities that sign the token endpoint."),
    _client(
        "sasl.kerberos.service.name",
        SettingKind.STRING,
        "The brokers' service name in Kerberos.",
        "kafka",
        not_empty,
    ),
    _client("sasl.kerberos.principal", SettingKind.STRING, "Our principal in Kerberos.", None, not_empty),
    _file("sasl.kerberos.keytab", "The file with our Kerberos keys (keytab)."),
    _file(
        "ssl.ca.location",
        "The file with the certificate authorities that sign brokers; without it, the system's.",
    ),
    _file("ssl.certificate.location", "The file with our certificate."),
    _file("ssl.key.location", "The file with our private key."),
    _client("ssl.key.password", SettingKind.PASSWORD, "The password of our private key."),
    _file("ssl.keystore.location", "The PKCS#12 file with our key."),
    _client("ssl.keystore.password", SettingKind.PASSWORD, "The password of the PKCS#12 file."),
    _client(
        "ssl.cipher.suites",
        SettingKind.STRING,
        "The ciphers to offer, as OpenSSL names them.",
        None,
        not_empty,
    ),
    _client(
        "ssl.endpoint.identification.algorithm",
        SettingKind.STRING,
        "Whether a broker's certificate must contain its host name; use none only where you trust the"
        " network.",
        "https",
        one_of("https", "none"),
    ),
)

# what would silently have no effect: a log-in that never happens, a key that no server is shown
_NEEDS = (
    Requirement("kafka.security.protocol", "kafka.sasl.mechanism", when=_SASL),
    Requirement("kafka.sasl.mechanism", "kafka.security.protocol", among=_SASL[:2]),
    *(
        Requirement("kafka.sasl.mechanism", f"kafka.sasl.{part}", when=_BY_PASSWORD)
        for part in ("username", "password")
    ),
    *(
        Requirement("kafka.sasl.mechanism", f"kafka.sasl.oauthbearer.{part}", when=("OAUTHBEARER",))
        for part in ("client.id", "client.secret", "token.endpoint.url")
    ),
    Requirement("kafka.ssl.ca.location", "kafka.security.protocol", among=_TLS[:2]),
    Requirement("kafka.ssl.certificate.location", "kafka.ssl.key.location"),
    Requirement("kafka.ssl.key.location", "kafka.ssl.certificate.location"),
    Requirement("kafka.ssl.certificate.location", "kafka.security.protocol", among=_TLS[:2]),
    Requirement("kafka.ssl.keystore.location", "kafka.security.protocol", among=_TLS[:2]),
)

_CONNECTION = (
    _client(
        "client.dns.lookup",
        SettingKind.STRING,
        "Which of a name's addresses to try.",
        None,
        one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    ),
    _client(
        "client.rack", SettingKind.STRING, "Our rack, so that a replica nearby is read.", None, not_empty
    ),
    _client(
        "broker.address.family",
        SettingKind.STRING,
        "Which address family to use.",
        None,
        one_of("any", "v4", "v6"),
    ),
    _client(
        "socket.timeout.ms", SettingKind.INT, "How long a request may take.", "10000", between(10, 300_000)
    ),
    _client(
        "socket.connection.setup.timeout.ms",
        SettingKind.INT,
        "How long it may take to connect.",
        None,
        between(1000, 2_147_483_647),
    ),
    _client("socket.keepalive.enable", SettingKind.BOOLEAN, "Whether TCP checks idle connections.", "true"),
    _client(
        "socket.send.buffer.bytes",
        SettingKind.INT,
        "The socket's send buffer; 0 is the system's.",
        None,
        between(0, 100_000_000),
    ),
    _client(
        "socket.receive.buffer.bytes",
        SettingKind.INT,
        "The socket's receive buffer; 0 is the system's.",
        None,
        between(0, 100_000_000),
    ),
    _client(
        "connections.max.idle.ms",
        SettingKind.INT,
        "When an idle connection is closed; 0 is never.",
        None,
        at_least(0),
    ),
    _client(
        "reconnect.backoff.ms",
        SettingKind.INT,
        "The first wait before reconnecting.",
        None,
        between(0, 3_600_000),
    ),
    _client(
        "reconnect.backoff.max.ms",
        SettingKind.INT,
        "The longest wait before reconnecting.",
        None,
        between(0, 3_600_000),
    ),
    _client(
        "retry.backoff.ms",
        SettingKind.INT,
        "The first wait before a request is repeated.",
        "500",
        between(1, 300_000),
    ),
    _client(
        "retry.backoff.max.ms",
        SettingKind.INT,
        "The longest wait before a request is repeated.",
        "1000",
        between(1, 300_000),
    ),
    _client(
        "metadata.max.age.ms",
        SettingKind.INT,
        "The largest age of the client's metadata about the brokers.",
        None,
        between(1, 86_400_000),
    ),
    _client(
        "topic.metadata.refresh.interval.ms",
        SettingKind.INT,
        "How often the brokers are asked for their topics.",
        None,
        between(-1, 3_600_000),
    ),
)

_PRODUCING = (
    _client(
        "compression.type",
        SettingKind.STRING,
        "How batches are compressed.",
        "lz4",
        one_of("none", "gzip", "snappy", "lz4", "zstd"),
    ),
    _client(
        "compression.level",
        SettingKind.INT,
        "How hard to compress; -1 is the codec's own choice.",
        None,
        between(-1, 12),
    ),
    _client("linger.ms", SettingKind.DOUBLE, "How long a batch waits to fill.", "5", between(0, 900_000)),
    _client(
        "batch.size",
        SettingKind.INT,
        "How large a batch may grow, in bytes.",
        None,
        between(1, 2_147_483_647),
    ),
    _client(
        "batch.num.messages",
        SettingKind.INT,
        "How many records a batch may hold.",
        None,
        between(1, 1_000_000),
    ),
    _client(
        "message.max.bytes",
        SettingKind.INT,
        "The largest record; must fit max.row.bytes.",
        None,
        between(1000, 1_000_000_000),
    ),
    _client(
        "queue.buffering.max.kbytes",
        SettingKind.INT,
        "Memory for records not yet sent.",
        "131072",
        between(1, 2_147_483_647),
    ),
    _client(
        "queue.buffering.max.messages",
        SettingKind.INT,
        "Records not yet sent; 0 is no limit.",
        None,
        between(0, 2_147_483_647),
    ),
    _client(
        "transaction.timeout.ms",
        SettingKind.INT,
        "When brokers end the transaction of a worker that died; readers of its partitions wait as long.",
        "60000",
        between(1000, TRANSACTION_TIMEOUT_MAX),
    ),
    _client(
        "message.timeout.ms",
        SettingKind.INT,
        "How long a record may wait; less than transaction.timeout.ms.",
        "45000",
        between(1000, TRANSACTION_TIMEOUT_MAX),
    ),
    _client(
        "request.timeout.ms",
        SettingKind.INT,
        "How long a broker may wait for its replicas.",
        None,
        between(1, 900_000),
    ),
    _client(
        "statistics.interval.ms",
        SettingKind.INT,
        "How often the client collects its own statistics, which say after a slow commit whether it was"
        " repeated; at 0 or more than 3000, each slow commit costs a new producer.",
        "1000",
        between(0, 86_400_000),
    ),
)

_READING = (
    _client(
        "fetch.min.bytes",
        SettingKind.INT,
        "How much data a broker gathers before it answers.",
        None,
        between(1, 100_000_000),
    ),
    _client(
        "fetch.max.bytes", SettingKind.INT, "The largest answer of a broker.", None, between(0, 2_147_483_135)
    ),
    _client("fetch.wait.max.ms", SettingKind.INT, "How long a broker gathers.", None, between(0, 300_000)),
    _client(
        "max.partition.fetch.bytes",
        SettingKind.INT,
        "The largest part of an answer for one partition.",
        None,
        between(1, 1_000_000_000),
    ),
)

# of a worker in a group, so they are given in the group's file
MEMBER = (
    _client(
        "session.timeout.ms",
        SettingKind.INT,
        "After how long a silent worker of the group counts as dead.",
        "6000",
        between(1000, 60_000),
    ),
    _client(
        "heartbeat.interval.ms",
        SettingKind.INT,
        "How often a worker sends a heartbeat to the group; by default a third of that time, at most 1000.",
        None,
        between(1, 3_600_000),
    ),
)
AT_MOST_OF_MEMBERS = (("kafka.heartbeat.interval.ms", "kafka.session.timeout.ms"),)

_OURS = "exactly-once delivery needs Wrackline's own value"
_CODE = "with it the worker would run code, a command or a request that the configuration chooses"
_TAKE_OUT = "remove the line"


def _refused(name: str, why: str, hint: str = _TAKE_OUT) -> NotHonoured:
    return NotHonoured(f"kafka.{name}", why, hint, refused=True)


_REFUSED = (
    *(
        _refused(name, _CODE)
        for name in (
            "plugin.library.paths",
            "ssl.engine.location",
            "ssl.engine.id",
            "ssl.providers",
            "sasl.kerberos.kinit.cmd",
            "sasl.oauthbearer.config",
            "enable.sasl.oauthbearer.unsecure.jwt",
            "https.ca.pem",
        )
    ),
    _refused(
        "sasl.jaas.config", _CODE, "set kafka.sasl.mechanism, kafka.sasl.username and kafka.sasl.password"
    ),
    _refused("debug", "the client's debug log shows records", "use the metrics; or run kcat -d separately"),
    _refused("log_level", "the client's log may show records"),
    _refused(
        "enable.ssl.certificate.verification",
        "a broker whose certificate is not verified may be an impostor",
        "name the certificate authority: kafka.ssl.ca.location",
    ),
    *(
        _refused(name, "key material does not belong in a configuration", f"name its file: kafka.{instead}")
        for name, instead in (
            ("ssl.key.pem", "ssl.key.location"),
            ("ssl.certificate.pem", "ssl.certificate.location"),
            ("ssl.ca.pem", "ssl.ca.location"),
        )
    ),
    *(
        _refused(name, _OURS)
        for name in (
            "transactional.id",
            "enable.idempotence",
            "acks",
            "request.required.acks",
            "max.in.flight",
            "max.in.flight.requests.per.connection",
            "retries",
            "message.send.max.retries",
            "enable.gapless.guarantee",
            "partitioner",
            "isolation.level",
            "enable.auto.commit",
            "enable.auto.offset.store",
            "auto.offset.reset",
            "group.id",
            "group.instance.id",
            "group.protocol",
            "partition.assignment.strategy",
            "allow.auto.create.topics",
            "client.id",
        )
    ),
)

_OF_A_GROUP = tuple(
    NotHonoured(one.name, "a pipeline's clients do not join a group", "set it in the group's file")
    for one in MEMBER
)

# what a consumer does not take, and what a producer does not
PRODUCING = frozenset(setting.name.removeprefix("kafka.") for setting in _PRODUCING)
READING = frozenset(setting.name.removeprefix("kafka.") for setting in (*_READING, *MEMBER))

SECRET = frozenset(s.name.removeprefix("kafka.") for s in _SECURITY if s.type is SettingKind.PASSWORD)

KAFKA_CLIENT = Declared(
    settings=(_BOOTSTRAP, *_SECURITY, *_CONNECTION, *_PRODUCING, *_READING),
    not_honoured=(*_REFUSED, *_OF_A_GROUP),
    at_most=(
        ("kafka.message.timeout.ms", "kafka.transaction.timeout.ms"),
        ("kafka.socket.timeout.ms", "kafka.transaction.timeout.ms"),
        ("kafka.retry.backoff.ms", "kafka.retry.backoff.max.ms"),
        ("kafka.reconnect.backoff.ms", "kafka.reconnect.backoff.max.ms"),
    ),
    needs=_NEEDS,
)
