"""The screen of a table's shapes: its versions, and what differs between any two.

In: one bounded look at the schema registry.  Out: a page.

    shapes_routes     the route
    shapes_page       the versions, and the difference of two
"""
