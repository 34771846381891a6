"""Wrackline as a keeper of a table in a lake: `wrackline run` and `wrackline consume`, at their defaults."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from bench.lake_copy import Copy, Source
from bench.ours.pipeline import Wanted, running
from bench.peers.slot import held
from bench.workloads.lineitem import TABLE

_LIVE = "(select * from {table} where not _wl_deleted and _wl_missing is null)"


@contextmanager
def keeper(target: str, source: Source) -> Iterator[Copy]:
    """Run both halves into a target of this kind."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    with (
        held(source.at) as slot,
        running(
            source.folder,
            source.at,
            source.bootstrap,
            source.registry,
            Wanted(prefix, slot, TABLE, "initial", target),
        ) as pipeline,
    ):
        pids = [process.pid for process in pipeline.processes.values()]
        yield Copy(pipeline.table(TABLE), pids, pipeline.check, _LIVE)
