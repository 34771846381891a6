"""What data needs to run: pipelines, workers, groups and their REST.  No command line is in here.

    group -> worker -> rest, notices -> services, events, letters -> running, probe -> check
        -> slo, board, spark, lineage, logs, files
    all of them -> ground

In: good pipelines and settings.  Out: running tasks, HTTP answers, and a function for each thing that an
operator can ask.  Nothing here imports `control/cli/` or `control/local/`; the command line, the console and
the control plane use `services/`, `check/`, `probe/` and REST.
"""
