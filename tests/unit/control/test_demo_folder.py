"""The demo empties a folder of its own and touches no other."""

from pathlib import Path

import pytest

from wrackline.control.local.demo.folder import FOLDER_FOREIGN, FOLDER_TAKEN, MARK, hold_folder
from wrackline.schemas.errors import WracklineError


def test_a_folder_is_emptied_and_what_the_demo_leaves_stays(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    for _ in range(2):
        with hold_folder(folder) as own:
            assert [path.name for path in own.iterdir()] == [MARK]
            (own / "servers").mkdir()
            (own / "servers" / "log.txt").write_text("said")
            (own / "pipeline.toml").touch()
            (own / "link").symlink_to(tmp_path)
        assert (folder / "servers" / "log.txt").exists()
    assert tmp_path.exists()


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years")
    with pytest.raises(WracklineError) as refused, hold_folder(tmp_path):
        pytest.fail("it was taken")
    assert refused.value.code == FOLDER_FOREIGN.code
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_running_demo_keeps_its_folder(tmp_path: Path) -> None:
    with hold_folder(tmp_path) as own:
        (own / "data").touch()
        with pytest.raises(WracklineError) as refused, hold_folder(tmp_path):
            pytest.fail("it was taken twice")
        assert refused.value.code == FOLDER_TAKEN.code
        assert (own / "data").exists()
