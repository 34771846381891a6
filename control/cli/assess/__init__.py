"""`wrackline assess`: a gate before a deployment.

In: a pipeline's file.  Out: what was tried, found, accepted and mended, and the exit code of the verdict.

    assess_command    the verb
    assessment_text   the same for people
"""
