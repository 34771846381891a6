"""A stand-in for Redshift: a front before a real PostgreSQL, which rewrites what Redshift has of its own.

It proves the driver's wire, transactions, locks and what the statements mean.  It proves nothing of the
layout (DISTKEY), of IAM, of COPY itself, of VARBYTE, or of what Redshift refuses.

    start-up   parameters that PostgreSQL doesn't know are left out; it calls itself 8.0.2
    Parse      DISTSTYLE, DISTKEY, BACKUP NO go; VARBYTE is bytea; SET of Redshift's own is another SET
    COPY       the files of the manifest are fetched from S3, and are an INSERT of their rows.  A text that
               Redshift's types can't hold is an error with a row in sys_load_error_detail
    views      what is asked of Redshift's catalogue stands in a schema of its own
"""

import io
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

Fetch = Callable[[str, str], bytes]  # a bucket and a key to what lies there

_UNKNOWN: Final = {
    "client_protocol_version",
    "driver_version",
    "os_version",
    "plugin_name",
    "driver_discovery_version",
    "driver_discovery_os",
    "driver_discovery_client",
}
_COPY: Final = re.compile(
    r"COPY (\S+) FROM '(s3://[^']+)' IAM_ROLE (?:default|'[^']+') FORMAT AS PARQUET MANIFEST"
)
_REWRITTEN: Final = (
    (r"\bDISTSTYLE KEY DISTKEY\([^)]*\)|\bBACKUP NO\b", ""),
    (r"VARBYTE\(\d+\)", "bytea"),
    (r"FROM_VARBYTE\((\"[^\"]*\"), 'hex'\)", r"encode(\1, 'hex')"),
    (r"^SET (query_group|error_on_nondeterministic_update|enable_case_sensitive_identifier) ", "SET wl.x "),
)
_LONGEST: Final = 65_535  # bytes of a text
_TOO_LONG, _FILE_WRONG = 1204, 15001  # as Redshift numbers them
_TLS: Final = 80877103
_REFUSAL: Final = "DO $$ BEGIN RAISE EXCEPTION 'see sys_load_error_detail' USING ERRCODE = 'XX000'; END $$"
_CATALOGUE: Final = """
CREATE SCHEMA redshift;
CREATE FUNCTION redshift.getdate() RETURNS timestamp LANGUAGE sql AS
    $$ SELECT now() AT TIME ZONE 'UTC' $$;
CREATE TABLE redshift.clock (made_days_ago int);
INSERT INTO redshift.clock VALUES (0);
CREATE VIEW redshift.pg_class_info AS
SELECT c.*, redshift.getdate() - made_days_ago * interval '1 day' AS relcreationtime
FROM pg_class c, redshift.clock;
CREATE VIEW redshift.svv_relation_privileges AS
SELECT n.nspname::varchar AS namespace_name, c.relname::varchar AS relation_name,
       a.privilege_type::varchar AS privilege_type, a.is_grantable AS admin_option,
       CASE a.grantee WHEN 0 THEN 'public' ELSE 'user' END::varchar AS identity_type,
       CASE a.grantee WHEN 0 THEN 'public' ELSE pg_get_userbyid(a.grantee)::text END::varchar AS identity_name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a
WHERE a.grantee <> c.relowner;
CREATE TABLE redshift.sys_load_error_detail (
    session_id int, start_time timestamp, error_code int, column_name char(127));
CREATE TABLE redshift.svv_table_info (
    "schema" varchar, "table" varchar, tbl_rows numeric(38, 0), estimated_visible_rows numeric(38, 0));
CREATE TABLE redshift.svv_redshift_columns (
    database_name varchar, schema_name varchar, table_name varchar, column_name varchar,
    distkey boolean, sortkey int);
CREATE TABLE redshift.refused_roles (arn varchar);
CREATE FUNCTION redshift.has_assumerole_privilege(asked varchar, command varchar) RETURNS boolean
    LANGUAGE sql AS $$ SELECT asked NOT IN (SELECT arn FROM redshift.refused_roles) $$;
GRANT USAGE ON SCHEMA redshift TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA redshift TO PUBLIC;
"""


class LoadFaultError(Exception):
    """A file that Redshift would not load: its number for that, and the column."""

    def __init__(self, number: int, column: str) -> None:
        super().__init__(number, column)
        self.number, self.column = number, column


class RedshiftFront:
    """A server in a thread, before one database."""

    def __init__(self, dsn: str, fetch: Fetch, port: int = 0) -> None:
        """Prepare the database, and listen; port 0 is any that is free."""
        self.dsn, self._fetch = dsn, fetch
        self._fields = psycopg.conninfo.conninfo_to_dict(dsn)
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute(_CATALOGUE)
            name = self._fields["dbname"]
            admin.execute(f'ALTER DATABASE "{name}" SET search_path TO redshift, public'.encode())
            admin.execute(f'ALTER DATABASE "{name}" SET extra_float_digits TO 0'.encode())
        self._server = socket.create_server(("127.0.0.1", port))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=FrontSession(self, client, self._fetch).serve, daemon=True).start()

    def connect(self) -> socket.socket:
        """Connect to the server behind."""
        return socket.create_connection((str(self._fields["host"]), int(str(self._fields["port"]))))

    def log_fault(self, session: int, fault: LoadFaultError) -> None:
        """Write down what COPY did not load."""
        with psycopg.connect(self.dsn, autocommit=True) as admin:
            admin.execute(
                "INSERT INTO redshift.sys_load_error_detail VALUES (%s, redshift.getdate(), %s, %s)",
                [session, fault.number, fault.column],
            )


class FrontSession:
    """One connection of a driver."""

    def __init__(self, front: RedshiftFront, client: socket.socket, fetch: Fetch) -> None:
        self._front, self._client, self._fetch = front, client, fetch
        self._pid = 0  # of the process that serves it behind

    def serve(self) -> None:
        """Pass messages on until one side ends."""
        client, server = self._client, self._front.connect()
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # messages are small and many
        with client, server:
            try:
                _send(server, b"", _startup(client))
                threading.Thread(target=self._answer, args=[server], daemon=True).start()
                while True:
                    kind, body = _message(client)
                    if kind == b"P":
                        name, text, rest = body.split(b"\0", 2)
                        body = name + b"\0" + self._rewrite(text.decode()).encode() + b"\0" + rest
                    _send(server, kind, body)
            except (OSError, EOFError):
                _shut(client, server)

    def _answer(self, server: socket.socket) -> None:
        try:
            while True:
                kind, body = _message(server)
                if kind == b"K":
                    self._pid = struct.unpack(">i", body[:4])[0]
                if kind == b"S" and body.startswith(b"server_version\0"):
                    body = b"server_version\x008.0.2\0"  # the driver reads it as a number
                _send(self._client, kind, body)
        except (OSError, EOFError):
            _shut(self._client, server)

    def _rewrite(self, text: str) -> str:
        if copy := _COPY.fullmatch(text):
            try:
                return self._insertion(*copy.groups())
            except LoadFaultError as fault:
                self._front.log_fault(self._pid, fault)
                return _REFUSAL
        for part, other in _REWRITTEN:
            text = re.sub(part, other, text)
        return text

    def _insertion(self, table: str, manifest: str) -> str:
        """Write the rows of the manifest's files as one INSERT."""
        rows = [
            row
            for entry in json.loads(self._object(manifest))["entries"]
            for row in _rows(self._object(entry["url"]), entry["meta"]["content_length"])
        ]
        if not rows:
            return f"INSERT INTO {table} SELECT * FROM {table} WHERE FALSE"  # noqa: S608 - the name is quoted, here and below
        return f"INSERT INTO {table} VALUES {', '.join(rows)}"  # noqa: S608

    def _object(self, address: str) -> bytes:
        bucket, _, key = address.removeprefix("s3://").partition("/")
        return self._fetch(bucket, key)


def _rows(file: bytes, size: int) -> Iterator[str]:
    if len(file) != size:
        raise LoadFaultError(_FILE_WRONG, "")
    table: pa.Table = pq.read_table(io.BytesIO(file))
    for row in table.to_pylist():
        yield f"({', '.join(_literal(name, cell) for name, cell in row.items())})"


def _literal(column: str, cell: Any) -> str:  # noqa: ANN401 - a cell is what its column holds
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return f"'\\x{cell.hex()}'"
    text = str(cell)
    if isinstance(cell, str) and (len(text.encode()) > _LONGEST or "\0" in text):
        raise LoadFaultError(_TOO_LONG, column)
    return "'" + text.replace("'", "''") + "'"


def _startup(client: socket.socket) -> bytes:
    """Read the first message, without what PostgreSQL doesn't know."""
    body = _exactly(client, struct.unpack(">i", _exactly(client, 4))[0] - 4)
    if struct.unpack(">i", body[:4])[0] == _TLS:
        client.sendall(b"N")
        body = _exactly(client, struct.unpack(">i", _exactly(client, 4))[0] - 4)
    parts = body[4:].split(b"\0")
    pairs = [(parts[at], parts[at + 1]) for at in range(0, len(parts) - 1, 2) if parts[at]]
    kept = b"".join(name + b"\0" + value + b"\0" for name, value in pairs if name.decode() not in _UNKNOWN)
    return body[:4] + kept + b"\0"


def _send(to: socket.socket, kind: bytes, body: bytes) -> None:
    to.sendall(kind + struct.pack(">i", len(body) + 4) + body)


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


def _shut(*both: socket.socket) -> None:
    for one in both:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
