"""The pipeline's kafka.* settings as the two clients here want them: librdkafka's and Spark's Java one.

In: the typed values below `kafka.`, named as librdkafka names them, which an allow-list has passed.  Out: the
settings of the client that asks for topics, and the options of Spark's Kafka source.  Java has other names
for some, and wants a log-in as one JAAS line, and key and certificates as text, so executors need no files.
Java decides itself what it has no name for (ciphers as OpenSSL names them, sockets' address family).
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.declared.kafka_client_settings import PRODUCING, READING
from wrackline.schemas.settings.value_kinds import Value

Settings = Mapping[str, Any]

FILE_UNREADABLE = define(
    "consume.file_unreadable",
    OperatorNeeded,
    "the file of kafka.{name} can't be read: {why}",
    hint="correct the path or the file's rights; what the setting means: wrackline settings kafka.{name}",
)

_LOG: Final = logging.getLogger("wrackline.kafka")
_TOKENS: Final = "OAUTHBEARER"
_KERBEROS: Final = "GSSAPI"
_SAME: Final = (
    "bootstrap.servers",
    "sasl.mechanism",
    "sasl.kerberos.service.name",
    "sasl.oauthbearer.token.endpoint.url",
    "ssl.key.password",
    "client.dns.lookup",
    "client.rack",
    "socket.connection.setup.timeout.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "metadata.max.age.ms",
    "fetch.min.bytes",
    "fetch.max.bytes",
    "max.partition.fetch.bytes",
)
_RENAMED: Final = {
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
}
_TEXTS: Final = {
    "ssl.ca.location": ("ssl.truststore.certificates", "ssl.truststore.type"),
    "ssl.certificate.location": ("ssl.keystore.certificate.chain", "ssl.keystore.type"),
    "ssl.key.location": ("ssl.keystore.key", "ssl.keystore.type"),
}
_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    _TOKENS: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    _KERBEROS: "com.sun.security.auth.module.Krb5LoginModule",
}
_OPTIONS: Final = {  # of a JAAS line, by the setting that gives it
    "sasl.username": "username",
    "sasl.password": "password",
    "sasl.oauthbearer.client.id": "clientId",
    "sasl.oauthbearer.client.secret": "clientSecret",
    "sasl.oauthbearer.scope": "scope",
    "sasl.kerberos.principal": "principal",
    "sasl.kerberos.keytab": "keyTab",
}
_CALLBACK: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


def client_settings(given: Mapping[str, Value]) -> Settings:
    """Return what the client that asks for topics and offsets is made with."""
    token = {"sasl.oauthbearer.method": "oidc"} if given.get("sasl.mechanism") == _TOKENS else {}
    others = PRODUCING | READING
    plain = {name: _plain(value) for name, value in given.items() if name not in others}
    return {**token, **plain, "allow.auto.create.topics": False, "logger": _LOG}


def reader_settings(settings: Settings, group: str) -> dict[str, Any]:
    """Return what a client is made with that reads committed records; it names a group and joins none."""
    return {
        **settings,
        "group.id": group,
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,  # what is read ends in a marker, which is not a message
    }


def spark_options(given: Mapping[str, Value]) -> Mapping[str, str]:
    """Return the options of Spark's Kafka source, as Java's client names them."""
    return {f"kafka.{name}": text for name, text in _java_settings(given)}


def _java_settings(given: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        if name in _SAME:
            yield name, _text(value)
        elif name in _RENAMED:
            yield _RENAMED[name], _text(value)
    idle = given.get("connections.max.idle.ms")
    if idle is not None:
        yield "connections.max.idle.ms", _text(idle or -1)  # "never" is 0 to librdkafka, and -1 to Java
    yield from _security_settings(given)


def _security_settings(given: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    for name, (content, kind) in _TEXTS.items():
        if name in given:
            yield content, _content(name, _text(given[name]))
            yield kind, "PEM"
    if "security.protocol" in given:
        yield "security.protocol", _text(given["security.protocol"]).upper()
    if given.get("ssl.endpoint.identification.algorithm") == "none":
        yield "ssl.endpoint.identification.algorithm", ""
    if "ssl.keystore.location" in given:
        yield "ssl.keystore.type", "PKCS12"
        yield "ssl.keystore.location", _text(given["ssl.keystore.location"])
        yield "ssl.keystore.password", _text(given.get("ssl.keystore.password", ""))
    mechanism = given.get("sasl.mechanism")
    if mechanism is not None:
        yield "sasl.jaas.config", _jaas(str(mechanism), given)
    if mechanism == _TOKENS:
        yield "sasl.login.callback.handler.class", _CALLBACK


def _jaas(mechanism: str, given: Mapping[str, Value]) -> str:
    """Write a log-in as Java wants it; a text in it can't end its own quotes."""
    options = {_OPTIONS[name]: _text(value) for name, value in given.items() if name in _OPTIONS}
    if mechanism == _TOKENS:
        pairs = filter(None, _text(given.get("sasl.oauthbearer.extensions", "")).split(","))
        options |= {f"extension_{name}": text for name, _, text in (pair.partition("=") for pair in pairs)}
    flags = " useKeyTab=true storeKey=true" if mechanism == _KERBEROS else ""
    quoted = {
        name: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for name, text in options.items()
    }
    return " ".join([_MODULES[mechanism], f"required{flags}", *(f"{n}={t}" for n, t in quoted.items())]) + ";"


def _content(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise FILE_UNREADABLE(name=name, why="it is not a PEM file") from None
    except OSError as exc:
        raise FILE_UNREADABLE(name=name, why=exc.strerror or "the system refuses") from exc


def _plain(value: Value) -> object:
    return value.reveal() if isinstance(value, Secret) else value


def _text(value: Value) -> str:
    return str(_plain(value))
