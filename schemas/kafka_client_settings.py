"""Which settings of the Kafka client (librdkafka) a pipeline may set, as `kafka.<name>`.

An allow-list, because some names load a library, run a command or fetch an address that whoever writes
the configuration chooses; and some belong to exactly-once delivery and are ours alone.
"""

from wrackline.schemas.setting import Declared, Importance, Need, NotHonoured, Setting
from wrackline.schemas.setting_kinds import Kind, Validator, at_least, between, matching, not_empty, one_of

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
    kind: Kind,
    doc: str,
    default: str | None = None,
    validator: Validator | None = None,
) -> Setting:
    importance = _IMPORTANCE.get(name, Importance.LOW)
    return Setting(f"kafka.{name}", kind, doc, default, importance, GROUP, validator=validator)


_PORT = r"(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
_BROKER = (
    r"(?:(?:PLAINTEXT|SSL|SASL_PLAINTEXT|SASL_SSL)://)?"
    rf"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::{_PORT})?"
)
_BROKERS = matching(rf"{_BROKER}(?:\s*,\s*{_BROKER})*", "host:port, several with commas between")

_BOOTSTRAP = Setting(
    "kafka.bootstrap.servers",
    Kind.STRING,
    "The brokers to begin with: host:port, several with commas between.",
    None,
    Importance.HIGH,
    GROUP,
    required=True,
    validator=_BROKERS,
)

_SASL = ("sasl_plaintext", "sasl_ssl", "SASL_PLAINTEXT", "SASL_SSL")
_TLS = ("ssl", "sasl_ssl", "SSL", "SASL_SSL")
_BY_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# a token goes to whoever answers there: TLS says who that is, and the own machine needs none
_ENDPOINT = matching(
    r"https://[^\s/@?#]+(?:[/?]\S*)?|http://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?(?:[/?]\S*)?",
    "an https:// address without user and password; http:// only for this machine itself",
)


def _file(name: str, doc: str) -> Setting:
    return Setting(
        f"kafka.{name}",
        Kind.STRING,
        f"{doc} It lies in one of secrets.allow.folders.",
        None,
        Importance.LOW,
        GROUP,
        validator=not_empty,
        file=True,
    )


_SECURITY = (
    _client(
        "security.protocol",
        Kind.STRING,
        "How to speak with the brokers.",
        "plaintext",
        one_of("plaintext", "ssl", "sasl_plaintext", "sasl_ssl", "PLAINTEXT", "SSL", *_SASL[2:]),
    ),
    _client(
        "sasl.mechanism",
        Kind.STRING,
        "How to log in.",
        None,
        one_of(*_BY_PASSWORD, "OAUTHBEARER", "GSSAPI"),
    ),
    _client("sasl.username", Kind.STRING, "The name to log in with.", None, not_empty),
    _client("sasl.password", Kind.PASSWORD, "The password to log in with.", None, not_empty),
    _client(
        "sasl.oauthbearer.method",
        Kind.STRING,
        "How OAUTHBEARER gets its token: from an endpoint, as OpenID Connect says; there is no other way.",
        None,
        one_of("oidc"),
    ),
    _client("sasl.oauthbearer.client.id", Kind.STRING, "Who we are at the token endpoint.", None, not_empty),
    _client(
        "sasl.oauthbearer.client.secret", Kind.PASSWORD, "Our secret at the token endpoint.", None, not_empty
    ),
    _client(
        "sasl.oauthbearer.token.endpoint.url",
        Kind.STRING,
        "Where tokens are given out: an https:// address, or http:// on this machine.",
        None,
        _ENDPOINT,
    ),
    _client("sasl.oauthbearer.scope", Kind.STRING, "The scope to ask a token for.", None, not_empty),
    _client(
        "sasl.oauthbearer.extensions",
        Kind.STRING,
        "What a broker is told beside the token: name=value, several with commas between.",
        None,
        matching(r"[A-Za-z]+=[^,\s]+(?:,[A-Za-z]+=[^,\s]+)*", "name=value, several with commas between"),
    ),
    _file("https.ca.location", "The file with the authorities that sign the token endpoint."),
    _client("sasl.kerberos.service.name", Kind.STRING, "The brokers' name in Kerberos.", "kafka", not_empty),
    _client("sasl.kerberos.principal", Kind.STRING, "Our name in Kerberos.", None, not_empty),
    _file("sasl.kerberos.keytab", "The file with our Kerberos keys."),
    _file("ssl.ca.location", "The file with the authorities that sign brokers; the system's own without it."),
    _file("ssl.certificate.location", "The file with our certificate."),
    _file("ssl.key.location", "The file with our private key."),
    _client("ssl.key.password", Kind.PASSWORD, "What unlocks our private key."),
    _file("ssl.keystore.location", "The PKCS#12 file with our key."),
    _client("ssl.keystore.password", Kind.PASSWORD, "What unlocks the PKCS#12 file."),
    _client(
        "ssl.cipher.suites", Kind.STRING, "The ciphers to offer, as OpenSSL names them.", None, not_empty
    ),
    _client(
        "ssl.endpoint.identification.algorithm",
        Kind.STRING,
        "Whether a broker's certificate must bear its host name; none only where you trust the network.",
        "https",
        one_of("https", "none"),
    ),
)

# what would be silently without effect: a log-in that never happens, a key that nobody is shown
_NEEDS = (
    Need("kafka.security.protocol", "kafka.sasl.mechanism", when=_SASL),
    Need("kafka.sasl.mechanism", "kafka.security.protocol", among=_SASL[:2]),
    *(
        Need("kafka.sasl.mechanism", f"kafka.sasl.{part}", when=_BY_PASSWORD)
        for part in ("username", "password")
    ),
    *(
        Need("kafka.sasl.mechanism", f"kafka.sasl.oauthbearer.{part}", when=("OAUTHBEARER",))
        for part in ("client.id", "client.secret", "token.endpoint.url")
    ),
    Need("kafka.ssl.ca.location", "kafka.security.protocol", among=_TLS[:2]),
    Need("kafka.ssl.certificate.location", "kafka.ssl.key.location"),
    Need("kafka.ssl.key.location", "kafka.ssl.certificate.location"),
    Need("kafka.ssl.certificate.location", "kafka.security.protocol", among=_TLS[:2]),
    Need("kafka.ssl.keystore.location", "kafka.security.protocol", among=_TLS[:2]),
)

_CONNECTION = (
    _client(
        "client.dns.lookup",
        Kind.STRING,
        "Which addresses of a name to try.",
        None,
        one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    ),
    _client("client.rack", Kind.STRING, "Our rack, so that a near replica is read.", None, not_empty),
    _client("broker.address.family", Kind.STRING, "Which addresses to use.", None, one_of("any", "v4", "v6")),
    _client("socket.timeout.ms", Kind.INT, "How long a request may take.", "10000", between(10, 300_000)),
    _client(
        "socket.connection.setup.timeout.ms",
        Kind.INT,
        "How long a connection may take.",
        None,
        between(1000, 2_147_483_647),
    ),
    _client("socket.keepalive.enable", Kind.BOOLEAN, "Whether TCP looks after idle connections.", "true"),
    _client(
        "socket.send.buffer.bytes",
        Kind.INT,
        "The socket's send buffer; 0 is the system's.",
        None,
        between(0, 100_000_000),
    ),
    _client(
        "socket.receive.buffer.bytes",
        Kind.INT,
        "The socket's receive buffer; 0 is the system's.",
        None,
        between(0, 100_000_000),
    ),
    _client(
        "connections.max.idle.ms",
        Kind.INT,
        "When an idle connection is closed; 0 is never.",
        None,
        at_least(0),
    ),
    _client(
        "reconnect.backoff.ms",
        Kind.INT,
        "The first wait before connecting again.",
        None,
        between(0, 3_600_000),
    ),
    _client(
        "reconnect.backoff.max.ms",
        Kind.INT,
        "The longest wait before connecting again.",
        None,
        between(0, 3_600_000),
    ),
    _client(
        "retry.backoff.ms",
        Kind.INT,
        "The first wait before a request is repeated.",
        "500",
        between(1, 300_000),
    ),
    _client(
        "retry.backoff.max.ms",
        Kind.INT,
        "The longest wait before a request is repeated.",
        "1000",
        between(1, 300_000),
    ),
    _client(
        "metadata.max.age.ms",
        Kind.INT,
        "How old what we know of the brokers may grow.",
        None,
        between(1, 86_400_000),
    ),
    _client(
        "topic.metadata.refresh.interval.ms",
        Kind.INT,
        "How often the brokers are asked for topics.",
        None,
        between(-1, 3_600_000),
    ),
)

_PRODUCING = (
    _client(
        "compression.type",
        Kind.STRING,
        "How batches are compressed.",
        "lz4",
        one_of("none", "gzip", "snappy", "lz4", "zstd"),
    ),
    _client(
        "compression.level",
        Kind.INT,
        "How hard to compress; -1 is the codec's own choice.",
        None,
        between(-1, 12),
    ),
    _client("linger.ms", Kind.DOUBLE, "How long a batch waits to fill.", "5", between(0, 900_000)),
    _client("batch.size", Kind.INT, "How large a batch may grow, in bytes.", None, between(1, 2_147_483_647)),
    _client(
        "batch.num.messages", Kind.INT, "How many records a batch may hold.", None, between(1, 1_000_000)
    ),
    _client(
        "message.max.bytes",
        Kind.INT,
        "The largest record; must fit max.row.bytes.",
        None,
        between(1000, 1_000_000_000),
    ),
    _client(
        "queue.buffering.max.kbytes",
        Kind.INT,
        "Memory for records not yet sent.",
        "131072",
        between(1, 2_147_483_647),
    ),
    _client(
        "queue.buffering.max.messages",
        Kind.INT,
        "Records not yet sent; 0 is no limit.",
        None,
        between(0, 2_147_483_647),
    ),
    _client(
        "transaction.timeout.ms",
        Kind.INT,
        "When brokers end the transaction of a worker that died; readers of its partitions wait as long.",
        "60000",
        between(1000, TRANSACTION_TIMEOUT_MAX),
    ),
    _client(
        "message.timeout.ms",
        Kind.INT,
        "How long a record may wait; less than transaction.timeout.ms.",
        "45000",
        between(1000, TRANSACTION_TIMEOUT_MAX),
    ),
    _client(
        "request.timeout.ms",
        Kind.INT,
        "How long a broker may wait for its replicas.",
        None,
        between(1, 900_000),
    ),
    _client(
        "statistics.interval.ms",
        Kind.INT,
        "How often the client's own figures are taken.",
        "1000",
        between(0, 86_400_000),
    ),
)

_READING = (
    _client(
        "fetch.min.bytes",
        Kind.INT,
        "How much a broker gathers before it answers.",
        None,
        between(1, 100_000_000),
    ),
    _client("fetch.max.bytes", Kind.INT, "The most a broker answers with.", None, between(0, 2_147_483_135)),
    _client("fetch.wait.max.ms", Kind.INT, "How long a broker gathers.", None, between(0, 300_000)),
    _client(
        "max.partition.fetch.bytes",
        Kind.INT,
        "The most of one partition in an answer.",
        None,
        between(1, 1_000_000_000),
    ),
)

# of a worker in a group, so they are given in the group's file
MEMBER = (
    _client(
        "session.timeout.ms",
        Kind.INT,
        "When a silent worker of the group counts as dead.",
        "6000",
        between(1000, 60_000),
    ),
    _client(
        "heartbeat.interval.ms",
        Kind.INT,
        "How often a worker says that it lives; by default a third of that time, 1000 at most.",
        None,
        between(1, 3_600_000),
    ),
)
AT_MOST_OF_MEMBERS = (("kafka.heartbeat.interval.ms", "kafka.session.timeout.ms"),)

_OURS = "exactly-once delivery needs our value"
_CODE = "it makes the worker run code, a command or a request that the configuration chooses"
_TAKE_OUT = "take the line out"


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
    _refused(
        "debug", "the client's debug log shows records", "look at the metrics; or run kcat -d beside it"
    ),
    _refused("log_level", "the client's log may show records"),
    _refused(
        "enable.ssl.certificate.verification",
        "a broker that nobody verified may be anybody",
        "name the authority: kafka.ssl.ca.location",
    ),
    *(
        _refused(name, "key material does not stand in a configuration", f"give its file: kafka.{instead}")
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
    NotHonoured(one.name, "a pipeline's clients join no group", "give it in the group's file")
    for one in MEMBER
)

# what a consumer does not take, and what a producer does not
PRODUCING = frozenset(setting.name.removeprefix("kafka.") for setting in _PRODUCING)
READING = frozenset(setting.name.removeprefix("kafka.") for setting in (*_READING, *MEMBER))

SECRET = frozenset(s.name.removeprefix("kafka.") for s in _SECURITY if s.type is Kind.PASSWORD)

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
