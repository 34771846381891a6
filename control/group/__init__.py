"""A group of workers: its connectors are made by REST, and each is run by one of them.

REST -> coordinator -> <group>-configs -> every worker -> the one that owns the connector's slot runs it
                                                      -> <group>-status -> every worker -> REST
"""
