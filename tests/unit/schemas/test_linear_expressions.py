"""No expression takes the square of a text's length: one text of strangers would hold up the whole process.

A child tries every compiled expression, and the functions around some, with long texts that are hard for it.
Linear ones take some seconds together, one that is not takes many minutes; the child is then stopped, and
the last line that it wrote names the expression.
"""

import subprocess
import sys
from typing import Final

_LIMIT_S: Final = 240  # a guard against a hang, far above what is needed

_CHILD: Final = r"""
import importlib, inspect, pkgutil, re
import wrackline.consumers, wrackline.control, wrackline.producers, wrackline.schemas
from wrackline.consumers.spark.forbidden_path import find_forbidden_path
from wrackline.schemas.redaction import redact_by_look, shown_name
from wrackline.schemas.settings.secret_refs import (Allowed, Resolver, read_properties)
from wrackline.schemas.errors import WracklineError

LONG = 200_000
UNITS = ["a", "a.", "a:", "a://b:", ",a:", "@", " ", "${env:", "${a:", "password={ ", "password='", "token ",
         "\\", "'", "''", "\"", "(", "(1", "1", "1-", "`, ", "/*", "a, ", "\n", "=", "{", "a=b:", "/", "-",
         "(Permission denied)", "Permission denied: user=", "Cannot create /"]

def found():
    # once each, however many modules import it
    every = {}
    for package in (wrackline.schemas, wrackline.control, wrackline.producers, wrackline.consumers):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if module.name.endswith("__main__"):
                continue
            imported = importlib.import_module(module.name)
            for name, value in vars(imported).items():
                for one in value.values() if isinstance(value, dict) else [value]:
                    if isinstance(one, re.Pattern):
                        uses = re.findall(rf"\b{name}\.([a-z]+)", source(imported))
                        every.setdefault(one, (module.name, name, set()))[2].update(uses)
    for one, (module, name, uses) in every.items():
        yield one, module, name, uses

def source(module):
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):  # compiled
        return ""

def resolved(text):
    try:
        Resolver(Allowed(), {})(text)
    except WracklineError:
        pass

for pattern, module, name, uses in found():
    for unit in UNITS:
        print(module, name, repr(unit), flush=True)
        text = (unit * (LONG // len(unit))) + "\x00"
        text = text.encode() if isinstance(pattern.pattern, bytes) else text
        pattern.match(text)
        pattern.fullmatch(text)
        if uses & {"search", "sub", "split", "findall", "finditer"}:
            for _ in pattern.finditer(text):
                pass
for do in (redact_by_look, shown_name, resolved, read_properties, find_forbidden_path):
    for unit in UNITS:
        print(do.__name__, repr(unit), flush=True)
        do(unit * (LONG // len(unit)))
print("done", flush=True)
"""


def test_every_expression_takes_long_texts() -> None:
    with subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, text=True) as child:
        try:
            said, _ = child.communicate(timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            said, _ = child.communicate()
    assert said.splitlines()[-1] == "done"
