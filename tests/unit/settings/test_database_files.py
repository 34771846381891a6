"""The files that protect the way to the database lie where files may be read, and nowhere else."""

from pathlib import Path

import pytest

from tests.unit.settings.shop import GOOD
from wrackline.control.installed import Installed
from wrackline.schemas.pipeline import check
from wrackline.schemas.secret_refs import Allowed, Resolver


@pytest.mark.parametrize("name", ["sslrootcert", "sslcert", "sslkey"])
def test_a_file_outside_the_allowed_folders_is_refused_by_its_setting(tmp_path: Path, name: str) -> None:
    given = {**GOOD, f"database.{name}": f"{tmp_path}/x"}
    [problem] = check(given, Installed(), Resolver(Allowed(), {})).problems
    assert (problem.setting, problem.error.code) == (f"database.{name}", "secret.not_allowed")
    assert str(tmp_path) in problem.error.hint
    assert not check(given, Installed(), Resolver(Allowed(folders=(tmp_path,)), {})).problems
