"""Settings that every pipeline may have and that have no effect in this version, with what it does instead.

They are declared, so that a file written today stays valid; a user that sets one gets a report at once.  A
row goes when the part that honours it comes; a test checks that each setting is either honoured or listed
here.
"""

from wrackline.schemas.settings.setting import NotYet

_TAKE_OUT = "remove the line"

NOT_YET = (
    NotYet(
        "tasks.max",
        "without database.names one log is read, by one task: that of one database, or in MySQL and MariaDB"
        " that of the whole server",
        _TAKE_OUT,
        done=("1",),
        unless="database.names",
    ),
    NotYet(
        "notification.enabled.channels",
        "notifications only go to the topic of notification.sink.topic.name",
        "keep only sink, or remove the line",
        done=("", "sink"),
    ),
)
