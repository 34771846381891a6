"""Asks a Kafka whether it lets us in, before anything is begun there, and after an error that may say less.

    settings -> a client of its own -> the list of brokers, or the reason why there is none

librdkafka takes every refusal for a passing trouble and tries again without end; what went wrong it only says
beside the calls, in events and in its log.  So those are heard here, and a table says what each means: who
must act, and which setting to look at.  No sentence holds a secret: texts of brokers are cleaned of them.
"""

import re
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.failures import LOGIN_REFUSED, UNREACHABLE
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define

PATIENCE: Final = 10.0  # seconds for an answer
_SURE: Final = 1.0  # seconds after a refusal, in which another broker may still let us in
_TRY: Final = 0.25
_SHUT: Final = 3  # connections that were shut without a word, before it is taken for an answer

TLS_REFUSED = define(
    "kafka.tls_refused",
    OperatorNeeded,
    "there is no TLS with {broker}: {reason}",
    hint="{mend}",
)
HUNG_UP = define(
    "kafka.hung_up",
    OperatorNeeded,
    "{broker} closes each connection without a word; we speak {protocol}",
    hint="it may want another kafka.security.protocol: ssl, sasl_plaintext or sasl_ssl",
)
CLIENT_REFUSED = define(
    "kafka.settings_refused",
    OperatorNeeded,
    "the Kafka client does not take its settings: {reason}",
    hint="correct the kafka.* setting that is named: wrackline settings; a file must be there, and readable",
)

_UNSIGNED = (
    "name the authority that signed the broker's certificate, which must not have expired and must bear the"
    " host name of kafka.bootstrap.servers: kafka.ssl.ca.location"
)
_UNKNOWN = (
    "give a certificate that the broker's authority signed: kafka.ssl.certificate.location and"
    " kafka.ssl.key.location"
)
_PLAIN = "the port does not speak TLS: kafka.security.protocol, or the port in kafka.bootstrap.servers"
_MENDS: Final = (
    ("certificate verify failed", _UNSIGNED),
    ("alert", _UNKNOWN),
    ("PLAINTEXT broker listener", _PLAIN),
    ("wrong version number", _PLAIN),
)
_OTHERWISE = "compare kafka.security.protocol and kafka.ssl.* with the broker's listener"
_PLACE = re.compile(r"^(?:\w+://)?(?P<broker>\S+?)(?:/\w+)?: (?P<reason>.*?)(?: \(after .*\))?$", re.DOTALL)


class Heard:
    """What a client says beside the answers, as far as it explains that there are none."""

    def __init__(self, client: Client) -> None:
        self._protocol = str(client.given.get("security.protocol", "plaintext"))
        self._clean = client.redactor.clean
        self.refusal: WracklineError | None = None
        self._shut = 0

    def error(self, error: KafkaError) -> None:
        """Take an event; one that is no refusal takes back what was heard: a broker may be starting."""
        broker, reason = self._parts(error.str())
        if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001 - the client's own name of it
            self.refusal = LOGIN_REFUSED(who=broker, reason=reason)
        elif "SSL" in reason:
            mend = next((mend for sign, mend in _MENDS if sign in reason), _OTHERWISE)
            self.refusal = TLS_REFUSED(broker=broker, reason=reason, mend=mend)
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - the same; it says how many, not why
            self.refusal, self._shut = None, 0

    def log(self, level: int, form: str, *words: object) -> None:
        """Take a line of its log: that a connection was shut without a word stands nowhere else."""
        del level
        line = form % words if words else form
        if "Disconnected" not in line:
            return
        self._shut += 1
        if self._shut >= _SHUT and self.refusal is None:
            broker, _ = self._parts(line.rpartition("]: ")[2])
            self.refusal = HUNG_UP(broker=broker, protocol=self._protocol)

    def _parts(self, text: str) -> tuple[str, str]:
        found = _PLACE.match(text)
        broker, reason = (found["broker"], found["reason"]) if found else ("Kafka", text)
        return broker, self._clean(reason)


def knock(client: Client, clock: Callable[[], float], patience: float = PATIENCE) -> None:
    """Return when a broker answers; raise why none does."""
    heard = Heard(client)
    settings = {**client.admin(), "error_cb": heard.error, "logger": heard}
    try:
        admin = AdminClient(settings)
    except KafkaException as exc:
        reason = client.redactor.clean(exc.args[0].str())
    else:
        _wait(admin, heard, client, clock, patience)
        return
    raise CLIENT_REFUSED(reason=reason)  # out here, so that frames that know the secrets go


def _wait(
    admin: AdminClient, heard: Heard, client: Client, clock: Callable[[], float], patience: float
) -> None:
    deadline, refused = clock() + patience, None
    while True:
        try:
            admin.list_topics(timeout=_TRY)
        except KafkaException:
            admin.poll(0)
        else:
            return
        now = clock()
        if heard.refusal is not None:
            refused = refused or now
            if now - refused >= _SURE:
                raise heard.refusal
        if now > deadline:
            raise heard.refusal or UNREACHABLE(
                who=f"at {client.given['bootstrap.servers']}", seconds=patience
            )
