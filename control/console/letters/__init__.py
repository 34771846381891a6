"""The screen of dead letters: grouped by table and reason, and one by one.

In: what the worker's desk found last.  Out: a page, and work that is begun.

    letters_routes    the routes
    letters_page      the groups, the letters, what is being done and what came of it
"""
