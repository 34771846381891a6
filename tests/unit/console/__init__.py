"""The console: its pages, made by hand and in a browser."""
