"""Where tasks live: processes of their own, started, watched and ended by a worker.

In: how a task's process is started, and the state wanted of it.  Out: its reports, lines and exit code.

    supervisor.py      starts the processes, watches them, and ends them with itself
    restart_policy.py  what becomes of a task whose process ended
    child.py           one task's process, as its worker sees it
    lifeline.py        the line that shows a child that its worker is gone
    nursery.py         forks tasks' processes from a process that has everything loaded
    gc_freeze.py       keeps the garbage collector away from what is loaded by then
"""
