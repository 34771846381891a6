"""Why Kafka refuses a login, as librdkafka reports it: beside its calls, in events and in its log.

It takes every refusal for a temporary failure and retries without end, so a call only reports that nothing
answered.  In: those events and lines.  Out: what they mean, who must act and which setting to look at.  No
sentence contains a secret: texts of brokers are redacted.
"""

import logging
import re
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError

from wrackline.schemas.errors import OperatorNeeded, WracklineError, define

_SHUT: Final = 3  # connections that were closed without an answer, before this counts as a refusal

LOGIN_REFUSED = define(
    "kafka.login_refused",
    OperatorNeeded,
    "Kafka rejects the login of {who}: {reason}",
    hint="check kafka.sasl.mechanism, and kafka.sasl.username and kafka.sasl.password; for OAUTHBEARER"
    " kafka.sasl.oauthbearer.client.id, .client.secret and .token.endpoint.url",
    connects=True,
)
TLS_REFUSED = define(
    "kafka.tls_refused",
    OperatorNeeded,
    "no TLS connection to {broker}: {reason}",
    hint="{fix}",
    connects=True,
)
HUNG_UP = define(
    "kafka.hung_up",
    OperatorNeeded,
    "{broker} closes each connection without an answer; we use {protocol}",
    hint="it may expect another kafka.security.protocol: ssl, sasl_plaintext or sasl_ssl",
    connects=True,
)
CLIENT_REFUSED = define(
    "kafka.settings_refused",
    OperatorNeeded,
    "the Kafka client rejects its settings: {reason}",
    hint="correct the kafka.* setting that the message names: wrackline settings; if it is a file, it must"
    " exist and be readable",
    connects=True,
)

_UNSIGNED = (
    "name the authority that signed the broker's certificate: kafka.ssl.ca.location; the certificate must"
    " not have expired and must contain the host name in kafka.bootstrap.servers"
)
_UNKNOWN = (
    "name a certificate that the broker's authority signed: kafka.ssl.certificate.location and"
    " kafka.ssl.key.location"
)
_PLAIN = (
    "the port does not speak TLS: correct kafka.security.protocol, or the port in kafka.bootstrap.servers"
)
_FIXES: Final = (
    ("certificate verify failed", _UNSIGNED),
    ("alert", _UNKNOWN),
    ("PLAINTEXT broker listener", _PLAIN),
    ("wrong version number", _PLAIN),
)
_OTHERWISE = "compare kafka.security.protocol and kafka.ssl.* with the broker's listener"
_PLACE = re.compile(r"^(?:\w+://)?(?P<broker>\S+?)(?:/\w+)?: (?P<reason>.*?)(?: \(after .*\))?$", re.DOTALL)


class LoginErrors:
    """What a client reports beside its answers, as far as it explains why there are none."""

    def __init__(self, protocol: str, clean: Callable[[str], str], log: logging.Logger | None = None) -> None:
        """Take the client's protocol, what redacts a broker's text, and what gets the log."""
        self._protocol, self._clean, self._log = protocol, clean, log
        self.refusal: WracklineError | None = None
        self._shut = 0

    def error(self, error: KafkaError) -> None:
        """Take an event; one that is not a refusal clears the refusal: a broker may be starting."""
        broker, reason = self._parts(error.str())
        if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001 - the client's own name for it
            self.refusal = LOGIN_REFUSED(who=broker, reason=reason)
        elif "SSL" in reason:
            fix = next((fix for sign, fix in _FIXES if sign in reason), _OTHERWISE)
            self.refusal = TLS_REFUSED(broker=broker, reason=reason, fix=fix)
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - the same; it says how many, but not why
            self.refusal, self._shut = None, 0

    def log(self, level: int, form: str, *words: object) -> None:
        """Take a line of its log: only the log says that a connection was closed without an answer."""
        if self._log is not None:
            self._log.log(level, form, *words)
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
