"""The console's addresses: which page or action each of them is.

In: a request behind the log-in.  Out: a page, or an action that is passed on.

    console_routes    all routes: the pipelines' pages and actions, and those of the other rooms
    bulk_routes       what is asked of several pipelines at once
    login_routes      the log-in and the log-out
"""
