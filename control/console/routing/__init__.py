"""The console as one router: what a worker serves.

console_routes    the pages of pipelines and tables, and the routers of the other rooms
"""
