"""An assessment that tries it: each server does once what the pipeline would ask of it.

In: a pipeline's settings, and the findings of the check.  Out: one plain document.  Nothing is left behind;
what a run that was killed, or could not drop its table, has left is removed by a run an hour later.

    assess           all of it, as one document; also in a child process for REST
    pipeline_trials  the trials of one pipeline, in order
    trial_runs       runs one trial; its error becomes a finding
    rows_trial       one chunk of some tables, read and encoded
    kafka_trial      a topic, a transaction that is committed, one that is aborted
    registry_trial   a subject, and a compatible version of its schema
    target_trial     a table, ten rows, a column
    assumption_trials   a source's assumptions, which `check --probe` tries
    clocks           which machines' clocks differ.  Pure
    forecast         how long the first read takes, and what is kept meanwhile.  Pure
    verdict          which findings are accepted, and the exit code.  Pure
    mending          runs the fixes of findings, and looks at each again
"""
