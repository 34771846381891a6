"""Positions and log: where the source half continues, and how long the server keeps what it needs.

In: the source half's board and its history in memory.  Out: a page.

    log_routes    the page's address
    rewind_routes    earlier positions, and the way back to one
    rewind_page   what going back would do; pure
    log_page      what it shows; pure
    log_advice    what to do about a log, in words; pure
"""
