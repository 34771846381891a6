"""Runs the demo: `python -m wrackline.control.local.demo`."""

from wrackline.control.local.demo.command import app

if __name__ == "__main__":
    app(prog_name="./run demo")
