"""Which errors say that the log does not go on where it was left; a read of all rows mends the copy.

Pure.  A replica that is behind is none of them, for it is waited for; nor is what this version can't read.
"""

from wrackline.producers.sources.mysql.cut_off import CUT_OFF_PUBLISHED, ROLLED_BACK_PUBLISHED
from wrackline.producers.sources.mysql.dump_refusals import LOG_ANOTHER, LOG_PURGED, LOG_TORN
from wrackline.producers.sources.mysql.events import LOG_INCIDENT
from wrackline.producers.sources.mysql.opening import SERVER_CHANGED
from wrackline.producers.sources.mysql.prepared import XA_PURGED, XA_UNKNOWN

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
