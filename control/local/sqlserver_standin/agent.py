"""Time that passes by itself, and capture jobs that run in it: a demo needs both, and tests have neither."""

import datetime as dt
from threading import Event, Thread
from typing import Self

from wrackline.control.local.sqlserver_standin.model.server import ModelServer

_TICK = 0.02  # s; how old the server's time may be


class Agent:
    """Sets a server's time while its block runs; capture jobs scan once in `scan_every` seconds, or never."""

    def __init__(self, model: ModelServer, scan_every: float | None = None) -> None:
        self._model, self._every = model, scan_every
        self._end = Event()
        self._thread = Thread(target=self._run, name="sqlserver-standin-agent", daemon=True)

    def __enter__(self) -> Self:
        self._model.set_time(dt.datetime.now(dt.UTC))
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        scanned = self._model.now
        while not self._end.wait(_TICK):
            now = dt.datetime.now(dt.UTC)
            if self._every is not None and (now - scanned).total_seconds() >= self._every:
                scanned = now
                self._model.tick(now)
            else:
                self._model.set_time(now)
