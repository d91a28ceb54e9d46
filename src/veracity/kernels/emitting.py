"""A kernel becomes machine code that needs no Numba: see `kept`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numba.extending import intrinsic

from veracity.kernels.jit import BARE, HOW
from veracity.kernels.kept import Given, MachineCode

numba: Any = importlib.import_module("numba")
njit, types = numba.njit, numba.types

DECLARED = re.compile(r'^declare .*?@"?([^"(]+)"?\(', re.MULTILINE)
"""What a module in LLVM's language takes from elsewhere."""


def emitted(name: str, arguments: tuple[Any, ...], symbols: Collection[str]) -> MachineCode:
    """The code of a kernel for arguments such as these, if it needs no more than these symbols.

    It is a function of plain numbers: the address at which it tells what it found, then the
    arguments. It makes arrays of them and calls the kernel, which becomes part of it.
    """
    kernel = getattr(importlib.import_module("veracity.kernels.compiled"), name)
    kernel = njit(**HOW, **BARE)(kernel.py_func)
    signature = _Signature([], {})
    made = [signature.add(argument) for argument in arguments]
    kernel.compile(tuple(of_kernel for _, of_kernel in made))
    found = kernel.overloads[tuple(of_kernel for _, of_kernel in made)].signature.return_type
    gives, lines = _told(found)
    n_numbers = sum(given.size for given in gives)
    code = "\n    ".join([
        f"def {name}({', '.join(['out', *(own for own, _ in signature.parameters)])}):",
        f"ints, floats = carray(out, {n_numbers}, int64), carray(out, {n_numbers}, float64)",
        f"found = kernel({', '.join(made for made, _ in made)})",
        *lines,
    ])  # fmt: skip
    known = {"carray": numba.carray, "kernel": kernel, "owner_and_address": owner_and_address,
             "int64": np.int64, "float64": np.float64, **signature.known}  # fmt: skip
    exec(code, known)
    of_numbers = types.void(types.voidptr, *(own for _, own in signature.parameters))
    function = njit(of_numbers, **HOW, **BARE)(known[name])
    compiled = function.overloads[of_numbers.args]
    _, _, (content, _) = compiled.library.serialize_using_object_code()
    for needed in DECLARED.findall(function.inspect_llvm(of_numbers.args)):
        if needed not in symbols and not needed.startswith("llvm."):
            raise TypeError(f"{name} needs {needed}")
    is_tuple = isinstance(found, types.BaseTuple)
    return MachineCode(compiled.fndesc.llvm_func_name, gives, is_tuple, bytes(content))


class _Signature(NamedTuple):
    """The parameters, each with its type; and what the code has to know beside them."""

    parameters: list[tuple[str, Any]]
    known: dict[str, Any]

    def add(self, argument: Any) -> tuple[str, Any]:
        """Add what tells an argument; how it is made of that, and its type for the kernel."""
        if argument is None:
            return "None", types.none
        if isinstance(argument, tuple):
            return self._add_tuple(argument)
        own = f"p{len(self.parameters)}"
        if isinstance(argument, np.ndarray):
            return self._add_array(own, argument)
        if isinstance(argument, bool | np.bool_):
            self.parameters.append((own, types.int64))
            return f"({own} != 0)", types.boolean
        of_kernel = types.int64 if isinstance(argument, int | np.integer) else types.float64
        self.parameters.append((own, of_kernel))
        return own, of_kernel

    def _add_tuple(self, argument: tuple[Any, ...]) -> tuple[str, Any]:
        made = [self.add(part) for part in argument]
        parts, of_kernel = ", ".join(part for part, _ in made), [own for _, own in made]
        kind = type(argument)
        if kind is tuple:
            return f"({parts},)", types.Tuple(of_kernel)
        self.known[kind.__name__] = kind
        return f"{kind.__name__}({parts})", types.NamedTuple(of_kernel, kind)

    def _add_array(self, own: str, array: np.ndarray) -> tuple[str, Any]:
        lengths = [f"{own}_{axis}" for axis in range(array.ndim)]
        self.parameters.append((own, types.voidptr))
        self.parameters.extend((length, types.int64) for length in lengths)
        self.known[f"{own}_type"] = array.dtype
        made = f"carray({own}, ({', '.join(lengths)},), {own}_type)"
        return made, types.Array(numba.from_dtype(array.dtype), array.ndim, "C")


def _told(found: Any) -> tuple[list[Given], list[str]]:
    """How what a kernel found is told as numbers, and the lines of code that do so."""
    is_tuple = isinstance(found, types.BaseTuple)
    gives: list[Given] = []
    lines, at = [], 0
    for place, own in enumerate(found.types if is_tuple else [found]):
        part = f"found[{place}]" if is_tuple else "found"
        if isinstance(own, types.Array):
            if own.layout != "C":
                raise TypeError(f"{own} is not told by its shape alone")
            gives.append(Given(own.dtype.name, own.ndim))
            lines.append(f"ints[{at}], ints[{at + 1}] = owner_and_address({part})")
            lines.extend(
                f"ints[{at + 2 + axis}] = {part}.shape[{axis}]" for axis in range(own.ndim)
            )
        elif isinstance(own, types.Float):
            gives.append(Given("float"))
            lines.append(f"floats[{at}] = {part}")
        else:
            gives.append(Given("int"))
            lines.append(f"ints[{at}] = {part}")
        at += gives[-1].size
    return gives, lines


@intrinsic
def owner_and_address(context: Any, array: Any) -> tuple[Any, Any]:
    """By what handle the memory of an array is given back, and where it begins; it stays."""

    def generate(target: Any, builder: Any, signature: Any, given: Any) -> Any:
        own = target.make_array(array)(target, builder, given[0])
        target.nrt.incref(builder, array, given[0])
        number = target.get_value_type(types.intp)
        both = [builder.ptrtoint(pointer, number) for pointer in (own.meminfo, own.data)]
        return target.make_tuple(builder, signature.return_type, both)

    return types.UniTuple(types.intp, 2)(array), generate
