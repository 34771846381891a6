"""The application and its socket.

In: routers and settings.  Out: an open endpoint until the block is left.

    rest_settings       where it listens and which clients it serves; unsafe settings are refused
    endpoint            everything put together
    app                 the application: errors, headers, the paths that have no router
    forward             writes go to the coordinator of a group
    once                requests with an Idempotency-Key are done once
    listener, serving   the socket with its bounds; the HTTP server in a thread
    connection_counts   connections by address
    tls                 certificates in both directions
"""
