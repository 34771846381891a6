"""`wrackline tail`: a pipeline's events, decoded, on a terminal.

tail_command      the verb: reads the events of `control/runtime/events/`
event_lines       events -> a line for people
"""
