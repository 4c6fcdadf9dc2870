"""Candidates of how `wgmma` adds products of 8-bit floats, each by its definition in NumPy.

`mma.py --models` holds them against what a GPU computed: the one that never differs is how it adds. The first is what
the simulator does (`runtime/src/sim/exec/tensor.rs`).
"""
from dataclasses import dataclass

# Of a type: bits of the mantissa, and the least exponent.
LEAST = {"f8e4m3": (3, -6), "f8e5m2": (2, -14), "f16": (10, -14), "f32": (23, -126)}
NO_EXPONENT = -10000


@dataclass
class Model:
    """How products and C become D."""
    name: str
    # Bits below the largest exponent of what is added at once.
    kept: int = 13
    # Bits of the mantissa of a sum in f32.
    mantissa: int = 13
    # The places of K that are added at once, one list after the other.
    parts: tuple = (tuple(range(32)),)
    # Whether C is added at the end, as by `add.f32`.
    c_last: bool = False
    # The exponent of a product is that of its factors, or of their product.
    of_product: bool = False


HALVES = (tuple(range(16)), tuple(range(16, 32)))
PAIRS = tuple(tuple(k for k in range(32) if k // 2 % 2 == half) for half in range(2))
MODELS = [Model("13 bits, e8m13"),
          Model("13 bits, f32", mantissa=23), Model("14 bits, e8m13", kept=14), Model("14 bits, e8m14", kept=14, mantissa=14),
          Model("14 bits, f32", kept=14, mantissa=23), Model("12 bits, e8m13", kept=12), Model("13 bits, e8m12", mantissa=12),
          Model("13 bits, e8m13, halves of K", parts=HALVES), Model("13 bits, e8m13, pairs in turn", parts=PAIRS),
          Model("13 bits, e8m13, by quarters", parts=tuple(tuple(range(k, k + 8)) for k in range(0, 32, 8))),
          Model("13 bits, e8m13, C last", c_last=True), Model("13 bits, e8m13, exponents of products", of_product=True),
          Model("as mma: 25 bits, pairs in turn, C last", kept=25, mantissa=23, parts=PAIRS, c_last=True),
          Model("25 bits, f32", kept=25, mantissa=23)]


def decode(np, ty, bits):
    """The numbers of a type, in f64."""
    if ty == "f16":
        return bits.view("<f2").astype(np.float64)
    if ty == "f32":
        with np.errstate(invalid="ignore"):
            return bits.view("<f4").astype(np.float64)
    fraction, least = LEAST[ty]
    magnitude = (bits & 0x7f).astype(np.int64)
    exponent, part = magnitude >> fraction, magnitude & ((1 << fraction) - 1)
    value = np.where(exponent > 0, np.ldexp(1.0 * part + (1 << fraction), exponent - 1 + least - fraction),
                     np.ldexp(1.0 * part, least - fraction))
    if ty == "f8e5m2":
        value = np.where(exponent == 31, np.where(part == 0, np.inf, np.nan), value)
    else:
        value = np.where(magnitude == 0x7f, np.nan, value)
    return np.where(bits >> 7 == 1, -value, value)


def exponents(np, values, least):
    _, exponent = np.frexp(values)
    return np.where(values == 0, NO_EXPONENT, np.maximum(exponent - 1, least))


def cut(np, values, mantissa):
    """Without the bits of lesser weight than an f32 with so many bits has; NumPy rounds what f64 holds exactly."""
    fraction, exponent = np.frexp(values)
    exponent = np.maximum(exponent, LEAST["f32"][1] + 1)
    return np.ldexp(np.trunc(np.ldexp(values, mantissa + 1 - exponent)), exponent - mantissa - 1)


def result(np, model, atom, a, b, c):
    """D of a model as numbers, for bits of operands (blocks, m or n, k) and of C (blocks, m, n)."""
    ta, tb, tc = atom[4:7]
    x, y = decode(np, ta, a)[:, :, None, :], decode(np, tb, b)[:, None, :, :]
    sums = decode(np, tc, c)
    total = np.zeros_like(sums) if model.c_last else sums
    with np.errstate(all="ignore"):
        products = x * y
        special = ~np.isfinite(products.sum(axis=3) + sums)
        if model.of_product:
            of_products = exponents(np, products, -28)
        else:
            of_products = exponents(np, x, LEAST[ta][1]) + exponents(np, y, LEAST[tb][1])
        for part in model.parts:
            part = list(part)
            largest = np.maximum(of_products[..., part].max(axis=3), exponents(np, total, LEAST[tc][1]))
            largest = np.maximum(largest, -133)
            shift = model.kept - largest
            added = np.trunc(np.ldexp(products[..., part], shift[..., None])).sum(axis=3) + np.trunc(np.ldexp(total, shift))
            total = np.ldexp(added, -shift)
            total = total.astype(np.float16).astype(np.float64) if tc == "f16" else cut(np, total, model.mantissa)
        if model.c_last:
            total = total + sums
            total = total.astype(np.float16 if tc == "f16" else np.float32).astype(np.float64)
        return np.where(special, products.sum(axis=3) + sums, total)


def compare(np, atom, arguments, theirs):
    """For each model: how many results of a GPU differ, the largest difference by the magnitude of the result, and the
    mean of those that differ."""
    found = decode(np, atom[6], theirs)
    for model in MODELS:
        ours = np.concatenate([result(np, model, atom, *(part[first:first + 64] for part in arguments))
                               for first in range(0, len(theirs), 64)])
        if atom[6] == "f16":
            ours = np.where(np.abs(ours) >= 65520, np.copysign(np.inf, ours), ours)
        with np.errstate(all="ignore"):
            differ = ~((ours == found) | np.isnan(ours) & np.isnan(found))
            by = np.abs(ours - found)[differ] / np.abs(found)[differ]
            by = by[np.isfinite(by)]
        print(f"| {atom[6]} of {atom[4]}, {atom[5]} | {model.name} | {differ.size} | {differ.sum()} | "
              f"{by.max() if by.size else 0:.1e} | {by.mean() if by.size else 0:.1e} |", flush=True)
