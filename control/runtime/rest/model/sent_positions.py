"""Changes of a connector's positions, as Kafka Connect's clients send them.  Pure.

    {"offsets": [{"partition": {"server": "shop1", "database": "shop"}, "offset": {...} or null}]}

In: a body.  Out: a position for each partition, None to remove it.  The source checks the position itself.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from wrackline.control.runtime.rest.model.sent_settings import MOST
from wrackline.schemas.errors import Definite, define

ALTERED: Final = {"message": "The offsets for this connector have been altered successfully"}
RESET: Final = {"message": "The offsets for this connector have been reset successfully"}

NOT_OFFSETS = define(
    "rest.not_offsets",
    Definite,
    "the request's body has no offsets: {why}",
    hint='send them as GET shows them: {{"offsets": [{{"partition": {{...}}, "offset": {{...}}}}]}};'
    " null as an offset removes it",
)
NO_OFFSETS = define(  # the sentence is Connect's
    "rest.no_offsets",
    Definite,
    "Partitions / offsets need to be provided for an alter offsets request",
    hint="send them as GET shows them; DELETE removes all",
)

Edits = list[tuple[Mapping[str, str], object | None]]


def read_edits(body: bytes) -> Edits:
    """Read the changes, or raise."""
    made: Edits = []
    for one in _read_list(body):
        match one:
            case {"partition": dict(partition), "offset": dict() | None as offset} if len(one) == 2:
                if not partition or not all(isinstance(value, str) for value in partition.values()):
                    raise NOT_OFFSETS(why="a partition is not an object of texts")
                made.append((partition, offset))
            case _:
                raise NOT_OFFSETS(why="each is an object of partition and offset, and of nothing else")
    if len({frozenset(partition.items()) for partition, _ in made}) < len(made):
        raise NOT_OFFSETS(why="a partition is named twice")
    return made


def _read_list(body: bytes) -> list[Any]:
    if len(body) > MOST:
        raise NOT_OFFSETS(why=f"it is larger than {MOST} bytes")
    try:
        read = orjson.loads(body)
        orjson.dumps(read)  # orjson reads deeper nesting than it writes
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        raise NOT_OFFSETS(why="it is not JSON") from None
    if not isinstance(read, dict) or set(read) - {"offsets"}:
        raise NOT_OFFSETS(why="it is not an object of offsets alone")
    listed = read.get("offsets") or []
    if not isinstance(listed, list):
        raise NOT_OFFSETS(why="they are no list")
    if not listed:
        nothing = NO_OFFSETS()
        raise nothing
    return listed
