"""The application that spark-submit takes: the command line, in a Python that spark-submit has started.

In: what stands after it on spark-submit's own command line, as `consume pipeline.toml`.  Out: what the
command does.  It has a folder to itself, for Python looks for modules beside the file that it runs first,
and no name of ours may hide somebody else's.
"""

from wrackline.control.cli import main

if __name__ == "__main__":
    main()
