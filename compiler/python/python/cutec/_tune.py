"""Searches for the fastest configurations of kernels, with the workers of any executor."""

from __future__ import annotations

import json
import os
from concurrent.futures import Executor
from typing import Any, Callable, Mapping, Sequence

from . import _cutec
from ._module import CacheChoice, Define, cache_folder

# A part measures the defaults too: fewer configurations are not worth another one.
LEAST_PART = 4


def measure_part(
    asked: dict[str, Any], launch: int, numbers: list[int], batches: int
) -> list[tuple[int, list[float], str | None, float]]:
    """What a worker does: configurations of a launch, measured in turns beside the defaults."""
    return _cutec.measure_part(asked, launch, numbers, batches)


def tune(
    path: str | os.PathLike[str],
    *,
    bench: str,
    executor: Executor | None = None,
    parts: int | None = None,
    devices: Sequence[str] = ("auto",),
    arch: str = "native",
    defines: Mapping[str, Define] | None = None,
    seed: int = 0,
    limit: int = 0,
    cache: CacheChoice = True,
    output: str | os.PathLike[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """The plan of the kernels that a bench block launches, as a dictionary; written to `output`, where that is given.

    Configurations are measured by the workers of `executor`, in `parts` of each round (as many as it has workers, where it says so),
    which take turns at `devices`; without one, here. A worker may be a thread, a process or another machine: it needs this package, the file
    under the same path, and the device. `docs/tuning.md` says what is searched and how; `progress` is told what is measured.
    """
    folder = cache_folder() if cache is True else cache or None
    asked = {
        "path": os.fspath(path),
        "bench": bench,
        "arch": _cutec.native_arch() or "native" if arch == "native" else arch,
        "defines": dict(defines or {}),
        "seed": seed,
        "limit": limit,
        "cache": None if folder is None else os.fspath(folder),
    }
    search = _cutec.search({**asked, "device": devices[0]})
    if parts is None:
        parts = 1 if executor is None else getattr(executor, "_max_workers", None) or 2 * len(devices)
    while (step := search.next()) is not None:
        launch, text, round_number, numbers, batches = step
        if progress is not None:
            progress(f"{text}: round {round_number + 1}, {len(numbers)} configurations")
        count = max(1, min(parts, len(numbers) // LEAST_PART))
        shares = [numbers[index::count] for index in range(count)]
        places = [{**asked, "device": devices[index % len(devices)]} for index in range(count)]
        if executor is None:
            told = [measure_part(place, launch, share, batches) for place, share in zip(places, shares)]
        else:
            futures = [
                executor.submit(measure_part, place, launch, share, batches)
                for place, share in zip(places, shares)
            ]
            told = [future.result() for future in futures]
        # Every part has figures of the defaults; the first part's are kept.
        results = [one for index, part in enumerate(told) for one in part if index == 0 or one[0] != 0]
        search.tell([tuple(one) for one in results])
    plan, _ = search.findings()
    if output is not None:
        with open(output, "w", encoding="utf-8") as file:
            file.write(plan)
    return json.loads(plan)
