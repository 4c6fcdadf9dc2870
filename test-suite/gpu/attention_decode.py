#!/usr/bin/env python3
"""Attention of one query and many keys on a Hopper GPU: how fast keys and values are read, beside a copy of as many bytes.

    test-suite/gpu/attention_decode.py [--source examples/attention/attention_decode_sm90.cute] [--keys 65536] [--batches 1,4,16,64]

32 heads, of which 8 share keys and values, of 128 elements in bf16: also with new keys and values that the same launch appends, and with
keys and values in pages. Results are checked against f64. The speed of a copy counts what it reads and writes.
"""

import argparse
import functools
import pathlib
import statistics
import sys

import cutec
import torch

from rounds import compare, made_at_once, named, normal, ratio

HERE = pathlib.Path(__file__).resolve().parent
HEADS, KEY_HEADS, D = 32, 4, 128
VARIANTS = [{}, {"bn": 128}, {"bn": 64, "stages": 3}]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=str(HERE.parent.parent / "examples/attention/attention_decode_sm90.cute"))
    parser.add_argument("--keys", type=int, default=65536)
    parser.add_argument("--batches", default="1,4,16,64")
    parser.add_argument("--queries", default="1,4")
    arguments = parser.parse_args()
    module = cutec.load(arguments.source)
    kernel = module.attention_decode

    def specialized(tile):
        special = kernel.specialize(pack=HEADS // KEY_HEADS, **tile)
        special.compile(arch="sm_90a")
        return special

    made = made_at_once({named(tile): functools.partial(specialized, tile) for tile in VARIANTS})
    wrong = 0
    print("| batch, queries | µs | GB/s | copy GB/s | of it | parameters | error |\n|---|---|---|---|---|---|---|")
    # Two for each block; two blocks fit a multiprocessor where stages are few.
    places = 4 * torch.cuda.get_device_properties(0).multi_processor_count
    for m in [int(m) for m in arguments.queries.split(",")]:
        for b in [int(b) for b in arguments.batches.split(",")]:
            n = arguments.keys
            q = normal(b, m, HEADS, D)
            k, v = torch.empty(b, n, KEY_HEADS, D, dtype=torch.bfloat16, device="cuda").normal_(), torch.empty(b, n, KEY_HEADS, D, dtype=torch.bfloat16, device="cuda").normal_()
            o = torch.empty_like(q)
            lse = torch.empty(b, HEADS, m, device="cuda")
            lengths = torch.full((b,), n, dtype=torch.int32, device="cuda")
            sums = torch.empty(places, 64, D, device="cuda")
            rows = torch.empty(places, 64, 2, device="cuda")
            counters = torch.zeros(b * KEY_HEADS, dtype=torch.int32, device="cuda")
            scale = D**-0.5
            moved = 2 * (k.numel() + v.numel())
            half = torch.empty(moved // 2, dtype=torch.uint8, device="cuda")
            other = torch.empty_like(half)
            work = {"copy": [lambda: other.copy_(half)]}
            batch, head = b - 1, HEADS - 3
            hidden = torch.arange(n, device="cuda")[None, :] > (n - m + torch.arange(m, device="cuda"))[:, None]

            def attend(keys, values):
                scores = (q[batch, :, head].double() @ keys.T) * scale
                return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ values

            def wrong_by(expected):
                return ((o[batch, :, head].double() - expected).abs().nan_to_num(nan=1e9).max() / expected.abs().max()).item()

            exact = attend(k[batch, :, head // 8].double(), v[batch, :, head // 8].double())
            errors, of = {}, {}
            for name, special in made.items():
                o.fill_(float("nan"))
                special(q, k, v, o, lse, scale, lengths, sums, rows, counters)
                errors[name] = wrong_by(exact)
                wrong += not (errors[name] < 1e-2 and counters.abs().max().item() == 0)
                work[name] = [lambda special=special: special(q, k, v, o, lse, scale, lengths, sums, rows, counters)]
            # The last m keys and values are new: the cache has others there.
            new = [x[:, n - m:].clone() for x in (k, v)]
            append = module.attention_append.specialize(pack=HEADS // KEY_HEADS)
            more = {"append": lambda: append(q, k, v, *new, o, lse, scale, lengths, sums, rows, counters)}
            k[:, n - m:], v[:, n - m:] = 0, 0
            for page in (64, 16):
                # Sequence i has the pages of its own rows, in some order.
                table = torch.stack([torch.randperm(n // page, device="cuda") + i * (n // page) for i in range(b)]).to(torch.int32)
                paged = [x.view(b * n // page, page, KEY_HEADS, D) for x in (k, v)]
                special = module.attention_decode_pages.specialize(pack=HEADS // KEY_HEADS, page=page)
                name = f"pages of {page}"
                more[name] = lambda special=special, table=table, paged=paged: special(q, *paged, o, lse, scale, lengths, table, sums, rows, counters)
                # The last queries do not see the last keys, which are others in this order.
                of[name] = lambda table=table, paged=paged: attend(*(x[table[batch].long(), :, head // 8].reshape(n, D).double() for x in paged))
            for name, run in more.items():
                o.fill_(float("nan"))
                run()
                errors[name] = wrong_by(of[name]() if name in of else exact)
                wrong += not (errors[name] < 1e-2 and counters.abs().max().item() == 0)
                work[name] = [run]
            measured = compare(work, batch_ms=4.0, rounds=7)
            for name in list(work)[1:]:
                ms = statistics.median(measured[name])
                copied = moved / statistics.median(measured["copy"]) * 1e-6
                print(f"| {b}, {m} | {ms * 1e3:.1f} | {moved / ms * 1e-6:.0f} | {copied:.0f} | {ratio(measured, 'copy', name):.3f} | {name} | {errors[name]:.1e} |", flush=True)
            del q, k, v, half, other
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
