"""A subject is registered, a compatible version added, and both removed."""

from collections.abc import Sequence
from typing import Final

import orjson

from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.producers.contract.trials import Measures, Trial
from wrackline.producers.failpoints import reach
from wrackline.schemas.kafka.schema_registry import RegistryClient, registry_access
from wrackline.schemas.settings.settings_registry import Values

_ID: Final = {"name": "id", "type": "long"}
_NOTE: Final = {"name": "note", "type": ["null", "string"], "default": None}


class RegistryTrial:
    """Tries a pipeline's registry."""

    def __init__(self, values: Values, stamp: str, left: Sequence[str]) -> None:
        """Take also the stamps of assessments that were killed."""
        self._access = registry_access(values)
        self.subject, *self._left = (
            f"{group_of(values.text('name'))}-probe-{one}-value" for one in (stamp, *left)
        )

    def trial(self) -> Trial:
        """Return the trial."""
        return Trial("versions", "a schema is registered, and a compatible version of it", self._run)

    def _run(self) -> Measures:
        with RegistryClient(self._access) as registry:
            for subject in self._left:
                registry.remove(subject)
            try:
                first = registry.register(self.subject, _schema(_ID))
                reach("probe_subject")
                second = registry.register(self.subject, _schema(_ID, _NOTE))
                texts = {first: _schema(_ID), second: _schema(_ID, _NOTE)}
                registry.verify(texts)
            finally:
                registry.remove(self.subject)
        return {"versions": len(texts)}


def _schema(*fields: object) -> str:
    return orjson.dumps({"type": "record", "name": "wrackline_probe", "fields": fields}).decode()
