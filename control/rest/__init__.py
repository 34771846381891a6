"""What is asked of running pipelines over HTTP."""
