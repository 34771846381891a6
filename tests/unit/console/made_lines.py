"""Lines of a log, made by hand."""

from typing import Any

import orjson

from wrackline.control.runtime.ground.times import now_ms

STORY = (
    ("info", "source", "connected", "connected to postgres 17.2 at db-host-1:5432, database shop"),
    ("info", "source", "tables", "24 tables are captured: public.orders, public.items_001, …"),
    ("info", "source", "running", "running: into Kafka at broker1:9092, pid 4711"),
    ("info", "target", "running", "running: into iceberg, pid 4712"),
    ("info", "target", "merged", "shop.public.orders: 1,204 events merged in 0.8 s, 0.9 s late"),
    ("warning", "source", "recovering", "recovering: [kafka.unreachable] broker1:9092 does not answer"),
    ("info", "source", "figures", "90,000 events, 1,512 a second, 14 ms to Kafka, at 6F/1A2B3C4D (epoch 2)"),
    ("error", "target", "stopped", "shop.public.items_004 has stopped: it is kept in another mode"),
)  # fmt: skip


def line(place: int, level: str, half: str, event: str, text: str, **more: Any) -> tuple[int, bytes]:
    """Return a line of the topic."""
    ts_ms = now_ms() - (100 - place) * 1_731
    return place, orjson.dumps(
        {
            "ts_ms": ts_ms,
            "level": level,
            "event": event,
            "pipeline": "shop",
            "half": half,
            "line": text,
            **more,
        }
    )


def some() -> list[tuple[int, bytes]]:
    """Return a line of each kind."""
    made = [line(place, *one) for place, one in enumerate(STORY, 50)]
    error = {"code": "kafka.unreachable", "kind": "Transient", "sentence": "s", "hint": "h"}
    made[5] = line(55, *STORY[5], error=error)
    made[7] = line(57, *STORY[7], table="shop.public.items_004", error={**error, "code": "target.other_mode"})
    return made


def hostile(word: str) -> list[tuple[int, bytes]]:
    """Return lines that anybody may have written."""
    odd: list[Any] = [b"no JSON", b"[]", orjson.dumps({"ts_ms": "now", "line": "x"})]
    return [
        *enumerate(odd, 60),
        line(70, word, word, word, word, table=word, error={"code": word}),
        (71, orjson.dumps({"ts_ms": 1 << 62, "line": word, "error": word, "table": 7, "half": None})),
    ]
