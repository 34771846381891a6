"""What every target promises, on the stand-in for Redshift; the gate tries some of the files beside."""

import pytest

from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import KeylessPromises, KeyPromises
from wrackline.testing.targets.modes_suite import AppendPromises, HardDeletePromises
from wrackline.testing.targets.target_suite import TargetSuite

pytestmark = [pytest.mark.servers, pytest.mark.full]


class TestRedshift(TargetSuite, KeylessPromises, KeyPromises, AppendPromises, HardDeletePromises, DropSuite):
    """Over the world of this folder's conftest."""
