"""The GTIDs of all that MySQL's log holds before the place where we begin to read it.

    gtid_executed, then the log's end P    a dump behind that set:  … G1 … G2 … P | …
                                           all before P  =  the set and G1, G2

Neither the server's set nor its place says this: a commit enters the log first and `gtid_executed` last, and
may stay between the two for as long as a replica does not answer.  The set is asked for before the place, so
it has nothing from behind it.  A position with a gap would never lose it again: another server would send
what is missing, as if it were new, behind all that came later.
"""

import select
from dataclasses import replace

from wrackline.producers.sources.mysql import kinds
from wrackline.producers.sources.mysql.dump_refusals import LOG_ENDED
from wrackline.producers.sources.mysql.events import (
    Frames,
    Heartbeat,
    Rotate,
    TransactionBegun,
    header,
    small_event,
)
from wrackline.producers.sources.mysql.gtids import with_one
from wrackline.producers.sources.mysql.packets import Packets
from wrackline.producers.sources.mysql.place import Place
from wrackline.producers.sources.mysql.position import MySqlPosition

_WANTED = frozenset({kinds.GTID, kinds.TAGGED_GTID, kinds.HEARTBEAT, kinds.HEARTBEAT_V2, kinds.ROTATE})


def completed(start: MySqlPosition, packets: Packets, most_silence: float) -> MySqlPosition:
    """Return the place with all that is logged before it; the packets are of a dump behind its set."""
    place, frames = Place(replace(start, file=0, offset=0), ""), Frames()
    while (place.number, place.offset) < (start.file, start.offset):
        data, at, end = _next(packets, most_silence)
        end, head, before = frames.body_end(data, at, end), header(data, at), place.offset
        if head.next and not head.artificial:
            place.passed(head.next)
        match small_event(data, at, end) if head.kind in _WANTED else None:
            case TransactionBegun(gtid=gtid) if not place.is_behind(start):
                place.gtids = with_one(place.gtids, gtid)
            case Rotate(file, offset):
                place.moved(file, offset)
            case Heartbeat(_, offset):  # the server has sent what there is
                place.offset = max(place.offset, offset)
                if place.offset == before:
                    raise LOG_ENDED(reason=f"nothing comes before {start.file}:{start.offset}")
            case _:
                pass
    return replace(start, gtids=place.gtids)


def _next(packets: Packets, most_silence: float) -> tuple[bytes, int, int]:
    while (event := packets.take()) is None:
        if not packets.fill() and not select.select([packets], [], [], most_silence)[0]:
            raise LOG_ENDED(reason=f"it has said nothing for {most_silence:g} s")
    return event
