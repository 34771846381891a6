"""Settings that every pipeline may have and that this version does not act on yet, with what it does instead.

They are declared, so that a file written today stays good; who sets one is told at once.  A row goes when the
part that obeys it comes; a test holds that no setting is neither obeyed nor named here.
"""

from wrackline.schemas.setting import NotYet

_NO_SNAPSHOT = "rows that exist already are not read yet, the copy begins with what changes from now on"
_TAKE_OUT = "take the line out"
_ALL_UPDATES = "every update is published"
_NO_SIGNALS = "signals are not obeyed"
_NO_TARGET = "only the demo merges into a target, and in one fixed way"


def _rows(now: str, *names: str) -> tuple[NotYet, ...]:
    return tuple(NotYet(name, now, _TAKE_OUT) for name in names)


NOT_YET = (
    NotYet(
        "snapshot.mode",
        _NO_SNAPSHOT,
        'say so: snapshot.mode = "no_data"; or begin with empty tables',
        done=("no_data",),
        unasked=True,
    ),
    *_rows(
        _NO_SNAPSHOT,
        "snapshot.include.collection.list",
        "snapshot.select.statement.overrides",
        "snapshot.select.statement.overrides.<table>",
        "snapshot.fetch.size",
        "snapshot.max.threads",
        "incremental.snapshot.chunk.size",
        "incremental.snapshot.watermarking.strategy",
    ),
    *_rows(_NO_SIGNALS, "signal.data.collection", "signal.enabled.channels", "signal.kafka.topic"),
    NotYet(
        "read.only",
        "a missing slot is made, and a missing publication where publication.autocreate.mode lets us",
        'make both yourself, and set publication.autocreate.mode = "disabled"',
        done=("false",),
    ),
    NotYet("tasks.max", "a pipeline is one task", _TAKE_OUT, done=("1",)),
    NotYet("skip.messages.without.change", _ALL_UPDATES, _TAKE_OUT, done=("false",)),
    NotYet(
        "unavailable.value.placeholder", "it is null, and the event names the column", _TAKE_OUT, done=("",)
    ),
    *_rows(_NO_TARGET, "target.schema.change.behavior", "target.column.prefix"),
)
