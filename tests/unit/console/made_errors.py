"""Counts of errors, made by hand: of several days, codes and halves."""

from wrackline.control.console.errors.errors_past import Counts
from wrackline.control.runtime.ground.times import now_ms
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.kafka.past.error_days import DAY_MS, ErrorCount, ErrorDay

KAFKA = "Kafka at broker1:9092 does not answer"


def past_counts(word: str = "", at_ms: int | None = None) -> Counts:
    """Return the errors of some days; `word` ends every text."""
    now = at_ms or now_ms()

    def count(
        back: int, code: str, times: int, sentence: str, kind: str = "Transient"
    ) -> tuple[ErrorDay, ErrorCount]:
        last = now - back * DAY_MS - 40_000
        one = ErrorCount(times, last - 1_000 * times, last, kind, sentence + word)
        return ErrorDay(now // DAY_MS - back, code + word), one

    return {
        Half.SOURCE: [
            *(count(back, "kafka.unreachable", times, KAFKA) for back, times in ((6, 4), (4, 61), (0, 2))),
            count(1, "pg.slot_lost", 1, "replication slot wrackline_shop is lost", "OperatorNeeded"),
            count(9, "pg.too_old", 1, "not shown any more"),
        ],
        Half.TARGET: [
            count(0, "kafka.unreachable", 1_000, f"{KAFKA} to the target half"),
            count(2, "iceberg.commit_conflict", 12, "another writer has committed to lake.orders"),
        ],
    }
