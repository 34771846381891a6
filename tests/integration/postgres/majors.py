"""The PostgreSQL majors that a test runs on: the chosen one, and with --deep all that are supported here."""

import pytest

from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack

MAJORS = [pytest.param(None, id="chosen"), *(pytest.param(m, marks=pytest.mark.deep) for m in (16, 17, 18))]


def major_of(request: pytest.FixtureRequest) -> int:
    """Return the major that a fixture's parameter names."""
    return int(request.param or request.config.getoption("--postgres"))


def server_of(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """Return that major's server of the session."""
    return stack.postgres(major_of(request))
