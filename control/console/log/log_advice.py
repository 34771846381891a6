"""How safe a log is, and what to do about it, in words.  Pure.

In: what the source half reports of a database's log.  Out: a badge, and sentences with what to do.
"""

from collections.abc import Sequence
from typing import Final

from wrackline.control.console.page_words import Badge
from wrackline.control.runtime.ground.number_text import duration_text
from wrackline.schemas.kafka.board_records import Document
from wrackline.schemas.message_texts import for_reader

_SOON_S: Final = 3 * 86_400
_NOW_S: Final = 6 * 3_600
SAFE: Final = Badge("safe", "✓", "good")
SOON: Final = Badge("lost soon", "!", "warn")
AT_RISK: Final = Badge("at risk", "!", "bad")
LOST: Final = Badge("lost", "✕", "bad")
UNSEEN: Final = Badge("not seen yet", "○", "idle")
UNSHOWN: Final = Badge("not shown", "○", "idle")
_READ_AGAIN: Final = (
    "The server has removed log that was still needed. Read all rows again: wrackline offsets reset"
    " <pipeline.toml>, and start the pipeline."
)
_LIMITS: Final = {
    "postgres": "max_slot_wal_keep_size",
    "mysql": "binlog_expire_logs_seconds",
    "mariadb": "binlog_expire_logs_seconds",
}


def log_badge(database: Document) -> Badge:
    """Return how safe the log is."""
    left = database["lost_in_s"]
    if database["log"] is None:
        return UNSEEN if database["through_ms"] is None else UNSHOWN
    if database["status"] == "lost":
        return LOST
    if database["status"] == "unreserved" or (left is not None and left < _NOW_S):
        return AT_RISK
    return SOON if left is not None and left < _SOON_S else SAFE


def log_advice(kind: str, database: Document, *, silent: bool) -> Sequence[str]:
    """Return what to do; nothing where all is well."""
    badge, limit = log_badge(database), _LIMITS.get(kind, "the server's limit for its log")
    if badge is UNSEEN:
        return ["The server is asked every few seconds while the source half runs."]
    if badge is UNSHOWN:
        return ["This server does not show what it keeps for a pipeline; a check looks at its limits."]
    if badge is LOST:
        return [for_reader(_READ_AGAIN)]
    said = ["The source half is silent, so nothing confirms the log: see why it ended."] if silent else []
    if badge in (SOON, AT_RISK):
        left = database["lost_in_s"]
        when = f"in {duration_text(left * 1000)}" if left is not None else "at the server's next checkpoint"
        said.append(
            f"If nothing is confirmed meanwhile, what is needed may be removed {when}. Raise {limit} on the"
            " server to gain time, and see why the source half is behind."
        )
    if kind == "postgres" and database["spare_bytes"] is None:
        said.append(
            "Nothing limits what the slot keeps, so a pipeline that stays stopped fills the server's disk. To"
            " bound it: ALTER SYSTEM SET max_slot_wal_keep_size = '100GB'; SELECT pg_reload_conf()"
        )
    return said
