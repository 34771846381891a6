"""`python -m wrackline.control` is `wrackline`."""

from wrackline.control.cli import main

main()
