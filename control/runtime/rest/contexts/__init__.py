"""The routes of CDAP's document about replication, for its clients and scripts.

    context_routes    /v1/contexts/{ns}: states, metrics, generations and their positions
    app_routes        /v3/namespaces/{ns}/apps: a connector as an application with one worker
    namespaces        the names by which this worker's connectors are reached
    state_document    what getState answers; pure
    metrics_document  the counts by the document's names; pure

In: connectors and the boards that this worker follows.  Out: routers.  No state is kept here, and only
positions are read from Kafka; all else is answered from memory.
"""
