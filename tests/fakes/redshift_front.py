"""A stand-in for Redshift: a front before a real PostgreSQL, which rewrites what Redshift has of its own.

It proves the driver's wire, transactions, locks and what the statements mean.  It proves nothing of the
layout (DISTKEY), of IAM, of COPY itself, of VARBYTE, or of what Redshift refuses: that stands as data in
tests/unit/consumers/redshift/restrictions.py.

    start-up   parameters that PostgreSQL doesn't know are left out; it calls itself 8.0.2
    Parse      DISTSTYLE, DISTKEY, BACKUP NO go; VARBYTE is bytea; SET of Redshift's own is another SET
    COPY       the files of the prefix are fetched from S3, and copied by the server from one of its own
"""

import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

_UNKNOWN = {
    "client_protocol_version",
    "driver_version",
    "os_version",
    "plugin_name",
    "driver_discovery_version",
    "driver_discovery_os",
    "driver_discovery_client",
}
_COPY = re.compile(r"COPY (\S+) FROM 's3://([^/]+)/([^']+)' IAM_ROLE (?:default|'[^']+') FORMAT AS PARQUET")
_REWRITTEN = (
    (r"\bDISTSTYLE KEY DISTKEY\([^)]*\)|\bBACKUP NO\b", ""),
    (r"VARBYTE\(\d+\)", "bytea"),
    (r"^SET (query_group|error_on_nondeterministic_update|enable_case_sensitive_identifier) ", "SET wl.x "),
)
_CATALOGUE = """
CREATE SCHEMA redshift;
CREATE FUNCTION redshift.getdate() RETURNS timestamp LANGUAGE sql AS 'SELECT now()::timestamp';
CREATE TABLE redshift.clock (made_days_ago int);
INSERT INTO redshift.clock VALUES (0);
CREATE VIEW redshift.pg_class_info AS
SELECT c.*, now()::timestamp - made_days_ago * interval '1 day' AS relcreationtime
FROM pg_class c, redshift.clock;
CREATE VIEW redshift.svv_relation_privileges AS
SELECT n.nspname::varchar AS namespace_name, c.relname::varchar AS relation_name,
       a.privilege_type::varchar AS privilege_type, a.is_grantable AS admin_option,
       CASE a.grantee WHEN 0 THEN 'public' ELSE 'user' END::varchar AS identity_type,
       CASE a.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(a.grantee)::text END::varchar AS identity_name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
WHERE a.grantee <> c.relowner;
GRANT USAGE ON SCHEMA redshift TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA redshift TO PUBLIC;
"""
Fetch = Callable[[str, str], list[Path]]  # a bucket and a prefix to files


class RedshiftFront:
    """A server in a thread, before one database."""

    def __init__(self, dsn: str, fetch: Fetch, folder: Path) -> None:
        self.dsn, self._fetch, self._folder = dsn, fetch, folder
        self._fields = psycopg.conninfo.conninfo_to_dict(dsn)
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute(_CATALOGUE)
            name = self._fields["dbname"]
            admin.execute(f'ALTER DATABASE "{name}" SET search_path TO redshift, public'.encode())
            admin.execute(f'ALTER DATABASE "{name}" SET extra_float_digits TO 0'.encode())
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.create_connection((str(self._fields["host"]), int(str(self._fields["port"]))))
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # messages are small and many
        with client, server:
            try:
                body = _startup(client)
                server.sendall(struct.pack(">i", len(body) + 4) + body)
                answers = threading.Thread(target=self._answer, args=(server, client), daemon=True)
                answers.start()
                while True:
                    kind, body = _message(client)
                    if kind == b"P":
                        name, text, rest = body.split(b"\0", 2)
                        body = name + b"\0" + self._rewrite(text.decode()).encode() + b"\0" + rest
                    server.sendall(kind + struct.pack(">i", len(body) + 4) + body)
            except (OSError, EOFError):
                for one in (client, server):
                    _shut(one)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while True:
                kind, body = _message(server)
                if kind == b"S" and body.startswith(b"server_version\0"):
                    body = b"server_version\x008.0.2\0"  # the driver reads it as a number
                client.sendall(kind + struct.pack(">i", len(body) + 4) + body)
        except (OSError, EOFError):
            for one in (client, server):
                _shut(one)

    def _rewrite(self, text: str) -> str:
        if copy := _COPY.fullmatch(text):
            return self._copied(*copy.groups())
        for part, other in _REWRITTEN:
            text = re.sub(part, other, text)
        return text

    def _copied(self, table: str, bucket: str, prefix: str) -> str:
        """Write the rows of the files as a text that the server reads."""
        copied = self._folder / f"{uuid4().hex}.copy"
        with copied.open("w") as lines:
            for file in self._fetch(bucket, prefix):
                _write_lines(pq.read_table(file), lines)
        copied.chmod(0o644)
        return f"COPY {table} FROM '{copied}'"


def _write_lines(table: pa.Table, lines: Any) -> None:
    escapes = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
    for row in table.to_pylist():
        cells = (
            "\\N"
            if one is None
            else "\\\\x" + one.hex()
            if isinstance(one, bytes)
            else str(one).translate(escapes)
            for one in row.values()
        )
        lines.write("\t".join(cells) + "\n")


def _startup(client: socket.socket) -> bytes:
    """Read the first message, without what PostgreSQL doesn't know."""
    body = _exactly(client, struct.unpack(">i", _exactly(client, 4))[0] - 4)
    if struct.unpack(">i", body[:4])[0] == 80877103:  # TLS is asked for
        client.sendall(b"N")
        body = _exactly(client, struct.unpack(">i", _exactly(client, 4))[0] - 4)
    parts = body[4:].split(b"\0")
    pairs = [(parts[at], parts[at + 1]) for at in range(0, len(parts) - 1, 2) if parts[at]]
    kept = b"".join(name + b"\0" + value + b"\0" for name, value in pairs if name.decode() not in _UNKNOWN)
    return body[:4] + kept + b"\0"


def _message(source: socket.socket) -> tuple[bytes, bytes]:
    kind = _exactly(source, 1)
    return kind, _exactly(source, struct.unpack(">i", _exactly(source, 4))[0] - 4)


def _exactly(source: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        part = source.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
