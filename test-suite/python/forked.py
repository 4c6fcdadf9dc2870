"""Launches and compiles in a fork of a process that has done both, for `test_package.py`."""

from __future__ import annotations

import multiprocessing
import sys

import numpy as np

import cutec
from conftest import KERNELS


def positive(kernel) -> bool:
    """Whether a kernel of many blocks, which the simulator runs on several threads, does what it should."""
    x = np.random.default_rng(4).standard_normal((64, 256), dtype=np.float32)
    y = np.zeros_like(x)
    kernel(x, y)
    return bool((y == np.maximum(x, 0)).all())


def child(kernel, result) -> None:
    """Launches what the parent has compiled and launched, and compiles another kernel."""
    launched = positive(kernel)
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    cutec.loads(KERNELS, cache=False).scale(x, y, 1.0)
    result.put("launched and compiled" if launched and (y == 2).all() else "wrong results")


if __name__ == "__main__":
    relu = cutec.loads(KERNELS, cache=False).relu
    assert positive(relu)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    process = context.Process(target=child, args=(relu, results))
    process.start()
    process.join(60)
    if process.is_alive():
        process.kill()
        sys.exit("the fork does not come to an end")
    print(results.get() if process.exitcode == 0 else f"exit code {process.exitcode}")
