"""Which errors say that the log does not continue where it was left; a read of all rows repairs the copy.

Pure.  A replica that is behind is not one of them, because we wait for it; nor is a log that this version
can't read.
"""

from wrackline.producers.sources.mysql.events.events import LOG_INCIDENT
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_ANOTHER, LOG_PURGED, LOG_TORN
from wrackline.producers.sources.mysql.resume.log_opening import SERVER_CHANGED
from wrackline.producers.sources.mysql.transactions.discarded import CUT_OFF_PUBLISHED, ROLLED_BACK_PUBLISHED
from wrackline.producers.sources.mysql.transactions.xa_parts import XA_PURGED, XA_UNKNOWN

LOST = frozenset(
    one.code
    for one in (
        CUT_OFF_PUBLISHED,
        LOG_ANOTHER,
        LOG_INCIDENT,
        LOG_PURGED,
        LOG_TORN,
        ROLLED_BACK_PUBLISHED,
        SERVER_CHANGED,
        XA_PURGED,
        XA_UNKNOWN,
    )
)
