"""A group of workers: REST creates its connectors, and one of the workers runs each of them.

REST -> coordinator -> <group>-configs -> every worker -> the owner of the connector's slot runs it
                                                       -> <group>-status -> every worker -> REST

group_worker, group_settings      one worker of a group; the group's file
group_connectors                  the connectors as REST sees and changes them
group_drafts                      the drafts of connectors
worker_tasks                      the tasks whose slots this worker owns
config_records, status_records    the records of both topics and their fold; pure
slots                             which slot a new task gets; pure
coordinator_writer                the only writer of <group>-configs
follower, member, threads         reads both topics; membership; threads whose errors end the worker
"""
