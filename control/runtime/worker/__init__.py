"""A worker: several pipelines, each half in a process of its own.

In: pipelines' files.  Out: running tasks, log lines, and what REST needs of them.

    worker              starts and supervises the tasks, and opens REST
    task_process        a task's process
    file_tasks          how the tasks of files are started, and dealt again at a restart
    pipeline_tasks      the two tasks of a pipeline, and what they are called
    worker_log          the worker's log lines; keeps which pipelines failed
    file_connectors     the pipelines as REST sees connectors
    position_edits      positions that a client edits
    pipeline_requests   the pipelines' requests, for REST
    pipeline_views      a pipeline's status and assessment, for REST
"""
