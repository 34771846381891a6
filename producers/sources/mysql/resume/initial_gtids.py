"""The GTIDs of all transactions in MySQL's log before the place where we begin to read it.

    gtid_executed, then the log's end P    a dump behind that set:  … G1 … G2 … P | …
                                           all before P  =  the set and G1, G2

Neither the server's set nor its place shows this: a commit enters the log first and `gtid_executed` last, and
may stay between the two as long as a replica does not answer.  The set is read before the place, so it has
nothing from behind the place.  A gap in a position would stay for ever: another server would send the missing
transactions, as if they were new, after all later ones.
"""

from dataclasses import replace

from wrackline.producers.kit.readable import readable
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.events import (
    Frames,
    GtidEvent,
    LogHeartbeatEvent,
    RotateEvent,
    header,
    small_event,
)
from wrackline.producers.sources.mysql.events.gtids import with_one
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_ENDED
from wrackline.producers.sources.mysql.log.log_cursor import LogCursor
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.producers.sources.mysql.log.position import MySqlPosition

_WANTED = frozenset(
    {
        event_kinds.GTID,
        event_kinds.TAGGED_GTID,
        event_kinds.HEARTBEAT,
        event_kinds.HEARTBEAT_V2,
        event_kinds.ROTATE,
    }
)


def add_initial_gtids(start: MySqlPosition, packets: Packets, most_silence: float) -> MySqlPosition:
    """Return the place with the GTIDs of all that is logged before it; the packets begin behind its set."""
    place, frames = LogCursor(replace(start, file=0, offset=0), ""), Frames()
    while (place.number, place.offset) < (start.file, start.offset):
        data, at, end = _next(packets, most_silence)
        end, head, before = frames.body_end(data, at, end), header(data, at), place.offset
        if head.next and not head.artificial:
            place.passed(head.next)
        match small_event(data, at, end) if head.kind in _WANTED else None:
            case GtidEvent(gtid=gtid) if not place.is_behind(start):
                place.gtids = with_one(place.gtids, gtid)
            case RotateEvent(file, offset):
                place.moved(file, offset)
            case LogHeartbeatEvent(_, offset):  # the server has sent all that it has
                place.offset = max(place.offset, offset)
                if place.offset == before:
                    raise LOG_ENDED(reason=f"nothing comes before {start.file}:{start.offset}")
            case _:
                pass
    return replace(start, gtids=place.gtids)


def _next(packets: Packets, most_silence: float) -> tuple[bytes, int, int]:
    while (event := packets.take()) is None:
        if not packets.fill() and not readable([packets], most_silence):
            raise LOG_ENDED(reason=f"it has been silent for {most_silence:g} s")
    return event
