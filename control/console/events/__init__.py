"""The screen of a table's events: a list, and one event column by column.

In: one bounded look at Kafka.  Out: a page; only for users that may see values of rows.

    events_routes     the route
    events_page       the list, and what leads on from it
    event_panel       one event: before, after, where it comes from
"""
