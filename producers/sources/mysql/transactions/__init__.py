"""One transaction of the log: its frame, its end, and rows that do not count at their place.

In: events that the decoder passes on.  Out: frames for rows, and which rows count.
All is pure, except `xa_part_dump`.

    transaction        the open transaction and what its events have in common
    discarded          rows that the server rolled back although they are in its log
    xa_parts           XA transactions, whose rows count at XA COMMIT
    xa_part_dump       a second dump that brings the rows of one XA transaction
    unfit_rows         an event with rows that do not fit, cut into steps
"""
