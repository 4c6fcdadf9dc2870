#!/usr/bin/env python3
"""Other kinds of attention of examples/attention on a Hopper GPU: elements of 8 bits beside bf16; sequences of several lengths, pages of a
cache, windows, sinks and listed blocks of keys beside the dense kernel with the same work; heads that share keys and values beside cuDNN.

    test-suite/gpu/attention_kinds.py [--source examples/attention] [--only TEXT] [--sm80]

Results are checked against f64 for some rows, errors are relative to the largest element.
"""

import argparse
import functools
import pathlib
import statistics
import sys

import cutec
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from rounds import compare, made_at_once, normal, ratio

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "examples/attention"
F8 = [{}, {"emulated": 0}, {"emulated": 2}, {"warpgroups": 3, "bn": 96}, {"warpgroups": 3, "bn": 96, "emulated": 0}, {"stages": 3, "q_stages": 1}, {"bn": 160}]


def counter():
    return torch.zeros(2, dtype=torch.int32, device="cuda")


class Kernels:
    """The kernels for Hopper, or those for sm_80 and later, which take no counter."""

    def __init__(self, source, sm80):
        self.sm80, self.counter = sm80, [] if sm80 else [counter()]
        files = ("attention", "attention_variants", "attention_lengths", *(() if sm80 else ("attention_f8",)))
        self.modules = [cutec.load(f"{source}/{file}_{'sm80' if sm80 else 'sm90'}.cute") for file in files]

    def __call__(self, kind, **parameters):
        names = (f"attention_{kind}_sm80", "attention_sm80") if self.sm80 else (f"attention_{kind}", "attention_sm90")
        name = names[kind == "dense"]
        return next(module[name] for module in self.modules if name in module).specialize(**parameters)


def exact(q, k, v, scale, causal, rows):
    """Of one head: q (m, d), k (n, d), v (n, d)."""
    scores = (q[rows].double() @ k.double().T) * scale
    if causal:
        scores.masked_fill_(torch.arange(k.shape[0], device="cuda")[None, :] > rows[:, None] + k.shape[0] - q.shape[0], float("-inf"))
    return scores.softmax(-1) @ v.double()


def exact_of(q, k, v, scale, rows, seen, sink=None):
    """Of one head, where query i sees key j if seen(i, j)."""
    scores = (q[rows].double() @ k.double().T) * scale
    scores.masked_fill_(~seen(rows[:, None], torch.arange(k.shape[0], device="cuda")[None, :]), float("-inf"))
    if sink is not None:
        scores = torch.cat((scores, sink.double().expand(len(rows), 1)), 1)
        v = torch.cat((v, torch.zeros_like(v[:1])))
    return scores.softmax(-1) @ v.double()


def wrong_by(result, expected):
    return ((result.double() - expected).abs().nan_to_num(nan=1e9).max() / expected.abs().max()).item()


def show(case, times, flop, peer, errors, bounds):
    """A line for each alternative, and how many are wrong."""
    wrong = 0
    for name in times:
        bad = name in errors and not errors[name] < bounds
        wrong += bad
        error = f"{errors[name]:.1e}{' WRONG' if bad else ''}" if name in errors else ""
        print(f"| {case} | {name} | {flop / statistics.median(times[name]) * 1e-9:.0f} | {ratio(times, peer, name):.3f} | {error} |", flush=True)
    return wrong


def name_of(tile):
    return " ".join(f"{key}={value}" for key, value in tile.items()) or "default"


def f8(kernels, s, causal):
    b, h, d = 16384 // s, 16, 128
    q, k, v = (normal(b, s, h, d) for _ in range(3))
    q8, k8 = (x.to(torch.float8_e4m3fn) for x in (q, k))
    v8 = v.permute(0, 2, 3, 1).contiguous().to(torch.float8_e4m3fn)
    k4 = k8.view(b, s // 4, 4, h, d)
    ones = torch.ones(b, h, device="cuda")
    o, lse, c = torch.empty_like(q), torch.empty(b, h, s, device="cuda"), kernels.counter
    mask, scale = "causal" if causal else "unmasked", d**-0.5
    own = kernels("dense", mask=mask)
    work = {"bf16": [lambda: own(q, k, v, o, lse, scale, *c)]}
    rows = torch.arange(0, s, max(1, s // 61), device="cuda")
    expected = exact(q8[0, :, 1].float(), k8[0, :, 1].float(), v8[0, 1].float().T, scale, causal, rows)
    errors = {}

    def special(tile):
        made = kernels("f8", mask=mask, **tile)
        made.compile(arch="sm_90a")
        return made

    for name, made in made_at_once({name_of(tile): functools.partial(special, tile) for tile in F8}).items():
        o.fill_(float("nan"))
        made(q8, k4, v8, o, lse, scale, *c, ones, ones, ones)
        errors[name] = wrong_by(o[0, rows, 1], expected)
        work[name] = [lambda made=made: made(q8, k4, v8, o, lse, scale, *c, ones, ones, ones)]
    flop = 4.0 * b * h * s * s * d * (0.5 if causal else 1.0)
    return show(f"f8 {mask} {s}", compare(work, batch_ms=4.0, rounds=7), flop, "bf16", errors, 8e-2)


def lengths(kernels, s, causal):
    b, h, d = 16384 // s, 16, 128
    q, k, v = (normal(b, s, h, d) for _ in range(3))
    o, lse, c = torch.empty_like(q), torch.empty(b, h, s, device="cuda"), kernels.counter
    mask, scale = "causal" if causal else "unmasked", d**-0.5
    own = kernels("dense", mask=mask)
    starts = torch.arange(0, b * s + 1, s, dtype=torch.int32, device="cuda")
    flat = [x.reshape(b * s, h, d) for x in (q, k, v)]
    out, sums = torch.empty_like(flat[0]), torch.empty(h, b * s, device="cuda")
    of_lengths = kernels("lengths", mask=mask)
    work = {"dense": [lambda: own(q, k, v, o, lse, scale, *c)],
            "lengths": [lambda: of_lengths(*flat, out, sums, scale, *c, starts, starts)]}
    per = torch.full((b,), s, dtype=torch.int32, device="cuda")
    rows = torch.arange(0, s, max(1, s // 61), device="cuda")
    expected = exact(q[b - 1, :, 1], k[b - 1, :, 1], v[b - 1, :, 1], scale, causal, rows)
    # A block of keys is one page, or comes by several copies.
    for page in (128, 64, 16):
        of_pages = kernels("pages", mask=mask, page=page)
        table = torch.randperm(b * s // page, device="cuda").to(torch.int32).reshape(b, s // page)
        paged = [torch.empty(b * s // page, page, h, d, dtype=torch.bfloat16, device="cuda") for _ in range(2)]
        for x, pages in ((k, paged[0]), (v, paged[1])):
            pages[table.flatten().long()] = x.reshape(b * s // page, page, h, d)
        work[f"pages of {page}"] = [lambda run=of_pages, paged=paged, table=table: run(flat[0], *paged, out, sums, scale, *c, starts, per, table)]
    errors = {}
    for name in list(work)[1:]:
        out.fill_(float("nan"))
        work[name][0]()
        errors[name] = wrong_by(out.reshape(b, s, h, d)[b - 1, rows, 1], expected)
    flop = 4.0 * b * h * s * s * d * (0.5 if causal else 1.0)
    return show(f"lengths {mask} {s}", compare(work, batch_ms=4.0, rounds=7), flop, "dense", errors, 1e-2)


def shared(kernels, s):
    """32 heads of queries on 8 of keys."""
    b, h, g, d = 16384 // s, 32, 8, 128
    q, k, v = normal(b, s, h, d), normal(b, s, g, d), normal(b, s, g, d)
    o, lse, c = torch.empty_like(q), torch.empty(b, h, s, device="cuda"), kernels.counter
    scale = d**-0.5
    work, errors = {}, {}

    def peer():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True, enable_gqa=True)

    try:
        peer()
        work["cuDNN"] = [peer]
    except RuntimeError as error:
        print(str(error).splitlines()[0], file=sys.stderr)
    rows = torch.arange(0, s, max(1, s // 61), device="cuda")
    expected = exact(q[0, :, 5], k[0, :, 1], v[0, :, 1], scale, True, rows)
    for tile in ({}, {"pack": 4}):
        made = kernels("dense", mask="causal", **tile)
        o.fill_(float("nan"))
        made(q, k, v, o, lse, scale, *c)
        errors[name_of(tile)] = wrong_by(o[0, rows, 5], expected)
        work[name_of(tile)] = [lambda made=made: made(q, k, v, o, lse, scale, *c)]
    return show(f"32 heads on 8, causal {s}", compare(work, batch_ms=6.0, rounds=7), 2.0 * b * h * s * s * d, next(iter(work)), errors, 1e-2)


def windows(kernels, s, before, d):
    """Each query sees so many keys before its own, as far as there are: beside the dense kernel of as many keys, all of which each query
    sees. With 64 elements a sink more."""
    b, h = 16384 // s, 2048 // d
    q, k, v = (normal(b, s, h, d) for _ in range(3))
    few = [x[:, :before + 1].contiguous() for x in (k, v)]
    o, lse, c, scale = torch.empty_like(q), torch.empty(b, h, s, device="cuda"), kernels.counter, d**-0.5
    own = kernels("dense", d=d)
    window = kernels("window", d=d)
    sinks = torch.randn(h, device="cuda")
    work = {"dense": [lambda: own(q, *few, o, lse, scale, *c)], "window": [lambda: window(q, k, v, o, lse, scale, *c, before, 0)]}
    if d == 64:
        with_sinks = kernels("sinks")
        work["window and sinks"] = [lambda: with_sinks(q, k, v, o, lse, scale, *c, sinks, before)]
    rows = torch.arange(0, s, max(1, s // 61), device="cuda")
    errors = {}
    for name in list(work)[1:]:
        o.fill_(float("nan"))
        work[name][0]()
        expected = exact_of(q[0, :, 1], k[0, :, 1], v[0, :, 1], scale, rows, lambda i, j: (j <= i) & (j >= i - before),
                            sinks[1] if "sinks" in name else None)
        errors[name] = wrong_by(o[0, rows, 1], expected)
    pairs = s * (before + 1)
    times = compare(work, batch_ms=4.0, rounds=7)
    # The first queries see fewer.
    share = 1 - before * (before + 1) / 2 / pairs
    for name in list(work)[1:]:
        times[name] = [ms / share for ms in times[name]]
    return show(f"window of {before}, {s}, d {d}", times, 4.0 * b * h * pairs * d, "dense", errors, 1e-2)


def listed(kernels, s):
    """All blocks of keys in lists beside the dense causal kernel; every other block, counted as half of that work."""
    b, h, d = 16384 // s, 16, 128
    q, k, v = (normal(b, s, h, d) for _ in range(3))
    o, lse, c, scale = torch.empty_like(q), torch.empty(b, h, s, device="cuda"), kernels.counter, d**-0.5
    own = kernels("dense", mask="causal")
    of_lists = kernels("blocks_listed")
    tiles, bn = s // 128, 64 if kernels.sm80 else 128
    rows = torch.arange(0, s, max(1, s // 61), device="cuda")
    bounds, flop = 1e-2, 2.0 * b * h * s * s * d
    wrong = 0
    for every in (1, 2):
        # Tile t has blocks t, t - every, … : as many queries as keys.
        lists = [list(range(t % every, t + 1, every)) for t in range(tiles)]
        # Of 128 keys each.
        blocks = [[128 // bn * x + part for x in of for part in range(128 // bn)] for of in lists]
        most = max(map(len, blocks))
        counts = torch.tensor([len(x) for x in blocks], dtype=torch.int32, device="cuda").expand(h, tiles).contiguous()
        table = torch.tensor([x + [0] * (most - len(x)) for x in blocks], dtype=torch.int32, device="cuda").expand(h, tiles, most).contiguous()
        work = {"dense": [lambda: own(q, k, v, o, lse, scale, *c)], "listed": [lambda: of_lists(q, k, v, o, lse, scale, *c, counts, table)]}
        o.fill_(float("nan"))
        work["listed"][0]()
        expected = exact_of(q[0, :, 1], k[0, :, 1], v[0, :, 1], scale, rows, lambda i, j: (j <= i) & ((i // 128 - j // 128) % every == 0))
        errors = {"listed": wrong_by(o[0, rows, 1], expected)}
        times = compare(work, batch_ms=4.0, rounds=7)
        # Half of the pairs of a tile's last block are seen.
        share = (sum(map(len, lists)) - tiles / 2) / (tiles * tiles / 2)
        times["listed"] = [ms / share for ms in times["listed"]]
        wrong += show(f"listed, every {every}, {s}", times, flop, "dense", errors, bounds)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=str(SOURCE))
    parser.add_argument("--only", default="")
    parser.add_argument("--sm80", action="store_true", help="the kernels for sm_80 and later")
    arguments = parser.parse_args()
    kernels = Kernels(arguments.source, arguments.sm80)
    print("| case | | TFLOP/s | of the first | error |\n|---|---|---|---|---|")
    wrong = 0
    for s in (8192, 2048):
        for causal in (False, True):
            if arguments.only in "lengths":
                wrong += lengths(kernels, s, causal)
    for s, before, d in ((8192, 4095, 128), (8192, 1023, 128), (8192, 1023, 64)):
        if arguments.only in "windows":
            wrong += windows(kernels, s, before, d)
    if arguments.only in "listed":
        wrong += listed(kernels, 8192)
    if arguments.sm80:
        return 1 if wrong else 0
    if arguments.only in "shared":
        wrong += shared(kernels, 8192)
    for s in (8192, 2048):
        for causal in (False, True):
            if arguments.only in "f8":
                wrong += f8(kernels, s, causal)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
