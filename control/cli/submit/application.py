"""The application that spark-submit takes: the command line, in a Python that spark-submit has started.

In: what follows it on spark-submit's own command line, as `consume pipeline.toml`.  Out: what the command
does.  It has a separate folder, because Python looks for modules beside the file that it runs first, and none
of our names may hide another package's.
"""

from wrackline.control.cli import main

if __name__ == "__main__":
    main()
