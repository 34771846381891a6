"""What spark-submit is given.

In: the arguments behind the application on spark-submit's command line.  Out: the command that they name.

    application   a file, because spark-submit takes no module
"""
