"""Settings that every pipeline may have and that this version does not act on yet, with what it does instead.

They are declared, so that a file written today stays good; who sets one is told at once.  A row goes when the
part that obeys it comes; a test holds that no setting is neither obeyed nor named here.
"""

from wrackline.schemas.setting import NotYet

_TAKE_OUT = "take the line out"
_ALL_UPDATES = "every update is published"

NOT_YET = (
    NotYet("tasks.max", "a pipeline is one task", _TAKE_OUT, done=("1",)),
    NotYet("skip.messages.without.change", _ALL_UPDATES, _TAKE_OUT, done=("false",)),
    NotYet(
        "notification.enabled.channels",
        "notifications go to the topic of notification.sink.topic.name alone",
        "leave sink, or take the line out",
        done=("", "sink"),
    ),
)
