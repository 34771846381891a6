"""What Redshift can't hold is known as data, at its exact bounds."""

import pytest

from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.targets.redshift.dialect import DIALECT
from wrackline.consumers.targets.redshift.limits import LIMITS
from wrackline.consumers.targets.redshift.types import NATIVE
from wrackline.schemas.tables.types import Kind

DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("kind", "held", "refused", "why"),
    [
        (Kind.STRING, "é" * 32_767 + "a", "é" * 32_768, "longer than 65535 bytes"),
        (Kind.JSON, "x" * 65_535, "x" * 65_536, "longer than 65535 bytes"),
        (Kind.BYTES, b"x" * 1_024_000, b"x" * 1_024_001, "longer than 1024000 bytes"),
        (Kind.TIME_MICROS, DAY - 1, DAY, "not from 0 to 86399999999"),
        (Kind.DATE, -2_440_588, -2_440_589, "not from -2440588 to 106751990"),
        (Kind.TIMESTAMP_MICROS, -2_440_588 * DAY, -2_440_588 * DAY - 1, "not from"),
    ],
)
def test_a_limit_is_exact(kind: Kind, held: object, refused: object, why: str) -> None:
    limit = LIMITS[kind]
    assert limit.breach(held) is None
    breach = limit.breach(refused)
    assert breach is not None
    assert limit.words(breach).startswith(why)


def test_a_row_of_many_long_texts_is_measured() -> None:
    def limit(texts: int, pictures: int = 0) -> Limit | None:
        return DIALECT.row_limit([LIMITS[Kind.STRING]] * texts + [LIMITS[Kind.BYTES]] * pictures)

    assert limit(61) is None
    assert limit(62) == limit(0, 4) == Limit(most_row_bytes=4_000_000)


def test_every_kind_that_is_text_has_a_limit() -> None:
    assert {kind for kind in Kind if kind not in NATIVE} <= set(LIMITS)
    assert Kind.INT64 not in LIMITS
    assert LIMITS[Kind.STRING].breach(None) is None
