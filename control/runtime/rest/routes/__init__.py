"""What each path of the worker's REST does.

In: connectors and services, by protocols.  Out: routers for the application.

    connector_routes   Kafka Connect's paths that read, pause, resume, restart and stop
    write_routes       Kafka Connect's paths that create, change and remove, in a group
    log_routes         the lines that both halves have logged
    offset_routes      a connector's earlier positions, and the way back to them
    plugin_routes      what is installed, and validation of settings
    request_routes     requests for existing rows
    view_routes        our own views: tables, lag, assessment
    answer_cache       few threads for questions that take long, and one answer at a time
    table_routes       wishes for single tables
    event_routes       a table's events, decoded
    shape_routes       a table's shapes
    lineage_routes     which column goes where, now and at each earlier time
    letter_routes      dead letters: what is set aside, merged again, dropped
"""
