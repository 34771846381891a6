"""The worker's REST, compatible with Kafka Connect's.

    server -> routes, contexts, describe, access -> model

In: HTTP requests.  Out: JSON documents.  It knows connectors by a protocol (`model/connectors.py`), not the
worker or the group that runs them.

    model/      connectors as REST knows them, and the documents in both directions
    routes/     what each path does
    contexts/   the paths of CDAP's document
    access/     log-in, roles, passwords, and the hosts that requests may name
    describe/   the OpenAPI document
    server/     the application, its socket, TLS, and forwarding to the coordinator
"""
