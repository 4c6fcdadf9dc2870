#!/usr/bin/env python3
"""The attention of examples/attention against what PyTorch calls for it, cuDNN and FlashAttention-2, on a Hopper GPU.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/attention.py [--source examples/attention] [--sm80] [--type f16] [--only TEXT] [--search] [--json FILE]

16384 queries in all and heads of 2048 elements together, as in the papers; operands are normal, in bf16 unless `--type` says f16. Each
result is checked against f64 for some rows of some heads, and its error stands beside cuDNN's, or FlashAttention-2's where cuDNN does not
take the heads: "d192-128" are keys of 192 elements and values of 128. `--search` tries other tiles and prints the best.
"""

import argparse
import functools
import math
import pathlib
import statistics
import sys

import cutec
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from rounds import compare, geometric_mean, made_at_once, named, normal, ratio, save

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = 16384
WIDTH = 2048

# Extents of a head of keys and of values, queries and keys, causal.
CASES = [((d, d), s, causal) for d in (128, 64, 256) for causal in (False, True) for s in (512, 1024, 2048, 4096, 8192, 16384)]
CASES += [(heads, s, causal) for heads in ((96, 96), (192, 128)) for causal in (False, True) for s in (2048, 8192)]
QUICK = [(128, 8192), (128, 16384), (128, 2048), (128, 512), (64, 8192), (256, 8192)]
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}

# What else is tried for each extent of a head.
VARIANTS = {
    64: [{"bn": 112}, {"q_stages": 1, "stages": 4}, {"emulated": 4}, {"emulated": 8}, {"bn": 96, "emulated": 6}, {"pingpong": False}],
    128: [{"bn": 176, "q_stages": 1, "pingpong": True, "slack": 0.0}, {"bn": 176, "q_stages": 1}, {"emulated": 8}, {"emulated": 4},
          {"pingpong": True, "emulated": 8}, {"warpgroups": 3, "bn": 80, "stages": 2}, {"bn": 144, "q_stages": 1}],
    256: [{"bn": 80}, {"pingpong": True}, {"emulated": 8}],
}
# Of the path for sm_80.
VARIANTS_SM80 = {
    64: [{"bn": 64}, {"slack": 0.0}],
    128: [{"bn": 48}, {"bn": 32}, {"slack": 0.0}],
    256: [{"bn": 32}],
}
SMEM = 232448


def name_of(heads, s, causal):
    """As "d128 s8192 causal"; keys and values of different extents are both told."""
    return f"d{'-'.join(map(str, dict.fromkeys(heads)))} s{s} {'causal' if causal else 'full'}"


def fits(d, tile):
    """Whether there is shared memory for it."""
    bn, warpgroups = tile.get("bn", 128 if d <= 128 else 64), tile.get("warpgroups", 3 if d == 64 else 2)
    q_stages, stages = tile.get("q_stages", 2 if d <= 128 else 1), tile.get("stages", 3 if d <= 64 else 2)
    return 2 * d * (64 * warpgroups * q_stages + 2 * bn * stages) + 1024 <= SMEM


def reference(q, k, v, scale, causal, batch, head, rows):
    """Rows of a head in f64, and the logarithms of their sums."""
    scores = (q[batch, rows, head].double() @ k[batch, :, head].double().T) * scale
    if causal:
        hidden = torch.arange(k.shape[1], device="cuda")[None, :] > rows[:, None]
        scores.masked_fill_(hidden, float("-inf"))
    return scores.softmax(-1) @ v[batch, :, head].double(), scores.logsumexp(-1)


def sdpa(backend, q, k, v, causal):
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=str(HERE.parent.parent / "examples/attention"), help="the folder of the kernels")
    parser.add_argument("--only", default="", help="cases whose name has this in it, such as 'd128 s8192 causal'")
    parser.add_argument("--quick", action="store_true", help="some sizes alone")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--sm80", action="store_true", help="the kernel for sm_80 and later, against FlashAttention-2 above all")
    parser.add_argument("--type", choices=TYPES, default="bf16")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    name = "attention_sm80" if arguments.sm80 else "attention_sm90"
    kernel = cutec.load(f"{arguments.source}/{name}.cute")[name]
    variants = VARIANTS_SM80 if arguments.sm80 else VARIANTS
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}\n")
    print("| case | cuDNN TFLOP/s | FA2 | cutec | of cuDNN | of FA2 | parameters | error (cuDNN) |\n|---|---|---|---|---|---|---|---|")
    rows, wrong = [], 0

    def specialized(heads, causal, tile):
        d, dv = heads
        special = kernel.specialize(t=arguments.type, d=d, dv=dv, mask="causal" if causal else "unmasked", **tile)
        special.compile(arch="sm_90a")
        return special

    cases = [case for case in CASES if not arguments.quick or (case[0][1], case[1]) in QUICK]
    names = {case: name_of(*case) for case in cases}
    cases = [case for case in cases if arguments.only in names[case]]
    makers = {}
    for heads, causal in sorted({(heads, causal) for heads, _, causal in cases}):
        more = [tile for tile in variants.get(heads[1], []) if arguments.sm80 or fits(heads[1], tile)] if arguments.search and heads[0] == heads[1] else []
        for tile in [{}] + more:
            makers[heads, causal, named(tile)] = functools.partial(specialized, heads, causal, tile)
    made = made_at_once(makers)
    for heads, s, causal in cases:
        d, dv = heads
        b, h = TOKENS // s, WIDTH // d
        q, k, v = (normal(b, s, h, e, dtype=TYPES[arguments.type]) for e in (d, d, dv))
        scale = d**-0.5
        more = [] if arguments.sm80 else [torch.zeros(2, dtype=torch.int32, device="cuda")]
        o = torch.empty_like(v)
        lse = torch.empty(b, h, s, dtype=torch.float32, device="cuda")
        work, errors = {}, {}
        sample = torch.cat([torch.arange(0, s, max(1, s // 61), device="cuda"), torch.tensor([s - 1], device="cuda")])
        exact = {(batch, head): reference(q, k, v, scale, causal, batch, head, sample) for batch, head in {(0, 0), (b - 1, h - 1), (b // 2, 1)}}

        def error_of(result):
            return max(((result[at[0], sample, at[1]].double() - rows_of[0]).abs().nan_to_num(nan=1e9).max() / rows_of[0].abs().max()).item()
                       for at, rows_of in exact.items())

        for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("FA2", SDPBackend.FLASH_ATTENTION)):
            try:
                errors[name] = error_of(sdpa(backend, q, k, v, causal).transpose(1, 2))
            except RuntimeError as error:
                print(f"{names[heads, s, causal]}: {name} does not take these heads: {str(error).splitlines()[0][:200]}", file=sys.stderr)
                continue
            work[name] = [lambda backend=backend: sdpa(backend, q, k, v, causal)]
        allowed = max([4e-3, *(2 * error for error in errors.values())])
        for (of_heads, of_causal, name), special in made.items():
            if (of_heads, of_causal) != (heads, causal):
                continue
            o.fill_(float("nan"))
            lse.fill_(float("nan"))
            special(q, k, v, o, lse, scale, *more)
            errors[name] = error_of(o)
            of_lse = max((lse[at[0], at[1], sample].double() - rows_of[1]).abs().nan_to_num(nan=1e9).max().item() for at, rows_of in exact.items())
            if not (errors[name] < allowed and of_lse < 1e-3):
                wrong += 1
                print(f"{names[heads, s, causal]} {name}: wrong by {errors[name]:.1e} ({allowed:.1e} allowed), lse by {of_lse:.1e}")
                continue
            work[name] = [lambda special=special: special(q, k, v, o, lse, scale, *more)]
        measured = compare(work, batch_ms=3.0 if arguments.search else 8.0)
        ranked = sorted((name for name in work if name not in ("cuDNN", "FA2")), key=lambda name: statistics.median(measured[name]))
        if not ranked:
            continue
        best = ranked[0]
        flop = 2.0 * b * h * s * s * (d + dv) * (0.5 if causal else 1.0)
        speed = lambda who: flop / statistics.median(measured[who]) * 1e-9 if who in measured else float("nan")
        of = {who: ratio(measured, who, best) if who in measured else float("nan") for who in ("cuDNN", "FA2")}
        rows.append({"case": names[heads, s, causal], "ratio": of["cuDNN"], "fa2": of["FA2"], "parameters": best,
                     "tflops": {who: speed(who) for who in measured}, "errors": errors})
        others = ", ".join(f"{name}: {speed(name):.0f}" for name in ranked[1:])
        print(f"| {names[heads, s, causal]} | {speed('cuDNN'):.0f} | {speed('FA2'):.0f} | {speed(best):.0f} | {rows[-1]['ratio']:.3f} | {rows[-1]['fa2']:.2f} | "
              f"{best} | {errors[best]:.1e} ({errors.get('cuDNN', errors.get('FA2', float('nan'))):.1e}) |{' ' + others if others else ''}", flush=True)
        del q, k, v, o, lse, work, exact
    ratios = [row["ratio"] for row in rows if not math.isnan(row["ratio"])]
    if ratios:
        print(f"\ngeometric mean {geometric_mean(ratios):.3f} of cuDNN, least {min(ratios):.3f}")
    save(rows, arguments.json)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
