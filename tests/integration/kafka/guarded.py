"""A broker with a listener for every way to protect one, the files to get in with, and a giver of tokens."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.fixtures.certificates import Pair, issue
from wrackline.control.local.stack import kafka
from wrackline.control.local.stack.kafka import ExtraListener
from wrackline.control.local.stack.servers import HOST, Broker

USER, PASSWORD = "shop", "c4n4ry'hunter2 \\x"
CLIENT, SECRET = "wrackline", "c4n4ry-t0ken"
KEY_PASSWORD = "c4n4ry-k3y"
_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Guarded:
    """The broker, and the settings that get in at each of its doors."""

    broker: Broker
    folder: Path
    tokens: str  # the endpoint's address

    def at(self, way: str, **more: str) -> dict[str, str]:
        """What a pipeline says below `kafka.`; in a name, _ stands for a dot."""
        protocol = "sasl_ssl" if way in ("plain", "scram", "oauth") else "ssl"
        return {
            "bootstrap.servers": f"{HOST}:{self.broker.ways[way]}",
            "security.protocol": protocol,
            "ssl.ca.location": self.file("ca.crt"),
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def by_password(self, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
        way = "plain" if mechanism == "PLAIN" else "scram"
        return self.at(way, sasl_mechanism=mechanism, sasl_username=USER, sasl_password=password)

    def by_token(self, secret: str = SECRET) -> dict[str, str]:
        return self.at(
            "oauth",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauthbearer_client_id=CLIENT,
            sasl_oauthbearer_client_secret=secret,
            sasl_oauthbearer_scope="kafka",
            sasl_oauthbearer_token_endpoint_url=self.tokens,
        )

    def by_certificate(self, name: str = "client", password: str = KEY_PASSWORD) -> dict[str, str]:
        return self.at(
            "mtls",
            ssl_certificate_location=self.file(f"{name}.crt"),
            ssl_key_location=self.file(f"{name}.key"),
            ssl_key_password=password,
        )

    def file(self, name: str) -> str:
        return str(self.folder / name)


@contextmanager
def guarded(folder: Path) -> Iterator[Guarded]:
    """Start the broker and the endpoint."""
    authority, stranger = issue("authority", authority=True), issue("a stranger", authority=True)
    authority.write(folder, "ca")
    stranger.write(folder, "other_ca")
    issue(CLIENT, by=authority).write(folder, "client", KEY_PASSWORD)
    issue(CLIENT, by=stranger).write(folder, "strange", KEY_PASSWORD)
    broker = kafka.broker(folder, ways=_ways(folder, authority))
    broker.process.start()
    endpoint = ThreadingHTTPServer((HOST, 0), Tokens)
    thread = threading.Thread(target=endpoint.serve_forever, daemon=True)
    thread.start()
    try:
        _add_users(broker)
        yield Guarded(broker, folder, f"http://{HOST}:{endpoint.server_port}/token")
    finally:
        endpoint.shutdown()
        endpoint.server_close()
        thread.join()
        broker.process.stop()


def _ways(folder: Path, authority: Pair) -> list[ExtraListener]:
    def identity(name: str, host: str, days: int = 30) -> dict[str, str]:
        pair = issue(name, by=authority, hosts=(host,), days=days)
        parts = [Path(file).read_text() for file in pair.write(folder, name)]
        store = folder / f"{name}.pem"
        store.write_text("".join(parts))
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}

    good = identity("broker", HOST)
    trusting = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(folder / "ca.crt")}
    password = PASSWORD.replace("\\", "\\\\\\\\")  # once for JAAS, once for the properties file
    plain = f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{password}";'
    scram = f"{_LOGIN}.scram.ScramLoginModule required;"
    tokens = f'{_LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
    return [
        ExtraListener("tls", "SSL", good),
        ExtraListener("mtls", "SSL", good | trusting | {"ssl.client.auth": "required"}),
        ExtraListener("elsewhere", "SSL", identity("elsewhere", "elsewhere.example")),
        ExtraListener("expired", "SSL", identity("expired", HOST, days=-2)),
        _login("plain", good, {"PLAIN": plain}),
        _login("scram", good, {"SCRAM-SHA-256": scram, "SCRAM-SHA-512": scram}),
        _login("oauth", good, {"OAUTHBEARER": tokens}),
    ]


def _login(name: str, identity: dict[str, str], modules: dict[str, str]) -> ExtraListener:
    modules_of = {f"{mechanism.lower()}.sasl.jaas.config": module for mechanism, module in modules.items()}
    return ExtraListener(
        name, "SASL_SSL", identity | {"sasl.enabled.mechanisms": ",".join(modules)} | modules_of
    )


def _add_users(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        wanted = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
        for future in admin.alter_user_scram_credentials([wanted]).values():
            future.result()


@dataclass(frozen=True)
class _Answer:
    status: int
    body: dict[str, object] = field(default_factory=dict)


class Tokens(BaseHTTPRequestHandler):
    """Gives an unsigned token to a client that knows the secret; the broker's own test validator takes it."""

    def do_POST(self) -> None:
        """Answer a request for a token; a wrong one gets its own secret thrown back, as some do."""
        asked = self.rfile.read(int(self.headers["content-length"])).decode()
        _, _, code = self.headers.get("authorization", "").partition(" ")
        client, _, secret = base64.b64decode(code).decode().partition(":")
        if (client, secret) == (CLIENT, SECRET) and "scope=kafka" in asked:
            answer = _Answer(200, {"access_token": _token(), "token_type": "bearer", "expires_in": 300})
        else:
            reason = f"{secret} is not the secret"
            answer = _Answer(401, {"error": "invalid_client", "error_description": reason})
        body = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _token() -> str:
    now = int(time.time())
    parts = ({"alg": "none"}, {"sub": USER, "scope": "kafka", "iat": now, "exp": now + 300})
    texts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join([*texts, ""])
