"""The screen of a pipeline's log: the newest lines of both halves, and those that come.

In: the lines that the worker has in memory.  Out: pages, and the newest rows of a page that follows.

    lines_routes    the route
    lines_page      which lines are shown, and how; pure
"""
