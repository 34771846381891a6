"""Checks of a pipeline before it runs; nothing is changed anywhere.

In: a file, or a map of settings.  Out: the pipeline, and findings.

    file_check      only the settings, without a server
    server_check    the source, Kafka and the schema registry
    target_check    the target
    assessment      all of it, also in a child process for REST
    child_answer    one answer from a process of its own
    pipeline_file   the good pipeline of a file, or the error that carries its findings
"""
