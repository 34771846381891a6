"""`python -m wrackline.control` is `wrackline`."""

from wrackline.control.cli import main

if __name__ == "__main__":
    main()
