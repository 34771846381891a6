"""`wrackline init`: a pipeline's file, written from answers.

init_command   the verb: flags, and questions on a terminal
questions      what a source and a target require, from their declared settings
answers        one answer: valid as the setting's value, and no secret
"""
