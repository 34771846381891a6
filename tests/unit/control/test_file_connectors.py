"""The pipelines of a worker's files, as REST and the console ask for them."""

import pytest

from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR
from wrackline.control.runtime.worker.file_connectors import FileConnectors
from wrackline.schemas.errors import WracklineError


def test_a_name_that_there_is_not_is_refused_with_its_own_error() -> None:
    with pytest.raises(WracklineError) as refused:
        FileConnectors({}, print).standing("nobody")
    assert refused.value.code == NO_CONNECTOR.code


def test_a_worker_by_files_is_the_only_member() -> None:
    crew = FileConnectors({}, print)
    crew.worker = "here:8083"
    assert [(one.name, one.slots, one.leads) for one in crew.members()] == [("here:8083", None, False)]
