"""Run pytest as on a plainer processor: ``python tests/plain_cpu.py [what pytest is given]``.

Sums and functions are rounded differently where vectors have another length and where products are
not fused with sums. So what passes here and on the processor as it is does not hang on last bits.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

OLDEST_CORE = {"x86_64": "Prescott", "AMD64": "Prescott", "aarch64": "ARMV8", "arm64": "ARMV8"}
"""The plainest processor that OpenBLAS knows for every kind of machine."""

PROBE = """
import hashlib, math, numpy
x = numpy.random.default_rng(0).random(5_000)
of_numpy, of_libm = numpy.exp(x), numpy.array([math.exp(v) for v in x])
square = x[:4_900].reshape(70, 70)
for bits in (of_numpy, of_libm, square @ square):
    print(hashlib.sha256(bits.tobytes()).hexdigest())
"""
"""Program that prints hashes of three results, which depend on how they were rounded."""


def settings() -> dict[str, str]:
    """Return settings that turn down NumPy, OpenBLAS, Numba, the C library, and threads of polars.

    NumPy warns of features it cannot turn off, and here warnings are errors: it is asked which it
    can. Polars cannot be turned down, but one thread sums in other parts than many.
    """
    told = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(f for f in __cpu_dispatch__ if __cpu_features__[f]),
        "NUMBA_CPU_NAME": "generic",  # Numba keeps what it compiles by the name of the processor
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
        "POLARS_MAX_THREADS": "1",
    }
    if platform.machine() in OLDEST_CORE:
        told["OPENBLAS_CORETYPE"] = OLDEST_CORE[platform.machine()]
    return told


def probe(environment: dict[str, str]) -> list[str]:
    command = [sys.executable, "-W", "error", "-c", PROBE]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()


def main() -> int:
    plain = os.environ | settings()
    print(*(f"{name}={value}" for name, value in settings().items()), sep="\n")
    pairs = zip(("numpy", "libm", "blas"), probe(dict(os.environ)), probe(plain), strict=True)
    moved = [name for name, here, there in pairs if here != there]
    print("rounded differently by:", ", ".join(moved) or "none, so plain is this processor")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    return subprocess.run(command, env=plain, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
