"""What the compiled modules use of Cython's pure-Python mode, as plain Python sees it."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar

_F = TypeVar("_F", bound=Callable[..., object])
_C = TypeVar("_C", bound=type)
_T = TypeVar("_T")

compiled: Literal[False]  # mypy reads the plain half of each module
NULL: Any

bint = bool
uchar = int
uint = int
int = int  # noqa: A001, PLW0127 - Cython's own names
longlong = int
ulonglong = int
Py_ssize_t = int
double = float
float = float  # noqa: A001, PLW0127 - the same
p_uchar = bytearray
p_const_uchar: TypeAlias = bytes | bytearray  # noqa: PYI042 - Cython's own name
void: TypeAlias = None  # noqa: PYI042 - the same
p_char: TypeAlias = Any  # noqa: PYI042 - Cython's own name
p_const_char: TypeAlias = Any  # noqa: PYI042 - the same

def cclass(made: _C) -> _C: ...
def final(made: _C) -> _C: ...
def cfunc(made: _F) -> _F: ...
def ccall(made: _F) -> _F: ...
def exceptval(value: object = ..., *, check: bool = ...) -> Callable[[_F], _F]: ...
def cast(kind: Any, value: _T) -> _T: ...  # noqa: ANN401 - a C type is no Python type
def address(value: object) -> object: ...
def declare(kind: type[_T], value: _T) -> _T: ...
