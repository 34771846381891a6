"""A group's drafts: records of `<group>-configs`, which only the coordinator writes.

In: the group's connectors, and what every worker has read.  Out: `Drafts`, as REST needs them.  A draft and
the connector that is made of it are written in one transaction: nobody sees both, or none of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wrackline.control.runtime.group.config_records import Connector, draft_removal
from wrackline.control.runtime.group.group_connectors import GroupConnectors
from wrackline.control.runtime.group.worker_tasks import WorkerTasks
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.control.runtime.rest.model.drafts import existing, refuse_changed, storable
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.kafka.draft_records import NAMESPACE, Draft, StoredDraft, key_of

_STATES: Final = {DesiredState.RUN: "RUNNING", DesiredState.PAUSE: "PAUSED", DesiredState.STOP: "STOPPED"}


class GroupDrafts:
    """The drafts of one group; its own name is another name of the namespace `default`."""

    def __init__(self, group: str, crew: GroupConnectors, hands: WorkerTasks, *, typed_secrets: bool) -> None:
        self.namespaces: Sequence[str] = tuple(dict.fromkeys((NAMESPACE, group)))
        self.typed_secrets = typed_secrets
        self._crew, self._hands = crew, hands

    def stored(self) -> Mapping[str, StoredDraft]:
        """Return what this worker has read."""
        return self._hands.drafts()

    def put(self, draft_id: str, draft: Draft, expected: str | None) -> StoredDraft:
        """Write a record."""
        with self._crew.writing():
            known = self.stored()
            before = refuse_changed(known, draft_id, expected)
            value = storable(known, draft_id, draft)

            def heard(_: Connector | None) -> bool:
                now = self.stored().get(draft_id)
                return now is not None and (before is None or now.tag != before.tag)

            self._crew.write(draft_id, [(key_of(draft_id), value)], heard)
            return self.stored()[draft_id]

    def remove(self, draft_id: str, expected: str | None) -> None:
        """Remove the record."""
        with self._crew.writing():
            existing(self.stored(), draft_id)
            refuse_changed(self.stored(), draft_id, expected)
            self._crew.write(draft_id, [draft_removal(draft_id)], lambda _: draft_id not in self.stored())

    def deploy(
        self, draft_id: str, expected: str | None, good: GoodSettings, wish: DesiredState
    ) -> Mapping[str, Any]:
        """Write the connector, and remove the draft, in one transaction."""
        name = good.config["name"]
        with self._crew.writing():
            existing(self.stored(), draft_id)
            refuse_changed(self.stored(), draft_id, expected)
            made = self._crew.storing(name, good, wish, new=True)
            self._crew.write(name, [*made.changes, draft_removal(draft_id)], made.heard)
        return {"name": name, "state": _STATES[wish]}
