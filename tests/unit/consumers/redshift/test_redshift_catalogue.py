"""What is asked of Redshift's catalogue, without a server."""

from typing import Any

from wrackline.consumers.staged.places import StagedRelation
from wrackline.consumers.staged.service import KeepsColumns
from wrackline.consumers.targets.redshift.service import RedshiftService
from wrackline.consumers.targets.redshift.session import CopyRole


class Catalogue:
    """A session that answers one question."""

    def __init__(self, *rows: tuple[Any, ...]) -> None:
        self.texts: list[str] = []
        self._rows = rows

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        self.texts.append(text)
        return list(self._rows)

    def run(self, text: str) -> None:
        raise AssertionError(text)

    def load(self, *_: object) -> int:
        raise AssertionError

    def commit(self, *_: object) -> bool:
        raise AssertionError

    def close(self) -> None:
        return


SERVICE = RedshiftService(lambda: None, CopyRole(None))


def test_a_column_that_distributes_or_sorts_a_table_is_not_dropped() -> None:
    assert isinstance(SERVICE, KeepsColumns)
    catalogue = Catalogue(("_wl_key",), ("id",))
    assert set(SERVICE.kept_columns(catalogue, StagedRelation("wl", "it's"))) == {"_wl_key", "id"}
    (asked,) = catalogue.texts
    assert "schema_name = 'wl' AND table_name = 'it''s' AND (distkey OR sortkey <> 0)" in asked


def test_a_schema_that_is_there_is_found() -> None:
    assert SERVICE.has_schema(Catalogue((1,)), "wl")
    assert not SERVICE.has_schema(Catalogue(), "wl")
