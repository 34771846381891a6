"""Sessions of a Spark that runs elsewhere, reached by Spark Connect: `spark.remote = "sc://host:15002"`.

In: the address, and the settings that each session needs.  Out: a session that makes others of its own, as
Spark's `newSession` does, which the client lacks.  It is right because every session has the same settings; a
setting that no session may change is read, and refused where the server has another value.

The server keeps what a session holds until the session is released.  Nobody ends the session of a batch: its
loss is noticed when Python forgets it, and the next new session ends it on the server.
"""

import atexit
import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import cast

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from wrackline.consumers.spark.sessions import EXACT, check_version, is_gone, merge_settings
from wrackline.schemas.errors import OperatorNeeded, Transient, define

try:
    from pyspark.sql.connect.client import SparkConnectClient
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession as ConnectSession
except ImportError as exc:  # PySpark has another error for a module that is not there
    raise ModuleNotFoundError(str(exc), name="pyspark[connect]") from exc

UNREACHABLE = define(
    "spark.remote_unreachable",
    Transient,
    "no Spark Connect server answers at spark.remote",
    hint="start one there: spark-submit --class org.apache.spark.sql.connect.service.SparkConnectServer"
    ' --jars "$(wrackline spark jars <pipeline.toml>)" spark-internal',
    connects=True,
)
SERVERS_OWN = define(
    "spark.remote_setting",
    OperatorNeeded,
    "the server at spark.remote has another {name}, which no session may change",
    hint="start the server with it: spark-submit --conf {name}=<value> ...; or, if the pipeline's file"
    " sets it, remove the line",
)

_OF_A_SERVER = frozenset({"spark.remote", "spark.master", "spark.driver.memory"})
_TELLING = {"spark.sql.pyspark.jvmStacktrace.enabled": "true"}  # a conflict is known by its cause's name
_TRIES, _LONGEST_WAIT_MS = 6, 5_000  # a quarter of a minute in all; the client's own are ten


@contextmanager
def connect(url: str, needed: Mapping[str, str], given: Mapping[str, str]) -> Iterator[SparkSession]:
    """Open a session at the address; it ends with the block, and those that were made from it too."""
    check_version()
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # by it PySpark's functions know for whom they write
    wanted = {
        name: value for name, value in merge_settings(needed, given).items() if name not in _OF_A_SERVER
    }
    lost: SimpleQueue[SparkConnectClient] = SimpleQueue()
    session = _RemoteSession(url, lost)
    ConnectSession._set_default_and_active_session(session)  # noqa: SLF001 - PySpark has types read by its default session
    try:
        session.settings = _configure(session, wanted | EXACT | _TELLING)
        yield cast("SparkSession", session)
    finally:
        _release_lost(lost)
        session.stop()


class _RemoteSession(ConnectSession):
    """A session of the server's, with settings for the sessions that are made from it."""

    def __init__(self, url: str, lost: SimpleQueue[SparkConnectClient]) -> None:
        super().__init__(connection=url)
        self.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES, max_backoff=_LONGEST_WAIT_MS)])
        self._url, self._lost = url, lost
        self.settings: Mapping[str, str] = {}
        weakref.finalize(self, lost.put, self.client).atexit = False

    def newSession(self) -> "_RemoteSession":  # noqa: N802 - Spark's own name
        """Make another session of the same server, with the same settings."""
        _release_lost(self._lost)
        made = _RemoteSession(self._url, self._lost)
        made.settings = self.settings
        for name, value in self.settings.items():
            made.conf.set(name, value)
        return made


def _configure(session: ConnectSession, wanted: Mapping[str, str]) -> dict[str, str]:
    """Set all settings that a session may change; return those, for the others."""
    told = {}
    try:
        for name, value in wanted.items():
            try:
                session.conf.set(name, value)
            except PySparkException as exc:
                if not str(exc.getCondition()).startswith("CANNOT_MODIFY"):
                    raise
                if session.conf.get(name, None) != value:
                    raise SERVERS_OWN(name=name) from exc
            else:
                told[name] = value
    except PySparkException as exc:
        if is_gone(exc):
            gone = UNREACHABLE()
            raise gone from exc
        raise
    return told


def _release_lost(lost: SimpleQueue[SparkConnectClient]) -> None:
    """End on the server what nobody here holds any more."""
    with suppress(Empty):
        while True:
            client = lost.get_nowait()
            atexit.unregister(client._cleanup_ml)  # noqa: SLF001 - it would be kept to the end for a cache that we do not have
            with suppress(PySparkException):
                client.release_session()
            client.close()
