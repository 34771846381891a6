"""Runs the demo: `python -m wrackline.control.demo`."""

from wrackline.control.demo.command import app

if __name__ == "__main__":
    app(prog_name="./run demo")
