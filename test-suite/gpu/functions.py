#!/usr/bin/env python3
"""Functions of std/math.cute for every f32, against PyTorch in f64: how far off they are, in units in the last
place, and whether infinities and NaN are where they are expected.

    test-suite/gpu/functions.py [--only TEXT] [--source frontend/std]

`--source` is where the standard library is taken from; without it, it is that of the installed package.
"""

import argparse
import math
import sys

import cutec
import torch

KERNEL = """
import "{source}/math.cute";
kernel of_one<f = sign>(x: tensor<f32, n>, y: mut tensor<f32, n>) launch tiles(n / 2048) {{
    y.tile(2048, tile.m) = f(x.tile(2048, tile.m));
}}
"""

# What each is in f64, how many ulp are promised, and where.
EVERYWHERE = (-math.inf, math.inf)
FUNCTIONS = {
    "sign": (lambda x: torch.where(x.isnan(), x, x.sign()), 0, EVERYWHERE),
    "precise_exp": (torch.exp, 1, EVERYWHERE),
    "precise_log": (torch.log, 1, (0.0, math.inf)),
    "precise_tanh": (torch.tanh, 3, EVERYWHERE),
    "precise_sin": (torch.sin, 2, (-(2.0**40), 2.0**40)),
    "precise_cos": (torch.cos, 2, (-(2.0**40), 2.0**40)),
    "tan": (torch.tan, 4, (-(2.0**40), 2.0**40)),
    "asin": (torch.asin, 3, EVERYWHERE),
    "acos": (torch.acos, 2, EVERYWHERE),
    "atan": (torch.atan, 2, EVERYWHERE),
    "sinh": (torch.sinh, 3, EVERYWHERE),
    "cosh": (torch.cosh, 3, EVERYWHERE),
    "asinh": (torch.asinh, 2, EVERYWHERE),
    "acosh": (torch.acosh, 3, EVERYWHERE),
    "atanh": (torch.atanh, 3, EVERYWHERE),
    "log1p": (torch.log1p, 2, EVERYWHERE),
    "expm1": (torch.expm1, 2, EVERYWHERE),
    "log10": (torch.log10, 3, (0.0, math.inf)),
    "cbrt": (lambda x: x.sign() * x.abs().pow(1.0 / 3.0), 1, EVERYWHERE),
    "erfc": (torch.special.erfc, 5, EVERYWHERE),
    "erfinv": (torch.special.erfinv, 3, EVERYWHERE),
    "lgamma": (torch.lgamma, 8, (0.0, math.inf)),
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 88.8, -104.0, 3.4e38]


def ulps(y, exact):
    """How far y, of f32, is off, in units in the last place of f32; infinite where one alone is infinite or NaN."""
    exponent = torch.frexp(exact)[1].clamp(min=-125)
    off = (y.double() - exact).abs() * torch.exp2((24 - exponent).double())
    rounded = exact.float()
    same = (y == rounded) | (y.isnan() & rounded.isnan())
    off = torch.where(same, 0.0, off)
    # What is rounded to infinity may be the largest number, and the other way round.
    near = (y.isinf() | rounded.isinf()) & (y.sign() == rounded.sign()) & (exact.abs() > 3.4028e38) & (exact.abs() < 3.4029e38)
    off = torch.where(near, 1.0, off)
    return torch.where(off.isfinite(), off, math.inf)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--source", default="std")
    arguments = parser.parse_args()
    of_one = cutec.loads(KERNEL.format(source=arguments.source)).of_one
    print("| function | largest error, ulp | at | promised | in |\n|---|---|---|---|---|")
    wrong = 0
    part = 1 << 26
    for name, (reference, promised, (low, high)) in FUNCTIONS.items():
        if arguments.only not in name:
            continue
        kernel = of_one.specialize(f=name)
        worst, where = -1.0, math.nan
        for first in range(-(1 << 31), 1 << 31, part):
            x = torch.arange(first, first + part, dtype=torch.int64, device="cuda").int().view(torch.float32)
            y = torch.full_like(x, math.pi)
            kernel(x, y)
            off = ulps(y, reference(x.double()))
            off = torch.where((x >= low) & (x <= high) | x.isnan(), off, -1.0)
            most, at = off.max(0)
            if most.item() > worst:
                worst, where = most.item(), x[at].item()
        x = torch.tensor(SPECIAL + [0.0] * (2048 - len(SPECIAL)), device="cuda")
        y = torch.empty_like(x)
        kernel(x, y)
        fine = worst <= promised
        wrong += not fine
        span = "all" if low == -math.inf else f"{low:.3g} to {high:.3g}"
        print(f"| `{name}` | {worst:.2f} | {where:.9g} | {promised}{'' if fine else ' **missed**'} | {span} |")
        if not fine:
            print(f"  at the ends: {[(a, b) for a, b in zip(SPECIAL, y[: len(SPECIAL)].tolist())]}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
