#!/usr/bin/env python3
"""The convolutions of examples/hopper/conv.cute against cuDNN (through PyTorch), bf16, channels last, on a Hopper GPU.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/convolutions.py [--source examples/hopper/conv.cute] [--only TEXT] [--search] [--json FILE]

Each layer is checked against cuDNN's own result in f32 of the same operands. `--search` tries other tiles and prints the best.
"""

import argparse
import functools
import pathlib
import statistics
import sys

import cutec
import torch
import torch.nn.functional as F

from rounds import compare, geometric_mean, made_at_once, named, normal, ratio, save, sets

HERE = pathlib.Path(__file__).resolve().parent

# n, h (and w), c, k, filter, pad, step; how many times ResNet-50 has it.
RESNET50 = [
    ("1x1 64>64 @56", 56, 64, 64, 1, 0, 1, 1),
    ("3x3 64>64 @56", 56, 64, 64, 3, 1, 1, 3),
    ("1x1 64>256 @56", 56, 64, 256, 1, 0, 1, 4),
    ("1x1 256>64 @56", 56, 256, 64, 1, 0, 1, 2),
    ("1x1 256>128 @56", 56, 256, 128, 1, 0, 1, 1),
    ("3x3 128>128 /2 @56", 56, 128, 128, 3, 1, 2, 1),
    ("3x3 128>128 @28", 28, 128, 128, 3, 1, 1, 3),
    ("1x1 128>512 @28", 28, 128, 512, 1, 0, 1, 4),
    ("1x1 256>512 /2 @56", 56, 256, 512, 1, 0, 2, 1),
    ("1x1 512>128 @28", 28, 512, 128, 1, 0, 1, 3),
    ("1x1 512>256 @28", 28, 512, 256, 1, 0, 1, 1),
    ("3x3 256>256 /2 @28", 28, 256, 256, 3, 1, 2, 1),
    ("3x3 256>256 @14", 14, 256, 256, 3, 1, 1, 5),
    ("1x1 256>1024 @14", 14, 256, 1024, 1, 0, 1, 6),
    ("1x1 512>1024 /2 @28", 28, 512, 1024, 1, 0, 2, 1),
    ("1x1 1024>256 @14", 14, 1024, 256, 1, 0, 1, 5),
    ("1x1 1024>512 @14", 14, 1024, 512, 1, 0, 1, 1),
    ("3x3 512>512 /2 @14", 14, 512, 512, 3, 1, 2, 1),
    ("3x3 512>512 @7", 7, 512, 512, 3, 1, 1, 2),
    ("1x1 512>2048 @7", 7, 512, 2048, 1, 0, 1, 3),
    ("1x1 1024>2048 /2 @14", 14, 1024, 2048, 1, 0, 2, 1),
    ("1x1 2048>512 @7", 7, 2048, 512, 1, 0, 1, 2),
]

# Of a 3-D U-Net: extent of the cube, c, k.
UNET3D = [
    ("3x3x3 32>64 @64", 64, 32, 64),
    ("3x3x3 64>64 @64", 64, 64, 64),
    ("3x3x3 64>128 @32", 32, 64, 128),
    ("3x3x3 128>128 @32", 32, 128, 128),
    ("3x3x3 128>256 @16", 16, 128, 256),
    ("3x3x3 256>256 @16", 16, 256, 256),
    ("3x3x3 512>256 @16", 16, 512, 256),
    ("3x3x3 192>64 @64", 64, 192, 64),
]

COOPERATIVE = [(128, 64), (128, 128), (128, 192), (128, 256), (192, 64), (192, 128), (256, 64), (256, 128)]
PINGPONG = [(64, 64), (64, 128), (64, 192), (64, 256), (128, 64), (128, 128)]
TILES = [{"bm": bm, "bn": bn} for bm, bn in COOPERATIVE] + [
    {"bm": bm, "bn": bn, "schedule": "sm90_pingpong"} for bm, bn in PINGPONG]


def layers(batch: int):
    """Name, shape of x, shape of f, pad, step, how often."""
    for name, h, c, k, r, pad, step, times in RESNET50:
        yield name, (batch, h, h, c), (k, r, r, c), pad, step, times
    for name, h, c, k in UNET3D:
        yield name, (2, h, h, h, c), (k, 3, 3, 3, c), 1, 1, 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=str(HERE.parent.parent / "examples/hopper/conv.cute"))
    parser.add_argument("--only", default="")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    module = cutec.load(arguments.source)
    print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}\n")
    print("| layer | cuDNN TFLOP/s | cutec | ratio | parameters | error |\n|---|---|---|---|---|---|")
    rows, wrong = [], 0
    for name, image, filters, pad, step, times in layers(arguments.batch):
        if arguments.only not in name:
            continue
        spatial = len(image) - 2
        r = filters[1]
        out = [(extent + 2 * pad - r) // step + 1 for extent in image[1:-1]]
        result = (image[0], *out, filters[0])
        flop = 2.0 * torch.Size(result).numel() * filters[-1] * r**spatial
        count = sets(2 * (torch.Size(image).numel() + torch.Size(filters).numel() + torch.Size(result).numel()))
        xs = [normal(*image) for _ in range(count)]
        fs = [normal(*filters) for _ in range(count)]
        ys = [torch.empty(result, dtype=torch.bfloat16, device="cuda") for _ in range(count)]
        conv = F.conv2d if spatial == 2 else F.conv3d
        to_peer = (0, 3, 1, 2) if spatial == 2 else (0, 4, 1, 2, 3)
        peers = [(lambda x=x.permute(to_peer), f=f.permute(to_peer): conv(x, f, stride=step, padding=pad)) for x, f in zip(xs, fs)]
        window = {"r" if spatial == 2 else "e": r, "pad": pad, "step": step, **({"bc": 32} if filters[-1] <= 32 else {})}
        kernel = module.conv2d if spatial == 2 else module.conv3d
        choices = TILES if arguments.search else [{}]
        choices = [tile for tile in choices if tile.get("bn", 64) <= max(64, filters[0])]

        def launches(tile):
            special = kernel.specialize(**window, **tile)
            special.compile(xs[0], fs[0], ys[0])
            return [(lambda x=x, f=f, y=y: special(x, f, y)) for x, f, y in zip(xs, fs, ys)]

        variants = made_at_once({named(tile): functools.partial(launches, tile) for tile in choices}, name)
        ys[0].fill_(float("nan"))
        next(iter(variants.values()))[0]()
        expected = conv(xs[0].permute(to_peer).float(), fs[0].permute(to_peer).float(), stride=step, padding=pad)
        got = ys[0].permute(to_peer).float()
        error = ((got - expected).abs().max() / expected.abs().max()).item()
        peer_error = ((peers[0]().float() - expected).abs().max() / expected.abs().max()).item()
        wrong += not error < max(2 * peer_error, 4e-3)
        del expected, got
        measured = compare({"cuDNN": peers, **variants}, batch_ms=3.0 if arguments.search else 8.0)
        ranked = sorted(variants, key=lambda v: -ratio(measured, "cuDNN", v))
        best = ranked[0]
        rows.append({"name": name, "ratio": ratio(measured, "cuDNN", best), "parameters": best, "times": times, "error": error, "3d": spatial == 3})
        speed = lambda who: flop / statistics.median(measured[who]) * 1e-9
        others = ", ".join(f"{v}: {ratio(measured, 'cuDNN', v):.2f}" for v in ranked[1:4])
        print(f"| {name} | {speed('cuDNN'):.0f} | {speed(best):.0f} | {rows[-1]['ratio']:.3f} | {best} | {error:.1e} ({peer_error:.1e}) |"
              f"{' ' + others if others else ''}", flush=True)
        del xs, fs, ys, peers, variants
        torch.cuda.empty_cache()
    for kind, which in (("ResNet-50", False), ("3-D U-Net", True)):
        found = [row["ratio"] for row in rows if row["3d"] == which]
        if found:
            print(f"\n{kind}: geometric mean {geometric_mean(found):.3f}, least {min(found):.3f}")
    save(rows, arguments.json)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
