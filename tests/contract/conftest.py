"""A suite's asserts explain themselves as a test's do, though its module is no test."""

import pytest

pytest.register_assert_rewrite("tests.contract.group_suite")
