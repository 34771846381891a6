"""How commands print, and how they end.

In: values of the runtime's services.  Out: lines, documents, and the exit code.

    output            lines for people or one JSON document, and the options that choose
    error_exit        every end of a command: its message and its exit code
    progress          a moving line while a command waits
    screen            lines above one status line, for `wrackline run`
    word_wrap         breaks lines between words, and no command.  Pure
    finding_text      what a check found
    assumption_text   what became of a source's assumptions
    status_text       a pipeline's status for people
    database_text     what it says of its databases: what is wrong first
    status_watch      the same, again every few seconds
    moment_argument   a moment that an argument names
"""
