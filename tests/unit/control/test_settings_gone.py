"""Settings that were found good once and are so no longer: whoever needs their values says the fault."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.group_suite import CONFIG
from tests.fakes.group import DEFAULTS
from wrackline.control.crew import committed, topics_of
from wrackline.control.installed import Installed
from wrackline.control.offsets import desk
from wrackline.control.rest.desk import PipelineDesk
from wrackline.control.status import gather
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipeline import Pipeline, check
from wrackline.schemas.secret_refs import Allowed, Resolver

GONE = {**DEFAULTS, **CONFIG, "name": "shop", "database.password": "${env:WRACKLINE_GONE}"}


def positions_of(pipeline: Pipeline) -> None:
    with desk(pipeline):
        pass


def requests_of(pipeline: Pipeline) -> PipelineDesk:
    return PipelineDesk(pipeline, print)


@pytest.mark.parametrize("look", [topics_of, committed, gather, positions_of, requests_of])
def test_its_fault_is_the_answer(look: Callable[[Pipeline], Any]) -> None:
    pipeline = check(GONE, Installed(), Resolver(Allowed(), {}))
    with pytest.raises(WracklineError) as told:
        look(pipeline)
    assert told.value.code == "secret.not_found", "an address of REST would else answer with 500"
