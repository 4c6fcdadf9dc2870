"""What happens before a kernel runs on a GPU, with a driver that runs nothing (`stub/cuda.c`): devices, streams,
parameters, and how frameworks are asked for their tensors.

That kernels compute what they should, and what a launch costs there, is for `test-suite/gpu/python_launch.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INSIDE = HERE / "stub" / "launches.py"


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> Path:
    """A folder with the driver and the framework."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    for name in ("cuda", "framework"):
        library, source = folder / f"lib{name}.so", HERE / "stub" / f"{name}.c"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return folder


# Each in a process of its own: a driver is loaded once.
@pytest.mark.parametrize(
    "case",
    [
        "streams_and_parameters",
        "signatures",
        "devices",
        "current_context",
        "tensor_maps",
        "frameworks",
        "tvm_ffi_functions",
        "forks",
        "refusals",
    ],
)
def test_launches(driver, case):
    environment = os.environ | {"LD_LIBRARY_PATH": os.fspath(driver)}
    ran = subprocess.run(
        [sys.executable, INSIDE, case], env=environment, capture_output=True, text=True, timeout=120
    )
    if ran.returncode == 77:
        pytest.skip(ran.stdout.strip())
    assert ran.returncode == 0, ran.stdout + ran.stderr
