"""The coordinator's pen: the one who may write to `<group>-configs`.

    take    fence whoever wrote before -> say that we write -> hear it ourselves: now all before it is known
    write   one transaction a change, so that a connector is there whole or not at all

Why it is right: all who ever write use one transactional id, so Kafka refuses whoever wrote before; and what
we decide on is read to behind our own first record.
"""

import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from wrackline.control.group.records import Change, Office, office
from wrackline.control.rest.crews import NO_COORDINATOR
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.transaction import Slot, Transactor
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.topics import internal_topics

PATIENCE: Final = 20.0  # seconds for fencing, and for hearing what was written
_SLOWER: Final = 1.5  # than a task's commit may be: a new producer costs more here, and three quarters of the
# wait before a repeat are still less than its jitter leaves of it, four fifths


class Pen:
    """Writes, until somebody else does; one thread at a time has it."""

    def __init__(self, client: Client, group: str) -> None:
        self._client, self._slot, self._group = client, Slot(internal_topics(group).configs, 0), group
        self._transactor: Transactor | None = None
        self.office: Office | None = None

    def take(self, worker: str, url: str, *, users: bool) -> Office:
        """Fence whoever wrote before, and say that we write."""
        self.drop()
        named = self._client.producer(Identity(self._group, worker, 0, 0))
        settings = named | {"transactional.id": f"{self._group}.coordinator"}
        transactor = Transactor(settings, self._slot, time.monotonic, _SLOWER * self._client.slow)
        taken = Office(worker, url, uuid.uuid4().hex, users)
        try:
            transactor.fence(PATIENCE)
            transactor.commit(office(taken), (), ())
        except BaseException:
            transactor.drop()
            raise
        self._transactor, self.office = transactor, taken
        return taken

    def write(self, changes: Sequence[Change]) -> None:
        """Write all of it or nothing; without an office afterwards, it has to be taken anew."""
        if self._transactor is None or self.office is None:
            unknown = NO_COORDINATOR()
            raise unknown
        try:
            self._transactor.commit(office(self.office), (), changes)
        except BaseException:
            self.drop()
            raise
        if self._transactor.doubtful:  # a repeated end of this transaction may reach the next
            with suppress(WracklineError):  # what was asked for is written
                self.take(self.office.worker, self.office.url, users=self.office.users)

    def drop(self) -> None:
        """Write no more."""
        if self._transactor is not None:
            self._transactor.drop()
        self._transactor = self.office = None
