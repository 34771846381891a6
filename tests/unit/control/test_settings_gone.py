"""Settings that were found good once and are so no longer: a command that needs their values reports it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.group_suite import CONFIG
from tests.fakes.group import DEFAULTS
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.services.offsets import open_offsets
from wrackline.control.runtime.services.status import gather_status
from wrackline.control.runtime.worker.file_connectors import committed_offsets, existing_topics
from wrackline.control.runtime.worker.pipeline_requests import PipelineRequests
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.pipeline import Pipeline, check
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

GONE = {**DEFAULTS, **CONFIG, "name": "shop", "database.password": "${env:WRACKLINE_GONE}"}


def positions_of(pipeline: Pipeline) -> None:
    with open_offsets(pipeline):
        pass


def requests_of(pipeline: Pipeline) -> PipelineRequests:
    return PipelineRequests(pipeline, print)


@pytest.mark.parametrize(
    "look", [existing_topics, committed_offsets, gather_status, positions_of, requests_of]
)
def test_its_fault_is_the_answer(look: Callable[[Pipeline], Any]) -> None:
    pipeline = check(GONE, Installed(), Resolver(Allowed(), {}))
    with pytest.raises(WracklineError) as told:
        look(pipeline)
    assert told.value.code == "secret.not_found", "an address of REST would else answer with 500"
