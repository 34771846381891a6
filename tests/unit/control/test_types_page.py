"""docs/types.md says what the code does."""

from pathlib import Path

from wrackline.control.pages.types_page import page
from wrackline.schemas.tables.types import Kind

PAGE = Path(__file__).parents[3] / "docs" / "types.md"


def test_the_committed_page_is_what_the_code_prints() -> None:
    assert PAGE.read_text() == page(), (
        "write it again: python -m wrackline.control.pages.types_page docs/types.md"
    )


def test_every_kind_has_a_line() -> None:
    lines = page().splitlines()
    assert all(any(line.startswith(f"| {kind.value} |") for line in lines) for kind in Kind)
