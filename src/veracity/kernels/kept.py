"""The compiled kernels, without Numba: it is loaded only where nobody has compiled them before.

Numba takes a quarter of a second to load, and each kernel some hundredths more to be read from its
cache. Machine code needs neither. So `emitting` has Numba compile a kernel for the arguments at
hand, with addresses and plain numbers in the place of arrays, and the code is kept as a file. Later
runs hand the file to LLVM's linker, which takes two milliseconds, and call the code by its address.

What does not go this way, such as a kernel that draws at random, goes by Numba itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.kernels import InOrder, reference
from veracity.kernels.cache import places
from veracity.kernels.room import room_for

if TYPE_CHECKING:
    from veracity.encoding.block import Block, FloatArray, IntArray
    from veracity.kernels import Machine, Pace

PLAIN = "biuf"
"""The kinds of numbers whose arrays can be told by an address and a shape."""

ENDING = ".kernel"

TRIED = ("0.68",)
"""Versions of Numba with which this was tried: how functions are called, and what its runtime is
called, is its own affair and may change. With any other version all goes by Numba itself."""

NEEDED = ("MemInfo_alloc_aligned", "MemInfo_alloc", "MemInfo_call_dtor", "MemInfo_release")
"""What kernels need of Numba's runtime: memory, and to give it back."""


NOT_OF_CODE = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER")
"""What Numba is told that makes no other code."""


class Compiled:
    """Every compiled kernel by its name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in reference.__all__:
            raise AttributeError(name)
        self.__dict__[name] = kernel = functools.partial(_run, name)
        return kernel

    def climb(
        self, items: InOrder, machine: Machine, pace: Pace, rng: np.random.Generator | None
    ) -> tuple[FloatArray, FloatArray, float]:
        """As the kernel's own: only NumPy can make its room."""
        room = room_for(len(machine.weight))
        found: tuple[FloatArray, FloatArray, float] = _run(
            "climb_in", items, machine, pace, rng, room
        )
        return found

    def reorder(self, block: Block, order: IntArray) -> InOrder:
        """As the kernel's own: machine code tells of plain tuples only."""
        return InOrder(*_run("reorder", block, order))


compiled = Compiled()


def _run(name: str, *arguments: Any) -> Any:
    linker = load_linker()
    told = None if linker is None else Arguments.of(arguments)
    code = None if linker is None or told is None else linker.code(name, told, arguments)
    if code is None or told is None:
        return getattr(importlib.import_module("veracity.kernels.compiled"), name)(*arguments)
    return code(told)


# --- what goes in and what comes out --------------------------------------------------------------


class Arguments(NamedTuple):
    """What a kernel is given, as numbers: an array is its address and its shape."""

    key: str
    """All that the code depends on: of tuples their fields, of arrays their types."""
    numbers: list[Any]
    types: list[Any]
    arrays: list[NDArray[Any]]

    @classmethod
    def of(cls, arguments: tuple[Any, ...]) -> Arguments | None:
        """Arrays and numbers, and tuples of them; None if there is anything else."""
        told = cls("", [], [], [])
        key: list[str] = []
        if not all(told._add(argument, key) for argument in arguments):
            return None
        return told._replace(key=" ".join(key))

    def _add(self, argument: Any, key: list[str]) -> bool:
        if isinstance(argument, tuple):
            key.append(f"{type(argument).__name__}({','.join(getattr(argument, '_fields', ()))}")
            if not all(self._add(part, key) for part in argument):
                return False
            key.append(")")
            return True
        if isinstance(argument, np.ndarray):
            return self._add_array(argument, key)
        if isinstance(argument, bool | np.bool_ | int | np.integer):
            key.append("bool" if isinstance(argument, bool | np.bool_) else "int")
            self.numbers.append(int(argument))
            self.types.append(ctypes.c_int64)
        elif isinstance(argument, float | np.floating):
            key.append("float")
            self.numbers.append(float(argument))
            self.types.append(ctypes.c_double)
        else:
            key.append("None")
            return argument is None
        return True

    def _add_array(self, array: NDArray[Any], key: list[str]) -> bool:
        if array.dtype.kind not in PLAIN or not array.dtype.isnative or not array.ndim:
            return False
        plain = np.require(
            array, requirements=("C", "A")
        )  # mostly the same: who writes to it has it so
        key.append(f"{plain.dtype.str[1:]}:{plain.ndim}")
        self.arrays.append(plain)
        self.numbers.extend((plain.ctypes.data, *plain.shape))
        self.types.extend((ctypes.c_void_p, *(ctypes.c_int64 for _ in plain.shape)))
        return True


class Given(NamedTuple):
    """One thing that a kernel gives back: an array of a type, or a number ("int" or "float")."""

    dtype: str
    ndim: int = 0

    @property
    def size(self) -> int:
        """How many numbers tell it: of an array its owner, its address and its shape."""
        return 2 + self.ndim if self.ndim else 1


class _Owner:
    """Memory that a kernel asked for, as an array; it is given back with the last reference."""

    def __init__(
        self, handle: int, array: dict[str, Any], give_back: Callable[[int], None]
    ) -> None:
        self._handle, self._give_back = handle, give_back
        self.__array_interface__ = array

    def __del__(self) -> None:
        self._give_back(self._handle)


class MachineCode(NamedTuple):
    """A kernel as code, the name under which it is called, and what it gives back."""

    symbol: str
    gives: list[Given]
    is_tuple: bool
    content: bytes

    def write(self, file: Path, sources: str) -> None:
        """Keep it in a file: whole or not at all."""
        told = self._asdict() | {"content": _digest(self.content), "sources": sources}
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=file.parent, suffix=ENDING)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(json.dumps(told).encode() + b"\n" + self.content)
            Path(unfinished).replace(file)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise

    @classmethod
    def read(cls, file: Path, sources: str) -> MachineCode:
        """What a file keeps; an error if it is damaged, or was made from other sources."""
        line, _, content = file.read_bytes().partition(b"\n")
        told = json.loads(line)
        if told.pop("sources") != sources or told.pop("content") != _digest(content):
            raise ValueError(f"{file} is of another version, or damaged")
        told["gives"] = [Given(*given) for given in told["gives"]]
        return cls(**told, content=content)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# --- finding and linking --------------------------------------------------------------------------


class _Linker:
    """Finds code, has it made where there is none, and links it."""

    def __init__(self, llvm: Any) -> None:
        self._llvm, self._lock = llvm, threading.Lock()
        self._codes: dict[tuple[str, str], Callable[[Arguments], Any] | None] = {}
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._target = llvm.Target.from_triple(llvm.get_process_triple())
        numba = Path(str(find_spec("numba").origin)).parent  # type: ignore[union-attr] # it is needed
        runtime = _extension(numba, "core.runtime._nrt_python")
        runtime.memsys_use_cpython_allocator()  # as Numba does
        helpers = _extension(numba, "_helperlib").c_helpers
        self._symbols = {f"NRT_{name}": runtime.c_helpers[name] for name in NEEDED}
        self._symbols["numba_attempt_nocopy_reshape"] = helpers["attempt_nocopy_reshape"]
        for name, address in self._symbols.items():
            llvm.add_symbol(name, address)
        release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._symbols["NRT_MemInfo_release"])
        self._give_back: Callable[[int], None] = release
        versions = (numba / "_version.py").read_bytes(), llvm.llvm_version_info, sys.version
        self._machine = _digest(repr((versions, *_processor(llvm))).encode())
        self._sources = _digest(b"".join(map(Path.read_bytes, _sources())))

    def code(
        self, name: str, told: Arguments, arguments: tuple[Any, ...]
    ) -> Callable[[Arguments], Any] | None:
        """The code for such arguments; None if there can be none."""
        key = name, told.key
        if key not in self._codes:
            with self._lock:
                if key not in self._codes:  # nobody else has come first
                    found = self._found(name, told) or self._made(name, told, arguments)
                    self._codes[key] = None if found is None else self._linked(found, told)
        return self._codes[key]

    def _files(self, name: str, told: Arguments) -> list[Path]:
        file = f"{name}-{_digest(f'{told.key} {self._machine}'.encode())}{ENDING}"
        return [place / file for place in places()]

    def _found(self, name: str, told: Arguments) -> MachineCode | None:
        for file in self._files(name, told):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # none, or unsound
                return MachineCode.read(file, self._sources)
        return None

    def _made(self, name: str, told: Arguments, arguments: tuple[Any, ...]) -> MachineCode | None:
        emitting = importlib.import_module("veracity.kernels.emitting")
        try:
            code: MachineCode = emitting.emitted(name, arguments, self._symbols.keys())
        except Exception:  # a Numba that does it otherwise; it has a way of its own
            return None
        for file in self._files(name, told):
            try:
                code.write(file, self._sources)
            except OSError:
                continue  # it is made again the next time, or kept at another place
            break
        return code

    def _linked(self, code: MachineCode, told: Arguments) -> Callable[[Arguments], Any]:
        llvm = self._llvm
        engine = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""), self._target.create_target_machine()
        )
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.content))
        engine.finalize_object()
        address = ctypes.c_void_p  # of what it returns, which is nothing; of an error; of the rest
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, address, address, address, *told.types)
        return _Linked(
            engine, kind(engine.get_function_address(code.symbol)), code, self._give_back
        )


class _Linked:
    """Code that can be called; other threads go on meanwhile."""

    def __init__(
        self, engine: object, call: Callable[..., int], code: MachineCode,
        give_back: Callable[[int], None],
    ) -> None:  # fmt: skip
        self._engine = engine  # which holds the code
        self._call, self._gives, self._is_tuple = call, code.gives, code.is_tuple
        self._room = ctypes.c_int64 * sum(given.size for given in code.gives)
        self._give_back = give_back

    def __call__(self, told: Arguments) -> Any:
        out, ignored = self._room(), (ctypes.c_void_p * 2)()
        at = ctypes.addressof(ignored)
        failed = self._call(at, at + ctypes.sizeof(ctypes.c_void_p), ctypes.addressof(out),
                            *told.numbers)  # fmt: skip
        if failed:
            raise MemoryError  # no kernel raises anything, so nothing else can have gone wrong
        found = tuple(self._results(out, told.arrays))
        return found if self._is_tuple else found[0]

    def _results(self, out: Any, arrays: list[NDArray[Any]]) -> Iterator[Any]:
        at = 0
        for given in self._gives:
            if given.ndim:
                yield self._array(given, out[at : at + given.size], arrays)
            elif given.dtype == "float":
                yield ctypes.c_double.from_buffer(out, at * ctypes.sizeof(ctypes.c_int64)).value
            else:
                yield out[at]
            at += given.size

    def _array(self, given: Given, told: list[int], arrays: list[NDArray[Any]]) -> NDArray[Any]:
        owner, address, shape = told[0], told[1], tuple(told[2:])
        if not owner:  # one of those that it was given
            return next(a for a in arrays if a.ctypes.data == address and a.shape == shape)
        data = {"data": (address, False), "typestr": np.dtype(given.dtype).str}
        own = _Owner(owner, {**data, "shape": shape, "version": 3}, self._give_back)
        return np.asarray(own)


def load_linker() -> _Linker | None:
    """What links code, loaded on first use; None where all goes by Numba."""
    with _loading:  # else two threads would each have their own
        return _only_linker()


_loading = threading.Lock()


@functools.cache
def _only_linker() -> _Linker | None:
    is_tried = version("numba").rpartition(".")[0] in TRIED
    if not is_tried or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return None
    try:
        return _Linker(importlib.import_module("llvmlite.binding"))
    except (ImportError, OSError, AttributeError, KeyError, RuntimeError):
        return None  # a Numba that is made otherwise


def _extension(numba: Path, name: str) -> Any:
    """One of Numba's modules in C, without Numba."""
    for suffix in EXTENSION_SUFFIXES:
        file = numba / f"{name.replace('.', '/')}{suffix}"
        if file.exists():
            loader = ExtensionFileLoader(f"numba.{name}", str(file))
            module = module_from_spec(spec_from_loader(loader.name, loader))  # type: ignore[arg-type]
            loader.exec_module(module)
            return module
    raise ImportError(f"no {name} in {numba}")


def _processor(llvm: Any) -> tuple[Any, ...]:
    """What the code is for: the processor, and what else Numba is told of by the environment."""
    names = sorted(name for name in os.environ if name.startswith("NUMBA_"))
    told = [(name, os.environ[name]) for name in names if name not in NOT_OF_CODE]
    features = llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features, told


def _sources() -> list[Path]:
    return sorted(Path(__file__).parent.glob("*.py"))
