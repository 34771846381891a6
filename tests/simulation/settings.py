"""What a history is like: how large, how wild, with which mark; all of it follows from the seed."""

from dataclasses import dataclass, field, replace

from tests.simulation.chance import Chance
from tests.simulation.database import Writes
from wrackline.producers.contract.source_plugin import MarkKind

MARKS = (MarkKind.SIGNAL, MarkKind.MESSAGE, MarkKind.FENCE)


@dataclass(frozen=True)
class Settings:
    """One history's."""

    mark: MarkKind = MarkKind.FENCE
    steps: int = 80
    tables: int = 2
    chunk_rows: int = 3
    slice_rows: int = 2
    readers: int = 2
    most_tries: int = 5
    look_at: int = 50  # unproven transactions from which on a check looks for them
    most_bytes: int = 64 << 20  # for all windows
    cuts: float = 0.3  # how often a plan ends a span at a row
    parts: float = 0.3  # how often a Kafka transaction may end inside a source transaction
    crashes: float = 0.03
    fails: float = 0.03
    orders: float = 0.03  # requests, stops, pauses
    losses: float = 0.0  # how often the log is lost, and all tables are asked for again
    bag: bool = False  # whether there is a table without a key beside all others
    late: bool = True  # whether the log reports a shape no sooner than a row needs it
    skipped: str = ""  # operations that are not published
    writes: Writes = field(default_factory=Writes)


def settings_of(seed: int) -> Settings:
    """The settings of a seed: each history leaves some kinds of trouble out, so the others come close."""
    chance = Chance(seed ^ 0x5EED)
    often = chance.happens
    writes = Writes(
        partial=chance.pick((0.0, 0.4, 0.7)),
        key_change=chance.pick((0.0, 0.2, 0.4)),
        delete=chance.pick((0.1, 0.3)),
        hidden=chance.pick((0.0, 0.4, 0.7)),
        shown=chance.pick((0.35, 0.05)),
        truncate=chance.pick((0.0, 0.0, 0.04)),
        alter=chance.pick((0.0, 0.0, 0.05)),
        idle=chance.pick((0.02, 0.2)),
    )
    settings = Settings(
        mark=MARKS[seed % len(MARKS)],
        steps=chance.pick((40, 70, 100)),
        tables=chance.pick((1, 1, 2, 3)),
        chunk_rows=chance.pick((1, 2, 3, 4, 6)),
        slice_rows=1 + chance.below(3),
        readers=1 + chance.below(3),
        most_tries=2 + chance.below(4),
        cuts=chance.pick((0.0, 0.3)),
        parts=chance.pick((0.0, 0.5)),
        crashes=chance.pick((0.0, 0.02, 0.06)),
        fails=chance.pick((0.0, 0.0, 0.05)),
        orders=chance.pick((0.0, 0.02, 0.06)),
        late=often(0.5),
        skipped="d" if often(0.08) else "",
        writes=writes,
    )
    writes = replace(writes, spoil=chance.pick((0.0, 0.0, 0.0, 0.0, 0.02)))
    settings = replace(settings, writes=writes)
    return replace(
        settings,
        look_at=chance.pick((1, 3, 50)),
        most_bytes=chance.pick((64 << 20, 64 << 20, 64 << 20, 2_000)),
        losses=chance.pick((0.0, 0.0, 0.0, 0.0, 0.02)),
        bag=often(0.5),
    )
