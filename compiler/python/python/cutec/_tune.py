"""Searches for the fastest configurations of kernels, with the workers of any executor."""

from __future__ import annotations

import json
import os
from concurrent.futures import Executor, as_completed
from typing import Any, Callable, Mapping, Sequence

from . import _cutec
from ._module import CacheChoice, Define, cache_folder

# A part measures the defaults too: fewer configurations are not worth another one.
LEAST_PART = 4
# Results are kept a part at a time.
MOST_PART = 16


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
    restart: bool = False,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """The plan of the kernels that a bench block launches, as a dictionary; written to `output`, where that is given.

    Configurations are measured by the workers of `executor`, in `parts` of each round (as many as it has workers, where it says so),
    which take turns at `devices`; without one, here. A worker may be a thread, a process or another machine: it needs this package, the file
    under the same path, and the device. `docs/tuning.md` says what is searched and how; `progress` is told what is measured.

    Interrupted, a search with an `output` goes on where it stopped when it is begun again, as `cutec tune` does: results are kept in
    `OUTPUT.journal` until the plan is written. `restart` begins anew.
    """
    journal = None if output is None else os.fspath(output) + ".journal"
    if journal is not None and restart and os.path.exists(journal):
        os.remove(journal)
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
    search = _cutec.search({**asked, "device": devices[0], "journal": journal})
    if parts is None:
        parts = 1 if executor is None else getattr(executor, "_max_workers", None) or 2 * len(devices)
    while (step := search.next()) is not None:
        launch, text, round_number, numbers, batches = step
        if progress is not None:
            progress(f"{text}: round {round_number + 1}, {len(numbers)} configurations")
        count = max(1, min(parts, len(numbers) // LEAST_PART), -(-len(numbers) // MOST_PART))
        shares = [
            ({**asked, "device": devices[index % len(devices)]}, launch, numbers[index::count], batches)
            for index in range(count)
        ]
        if executor is None:
            for share in shares:
                search.tell(measure_part(*share))
            continue
        futures = [executor.submit(measure_part, *share) for share in shares]
        try:
            for future in as_completed(futures):
                results: list[Any] = future.result()
                # Another machine may give lists for tuples.
                search.tell([tuple(one) for one in results])
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    plan, _ = search.findings()
    if output is not None:
        with open(output, "w", encoding="utf-8") as file:
            file.write(plan)
    found: dict[str, Any] = json.loads(plan)
    return found
