#!/usr/bin/env python3
"""Attention at the tile level against that of examples/attention and what PyTorch calls, bf16, forward, on a Hopper GPU.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/tile_attention.py [--source examples] [--only TEXT] [--quick] [--json FILE]
    test-suite/gpu/tile_attention.py --sm80     compiled for sm_80, against FlashAttention-2
    test-suite/gpu/tile_attention.py --bias     a tensor is added to the scores, against PyTorch's attention with such a mask

16384 queries in all and heads of 2048 elements together; operands are normal. Each result is checked against f64 for some rows of some
heads. Ratios are medians of the rounds', above 1 where the tile level is faster. The exit status is 1 where a result is wrong.
"""

import argparse
import functools
import pathlib
import statistics
import sys

import cutec
import torch
from torch.nn.attention import SDPBackend

from attention import TOKENS, WIDTH, reference, sdpa
from rounds import compare, made_at_once, normal, ratio, save

HERE = pathlib.Path(__file__).resolve().parent
PEERS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FA2": SDPBackend.FLASH_ATTENTION}
# Extent of a head, queries and keys, causal.
CASES = [(d, s, causal) for d in (128, 64) for s in (8192, 16384, 2048) for causal in (False, True)]


def error_of(result, exact, rows):
    """The largest error of some rows of heads, relative to the largest element."""
    return max(((result[batch, rows, head].double() - found).abs().nan_to_num(nan=1e9).max() / found.abs().max()).item()
               for (batch, head), (found, _) in exact.items())


def measure(kernels, peer, d, s, causal, rounds):
    b, h = TOKENS // s, WIDTH // d
    q, k, v = (normal(b, s, h, d) for _ in range(3))
    o, lse = torch.empty_like(q), torch.empty(b, h, s, device="cuda")
    counter = torch.zeros(2, dtype=torch.int32, device="cuda")
    scale = d**-0.5
    rows = torch.cat([torch.arange(0, s, max(1, s // 61), device="cuda"), torch.tensor([s - 1], device="cuda")])
    exact = {at: reference(q, k, v, scale, causal, *at, rows) for at in {(0, 0), (b - 1, h - 1)}}
    tile, own = kernels["tile", d, causal], kernels["cute", d, causal]
    # Blocks for sm_80 by hand take no tiles in turn.
    more = [counter] if peer == "cuDNN" else []
    work = {"tile": [lambda: tile(q, k, v, o, lse, scale, counter)], "cute": [lambda: own(q, k, v, o, lse, scale, *more)]}
    errors = {}
    for who, (launch,) in work.items():
        o.fill_(float("nan"))
        lse.fill_(float("nan"))
        launch()
        errors[who] = error_of(o, exact, rows)
        of_lse = max((lse[batch, head, rows].double() - found).abs().nan_to_num(nan=1e9).max().item() for (batch, head), (_, found) in exact.items())
        errors[who] = errors[who] if of_lse < 1e-3 else float("inf")
    errors[peer] = error_of(sdpa(PEERS[peer], q, k, v, causal).transpose(1, 2), exact, rows)
    work[peer] = [lambda: sdpa(PEERS[peer], q, k, v, causal)]
    times = compare(work, rounds=rounds)
    flop = 4.0 * b * h * s * s * d * (0.5 if causal else 1.0)
    row = {"d": d, "s": s, "causal": causal, "errors": errors, "wrong": not errors["tile"] <= max(1e-2, 1.5 * errors[peer])}
    row.update({who: flop / statistics.median(each) * 1e-9 for who, each in times.items()})
    row.update(of_cute=ratio(times, "cute", "tile"), of_peer=ratio(times, peer, "tile"))
    print(f"| {d} | {s} | {'causal' if causal else 'full'} | {row['tile']:.0f} | {row['cute']:.0f} | {row[peer]:.0f} | {row['of_cute']:.3f} | "
          f"{row['of_peer']:.3f} | {'**wrong** ' if row['wrong'] else ''}{errors['tile']:.1e}, {errors['cute']:.1e}, {errors[peer]:.1e} |", flush=True)
    return row


def biased(source, d, s, causal, rounds):
    """What a tensor (heads, queries, keys) that is added to the scores costs, and what PyTorch makes with it as a mask."""
    b, h = TOKENS // s, WIDTH // d
    q, k, v = (normal(b, s, h, d) for _ in range(3))
    bias = normal(h, s, s)
    o, lse = torch.empty_like(q), torch.empty(b, h, s, device="cuda")
    counter = torch.zeros(2, dtype=torch.int32, device="cuda")
    scale = d**-0.5
    names = {"bias": "tile_attention_bias", "plain": "tile_attention"}
    kernels = {who: getattr(source, name).specialize(d=d, mask="causal" if causal else "unmasked") for who, name in names.items()}
    work = {"plain": [lambda: kernels["plain"](q, k, v, o, lse, scale, counter)],
            "bias": [lambda: kernels["bias"](q, k, v, o, lse, scale, counter, bias)]}
    # PyTorch takes no mask beside `is_causal`.
    mask = bias.masked_fill(torch.ones(s, s, dtype=torch.bool, device="cuda").triu(1), float("-inf")) if causal else bias
    turned = [x.transpose(1, 2) for x in (q, k, v)]

    def peer(backend):
        with torch.nn.attention.sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(*turned, attn_mask=mask[None].expand(b, -1, -1, -1), scale=scale)

    for who, backend in {"cuDNN": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}.items():
        try:
            peer(backend)
            work[who] = [functools.partial(peer, backend)]
        except RuntimeError as error:
            print(f"{who} takes no such mask: {str(error).splitlines()[0]}", file=sys.stderr)
    o.fill_(float("nan"))
    work["bias"][0]()
    rows = torch.cat([torch.arange(0, s, max(1, s // 61), device="cuda"), torch.tensor([s - 1], device="cuda")])
    wrong, errors = 0.0, {}
    for batch, head in {(0, 0), (b - 1, h - 1)}:
        scores = q[batch, rows, head].double() @ k[batch, :, head].double().T * scale + mask[head, rows].double()
        exact = scores.softmax(-1) @ v[batch, :, head].double()
        for who, result in {"bias": o[batch, rows, head], **{who: work[who][0]()[batch, head, rows] for who in work if who not in names}}.items():
            error = ((result.double() - exact).abs().nan_to_num(nan=1e9).max() / exact.abs().max()).item()
            errors[who] = max(error, errors.get(who, 0.0))
    times = compare(work, rounds=rounds)
    flop = 4.0 * b * h * s * s * d * (0.5 if causal else 1.0)
    row = {"d": d, "s": s, "causal": causal, "errors": errors,
           "wrong": not errors["bias"] <= max(1e-2, 1.5 * max((errors[who] for who in errors if who != "bias"), default=0.0))}
    row.update({who: flop / statistics.median(each) * 1e-9 for who, each in times.items()})
    peers = " | ".join(f"{row[who]:.0f} | {ratio(times, who, 'bias'):.3f}" if who in row else "- | -" for who in ("cuDNN", "efficient"))
    print(f"| {d} | {s} | {'causal' if causal else 'full'} | {row['bias']:.0f} | {row['plain']:.0f} | {peers} | {'**wrong** ' if row['wrong'] else ''}"
          f"{', '.join(f'{errors[who]:.1e}' for who in errors)} |", flush=True)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=HERE.parents[1] / "examples", help="the folder of the kernels")
    parser.add_argument("--only", default="", help="cases whose name has this in it, such as 'd128 s8192 causal'")
    parser.add_argument("--quick", action="store_true", help="five rounds, sequences of 8192 alone")
    parser.add_argument("--sm80", action="store_true", help="both levels for sm_80, against FlashAttention-2")
    parser.add_argument("--bias", action="store_true", help="with a tensor that is added to the scores")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    cases = [(d, s, causal) for d, s, causal in CASES
             if arguments.only in f"d{d} s{s} {'causal' if causal else 'full'}" and (s == 8192 or not arguments.quick)]
    if arguments.bias:
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, TFLOP/s\n")
        print("| heads of | queries | mask | with a bias | without | cuDNN | ours / it | efficient | ours / it | errors |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        source = cutec.load(arguments.source / "tile_attention.cute")
        shapes = [(d, 4096, causal) for d in (128, 64) for causal in (False, True)]
        rows = [biased(source, *shape, 5 if arguments.quick else 11) for shape in shapes]
        save(rows, arguments.json)
        return 1 if any(row["wrong"] for row in rows) else 0
    arch, peer = ("sm_80", "FA2") if arguments.sm80 else ("sm_90a", "cuDNN")
    by_hand = "attention_sm80" if arguments.sm80 else "attention_sm90"
    sources = {"tile": cutec.load(arguments.source / "tile_attention.cute", arch=arch).tile_attention,
               "cute": cutec.load(arguments.source / f"attention/{by_hand}.cute", arch=arch)[by_hand]}

    def specialized(level, d, causal):
        kernel = sources[level].specialize(d=d, mask="causal" if causal else "unmasked")
        kernel.compile(arch=arch)
        return kernel

    wanted = {(level, d, causal) for level in sources for d, _, causal in cases}
    kernels = made_at_once({one: functools.partial(specialized, *one) for one in sorted(wanted)})
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, TFLOP/s\n")
    print(f"| heads of | queries | mask | tile level | cute level | {peer} | of cute | of {peer} | errors |\n|---|---|---|---|---|---|---|---|---|")
    rows = [measure(kernels, peer, *case, 5 if arguments.quick else 11) for case in cases]
    save(rows, arguments.json)
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
