"""The console as one router: what a worker serves.

console_routes    the pages of pipelines and tables, and the routes of the other rooms
    bulk_routes       what is asked of several pipelines at once
"""
