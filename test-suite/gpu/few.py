#!/usr/bin/env python3
"""Products of few rows by `mma.sync` (few.cute beside this file): weights of 8 and 4 bits and of bf16, and attention of one query over keys
and values of bytes, f8 and bf16, beside cuBLAS's product of bf16 and a copy's bandwidth, on a GPU.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/few.py [--arch sm_80] [--only TEXT] [--search] [--json FILE]

The configurations are those of the cost model; `--search` tries others and shows the best one too. Operands exceed twice the L2 cache; rounds alternate, each a
CUDA graph (rounds.py). Errors are relative to a standard deviation of the result in f64; the exit status is 1 where one is too large.
"""

import argparse
import functools
import pathlib
import statistics
import sys

import cutec
import torch
from rounds import compare, made_at_once, named, normal, save, sets

HERE = pathlib.Path(__file__).resolve().parent
SEARCHED = [{"bn": bn, "stages": stages} for bn in (32, 64, 128) for stages in (0, 4, 6, 8)]
MOST = 0.05


def integers(*shape):
    return torch.randint(-128, 128, shape, dtype=torch.int8, device="cuda")


def small(*shape):
    return torch.rand(*shape, device="cuda") * 0.01


def nibbles(w):
    """The numbers of 4 bits in bytes, the lower half first."""
    halves = torch.stack([w & 15, w >> 4], dim=-1).to(torch.int32)
    return ((halves + 8) % 16 - 8).reshape(w.shape[0], -1)


def products(m, n, k):
    """Name, operands of a kernel, what it computes in f64, bytes of weights."""
    c = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    yield ("bytes", lambda: (normal(m, k), integers(n, k), small(n), c), lambda x, w, s, _: (x.double() @ w.double().T) * s.double(), n * k)
    yield ("nibbles", lambda: (normal(m, k), integers(n, k // 2).view(torch.uint8), small(k // 128, n).bfloat16(), c),
           lambda x, w, s, _: x.double() @ (nibbles(w).double() * s.double().T.repeat_interleave(128, 1)).T, n * k // 2)
    yield ("plain", lambda: (normal(m, k), normal(n, k), c), lambda x, w, _: x.double() @ w.double().T, 2 * n * k)


def attention(t, batch, heads, s, h=16, d=128):
    """Operands of a kernel, and what it computes."""
    narrow = {"i8": integers, "f8e4m3": lambda *shape: normal(*shape).to(torch.float8_e4m3fn), "bf16": normal}[t]
    shape = (batch, heads, s, d)
    o = torch.empty(batch, heads, h, d, dtype=torch.bfloat16, device="cuda")
    scale = 0.05 if t == "i8" else 1.0
    operands = (normal(batch, heads, h, d), narrow(*shape), small(batch, heads, s), narrow(*shape), small(batch, heads, s), o, scale)

    def exact(q, k, of_keys, v, of_values, _, scale):
        q, k, of_keys, v, of_values = (x[:1].double() for x in (q, k, of_keys, v, of_values))
        weights = torch.softmax(q @ k.transpose(2, 3) * of_keys[:, :, None] * scale, dim=3)
        return (weights * of_values[:, :, None]) @ v

    return operands, exact, sum(x.numel() * x.element_size() for x in operands[1:5])


def in_pages(operands, exact, page=64):
    """The same operands with keys and values in pages that lie anywhere, and what the attention over them computes."""
    q, k, of_keys, v, of_values, o, scale = operands
    batch, heads, s = of_keys.shape
    pages = batch * s // page
    table = torch.randperm(pages, device="cuda").to(torch.int32)

    def scattered(x):
        # Of bytes, for indices do not know the types of 8 bits.
        cut = x.view(torch.uint8).reshape(batch, heads, s // page, page, -1).transpose(1, 2).reshape(pages, heads, page, -1)
        new = torch.empty_like(cut)
        new[table.long()] = cut
        return new.view(x.dtype).reshape(pages, heads, page, *x.shape[3:])

    lengths = torch.full((batch,), s, dtype=torch.int32, device="cuda")
    return ((q, *map(scattered, (k, of_keys, v, of_values)), table.reshape(batch, -1), lengths, o, scale),
            lambda *_: exact(*operands))


def launches(kernel, every, exact):
    """Launches of a kernel with each set of operands, and its error with the first."""
    kernel(*every[0])
    got = next(x for x in reversed(every[0]) if isinstance(x, torch.Tensor)).double()
    expected = exact(*every[0])
    error = ((got[:expected.shape[0]] - expected).abs().max() / expected.std()).item()
    return [functools.partial(kernel, *operands) for operands in every], error


def measured(what, kernel, parameters, every, exact, moved, search, peers):
    made = {"default": kernel.specialize(**parameters)}
    if search:
        made |= made_at_once({named(p): functools.partial(kernel.specialize, **parameters, **p) for p in SEARCHED}, what)
    alternatives, errors = dict(peers), {}
    for name, one in made.items():
        try:
            alternatives[name], errors[name] = launches(one, every, exact)
        except cutec.CutecError as error:
            # More stages than shared memory has room for.
            print(f"{what} {name}: {str(error).strip().splitlines()[0]}", file=sys.stderr)
    times = {name: statistics.median(each) for name, each in compare(alternatives, rounds=7).items()}
    best = min(errors, key=lambda name: times[name])
    row = dict(case=what, microseconds=times["default"] * 1e3, bandwidth=moved / times["default"] / 1e6, error=max(errors.values()), best=best,
               of_best=times[best] / times["default"], peers={name: times[name] / times["default"] for name in peers})
    theirs = " ".join(f"{name} {ratio:.2f}" for name, ratio in row["peers"].items()) or "–"
    print(f"| {what} | {row['microseconds']:.1f} | {row['bandwidth']:.0f} | {theirs} | {row['error']:.1e} |"
          + (f" {best} {row['of_best']:.2f} |" if search else ""), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--only", default="")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    module = cutec.load(str(HERE / "few.cute"), arch=arguments.arch)
    print(f"{torch.cuda.get_device_name()}, compiled for {arguments.arch}\n")
    print("| case | µs | GB/s | ratio to | error |" + (" the best, its time of ours |" if arguments.search else ""))
    print("|---|---|---|---|---|" + ("---|" if arguments.search else ""))
    rows = []
    for m, n, k in [(16, 4096, 4096), (16, 8192, 8192), (32, 8192, 8192), (16, 28672, 8192)]:
        for name, operands, exact, moved in products(m, n, k):
            what = f"{name}, {m} × {n} × {k}"
            if arguments.only not in what:
                continue
            every = [operands() for _ in range(sets(moved))]
            plain = [(normal(m, k), normal(n, k).T, torch.empty(m, n, dtype=torch.bfloat16, device="cuda")) for _ in range(sets(2 * n * k))]
            cublas = [functools.partial(torch.matmul, x, w, out=c) for x, w, c in plain]
            rows.append(measured(what, getattr(module, name), {"bm": m}, every, exact, moved, arguments.search, {"cuBLAS, bf16": cublas}))
    for batch, s in [(32, 8192), (128, 2048), (512, 1024)]:
        for t in ("i8", "f8e4m3", "bf16"):
            what = f"decode of {t}, {batch} × 8 × {s} keys"
            if arguments.only not in what or (t == "f8e4m3" and arguments.arch == "sm_80"):
                continue
            operands, exact, moved = attention(t, batch, 8, s)
            rows.append(measured(what, module.decode, {"t": t}, [operands], exact, moved, arguments.search, {}))
            paged, of_dense = in_pages(operands, exact)
            whole, _ = launches(module.decode.specialize(t=t), [operands], exact)
            rows.append(measured(f"{what} in pages", module.paged, {"t": t}, [paged], of_dense, moved, arguments.search, {"whole": whole}))
    save(rows, arguments.json)
    return int(any(not row["error"] <= MOST for row in rows))


if __name__ == "__main__":
    sys.exit(main())
