"""Times alternatives of the same work against each other on this machine's GPU, as cutec-bench does for the kernels of plan.json.

An alternative is a list of launches, one for each set of operands: functions without arguments that launch on PyTorch's current
stream. The sets together should exceed twice the L2 cache (`sets`). Each alternative's launches become a CUDA graph; in each round
every graph is replayed once, and who is first changes from round to round. Times are medians over rounds, ratios medians of the
rounds' ratios: only they are good for comparison between runs.
"""

import concurrent.futures
import json
import pathlib
import statistics
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import torch

Launch = Callable[[], object]
Made = TypeVar("Made")
Name = TypeVar("Name", bound=Hashable)

ROUNDS = 11
BATCH_MS = 8.0


def normal(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Normal numbers: zeros and small integers run faster on a GPU that is limited by power."""
    return torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)


def sets(bytes_of_one: int, most: int = 16) -> int:
    """How many sets of operands, of so many bytes, exceed twice the L2 cache."""
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    return min(most, 2 * l2 // bytes_of_one + 1)


def made_at_once(makers: Mapping[Name, Callable[[], Made]], what: str = "") -> dict[Name, Made]:
    """What each of these gives, run in threads: kernels of several configurations, compiled at the same time. Of those that do not
    compile standard error says why; they are left out."""
    import cutec

    made = {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for name, future in [(name, pool.submit(make)) for name, make in makers.items()]:
            try:
                made[name] = future.result()
            except cutec.CutecError as error:
                print(f"{what} {name}: {str(error)[:300]}", file=sys.stderr)
    return made


def named(parameters: Mapping[str, object]) -> str:
    """A configuration as tables show it."""
    return " ".join(f"{key}={value}" for key, value in parameters.items()) or "default"


def save(rows: Sequence[object], path: str | pathlib.Path | None) -> None:
    """The rows of a table as JSON, where a path is given."""
    if path:
        pathlib.Path(path).write_text(json.dumps(rows, indent=1))


def graph_of(launches: Sequence[Launch], count: int, stream: torch.cuda.Stream) -> torch.cuda.CUDAGraph:
    """A graph of so many launches, which take the sets of operands in turn."""
    with torch.cuda.stream(stream):
        for launch in launches:
            launch()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for index in range(count):
                launches[index % len(launches)]()
    torch.cuda.synchronize()
    return graph


def milliseconds(work: Launch, stream: torch.cuda.Stream) -> float:
    """How long the GPU is at work."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        begin.record()
        work()
        end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def compare(
    alternatives: Mapping[str, Sequence[Launch]], batch_ms: float = BATCH_MS, rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """For each alternative the milliseconds of one launch in each round."""
    stream = torch.cuda.Stream()
    graphs = {}
    for name, launches in alternatives.items():
        once = graph_of(launches, len(launches), stream)
        once.replay()
        guess = milliseconds(once.replay, stream) / len(launches)
        count = max(len(launches), min(400, int(batch_ms / max(guess, 1e-3))))
        graphs[name] = (graph_of(launches, count, stream), count)
    times: dict[str, list[float]] = {name: [] for name in graphs}
    names = list(graphs)
    for number in range(rounds + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            graph, count = graphs[name]
            elapsed = milliseconds(graph.replay, stream) / count
            # The first round only warms up.
            if number > 0:
                times[name].append(elapsed)
    return times


def ratio(times: Mapping[str, list[float]], peer: str, ours: str) -> float:
    """How much faster ours is than the peer."""
    return statistics.median(p / o for p, o in zip(times[peer], times[ours]))


def geometric_mean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values)
