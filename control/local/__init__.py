"""Servers of this machine and the demo.  Not in the wheel; only the demo, tests and bench import it.

processes/   a server as a child process
stack/       the servers themselves
demo/        `./run demo`
sqlserver_standin/  a stand-in for SQL Server, for tests and the demo
emulators/   emulators of services that are not ours, for tests and the demo
jar_pins     writes the hashes of the jars into `schemas/jar_hashes.py`
"""
