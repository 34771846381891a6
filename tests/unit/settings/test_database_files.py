"""The files that protect the way to the database lie where files may be read, and nowhere else."""

import re
from pathlib import Path

import pytest

from tests.unit.settings.shop import GOOD
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.settings.secret_refs import ALLOW_VARIABLE, Allowed, Resolver


@pytest.mark.parametrize("name", ["sslrootcert", "sslcert", "sslkey"])
def test_a_file_outside_the_allowed_folders_is_refused_by_its_setting(tmp_path: Path, name: str) -> None:
    """A-DRIVER-03."""
    given = {**GOOD, f"database.{name}": f"{tmp_path}/x"}
    [problem] = check(given, Installed(), Resolver(Allowed(), {})).problems
    assert (problem.setting, problem.error.code) == (f"database.{name}", "secret.not_allowed")
    allowed = re.search(f"{ALLOW_VARIABLE}='([^']*)'", problem.error.hint)
    assert allowed is not None
    mended = Allowed.from_environment({ALLOW_VARIABLE: allowed[1]})
    assert not check(given, Installed(), Resolver(mended, {})).problems


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("sslrootcert", "system", []),
        ("sslrootcert", "/etc/ssl/certs/ca-certificates.crt", []),
        ("sslrootcert", "/usr/local/share/ca-certificates/shop.crt", []),
        ("sslrootcert", "/etc/ssl/../passwd", ["secret.not_allowed"]),
        ("sslrootcert", "systems", ["secret.not_allowed"]),
        ("sslcert", "system", ["secret.not_allowed"]),
        ("sslkey", "/etc/ssl/private/us.key", ["secret.not_allowed"]),
    ],
)
def test_the_systems_own_authorities_need_not_be_allowed(name: str, value: str, found: list[str]) -> None:
    given = {**GOOD, f"database.{name}": value}
    problems = check(given, Installed(), Resolver(Allowed(), {})).problems
    assert [problem.error.code for problem in problems] == found


def test_a_link_that_leads_out_of_its_folder_is_not_repaired_by_allowing_that_folder(tmp_path: Path) -> None:
    """A-DRIVER-10."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    (inside / "link").symlink_to(outside / "x")
    given = {**GOOD, "database.sslkey": f"{inside}/link"}
    [problem] = check(given, Installed(), Resolver(Allowed(folders=(inside,)), {})).problems
    assert problem.error.code == "secret.not_allowed"
    assert f"dir:{inside}" not in problem.error.hint
    assert str(outside) not in problem.error.hint
