#!/usr/bin/env python3
"""Compares what every `mma.sync` atom and `wgmma` of every type compute on a GPU with the simulator, bit for bit.

    mma.py FOLDER --compile CUTEC     writes the kernels of all atoms to FOLDER
    mma.py FOLDER [--blocks N] [--seed S] [--keep FILE.npz] [--against FILE.npz]

The second form needs NumPy, a GPU, and in FOLDER or on the path `cutec-sim` and `cutec-launch`. Operands are
random bits of several kinds: ordinary numbers, all exponents, cancellation, denormals, infinities and NaN. It
prints a table in Markdown; exit code 1 where a bit differs. `--keep` saves what the GPU gave; `--against` compares
the simulator with that, and needs no GPU. `--models` compares what the GPU gave of 8-bit floats by `wgmma` with several
ways to add as well (`fp8_models.py`), in a second table.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import fp8_models

# m, n, k, the atom in the language, A, B, C.
ATOMS = [
    (16, 8, 8, "sm80_16x8x8<f16, f32>", "f16", "f16", "f32"),
    (16, 8, 8, "sm80_16x8x8<f16, f16>", "f16", "f16", "f16"),
    (16, 8, 8, "sm80_16x8x8<bf16, f32>", "bf16", "bf16", "f32"),
    (16, 8, 16, "sm80_16x8x16<f16, f32>", "f16", "f16", "f32"),
    (16, 8, 16, "sm80_16x8x16<f16, f16>", "f16", "f16", "f16"),
    (16, 8, 16, "sm80_16x8x16<bf16, f32>", "bf16", "bf16", "f32"),
    (16, 8, 4, "sm80_16x8x4<tf32, f32>", "tf32", "tf32", "f32"),
    (16, 8, 8, "sm80_16x8x8<tf32, f32>", "tf32", "tf32", "f32"),
    (8, 8, 4, "sm80_8x8x4<f64, f64>", "f64", "f64", "f64"),
]
for _k in (16, 32):
    ATOMS += [(16, 8, _k, f"sm80_16x8x{_k}<{a}, {b}, i32>" if a != b else f"sm80_16x8x{_k}<{a}, i32>", a, b, "i32")
              for a in ("i8", "u8") for b in ("i8", "u8")]
ATOMS += [(16, 8, 32, f"sm80_16x8x32<{a}, {b}, f32>" if a != b else f"sm80_16x8x32<{a}, f32>", a, b, "f32")
          for a in ("f8e4m3", "f8e5m2") for b in ("f8e4m3", "f8e5m2")]

ATOMS += [(m, 8, _k, f"sm80_{m}x8x{_k}<{a}, {b}, i32>" if a != b else f"sm80_{m}x8x{_k}<{a}, i32>", a, b, "i32")
          for m, _k in ((8, 32), (16, 32), (16, 64)) for a in ("i4", "u4") for b in ("i4", "u4")]

# `wgmma`: a width for each pair of types, with A in shared memory.
ATOMS += [(64, 16, k, f"sm90_64x16x{k}<{types}, {sums}>", a, b, sums)
          for a, b, sums, k in
          [("f16", "f16", "f32", 16), ("f16", "f16", "f16", 16), ("bf16", "bf16", "f32", 16), ("tf32", "tf32", "f32", 8)]
          + [(a, b, sums, 32) for a in ("f8e4m3", "f8e5m2") for b in ("f8e4m3", "f8e5m2") for sums in ("f32", "f16")]
          + [(a, b, "i32", 32) for a in ("i8", "u8") for b in ("i8", "u8")]
          for types in [a if a == b else f"{a}, {b}"]]

# Bits of an element in memory, of the exponent, of the mantissa; of tf32 the low 13 bits have no meaning.
FLOATS = {"f16": (16, 5, 10), "bf16": (16, 8, 7), "tf32": (32, 8, 23), "f32": (32, 8, 23), "f64": (64, 11, 52),
          "f8e4m3": (8, 4, 3), "f8e5m2": (8, 5, 2)}
BITS = {"i8": 8, "u8": 8, "i32": 32} | {name: bits for name, (bits, _, _) in FLOATS.items()}
# Two to a byte, which is what memory has.
PACKED = ("i4", "u4")
# What NumPy writes; the types that it has not are raw bits.
STORED = {"f16": "<f2", "tf32": "<f4", "f32": "<f4", "f64": "<f8", "i8": "|i1", "i32": "<i4"}

KERNEL = """
fn multiply_add(atom, a, b, c, d) {{
    let mma = tiled_mma(atom);
    let thread = mma.slice(thread_idx.x);
    let pa = thread.partition_A(a);
    let pb = thread.partition_B(b);
    let pc = thread.partition_C(c);
    let pd = thread.partition_C(d);
    let fa = mma.fragment_A(pa);
    let fb = mma.fragment_B(pb);
    let fc = mma.fragment_C(pd);
    {load_a}pa, fa);
    {load_b}pb, fb);
    autovec_copy(pc, fc);
    gemm(mma, fa, fb, fc);
    autovec_copy(fc, pd);
}}

kernel {name}(a: tensor<{sa}, (blocks, {m}, {ka})>, b: tensor<{sb}, (blocks, {n}, {kb})>,
    c: tensor<{tc}, (blocks, {m}, {n})>, d: mut tensor<{tc}, (blocks, {m}, {n})>)
launch grid(blocks), block(32)
{{
    let i = block_idx.x;
    multiply_add({atom}, {a}, {b}, c[i, _, _], d[i, _, _]);
}}
"""


# A row of 32 bytes of each operand, swizzled in rows of so many.
WGMMA_KERNEL = """
kernel {name}(a: tensor<{ta}, (blocks, {m}, {k})>, b: tensor<{tb}, (blocks, {n}, {k})>,
    c: tensor<{tc}, (blocks, {m}, {n})>, d: mut tensor<{tc}, (blocks, {m}, {n})>)
launch grid(blocks), block(128)
{{
    let block = block_idx.x;
    let sA = smem<{ta}>(S<1,{base},3> o 0 o ({m}, {k}) : ({k}, 1));
    let sB = smem<{tb}>(S<1,{base},3> o 0 o ({n}, {k}) : ({k}, 1));
    for i in thread_idx.x..{m} * {k} step 128 {{ sA[i / {k}, i % {k}] = a[block, i / {k}, i % {k}]; }}
    for i in thread_idx.x..{n} * {k} step 128 {{ sB[i / {k}, i % {k}] = b[block, i / {k}, i % {k}]; }}
    fence_proxy_async();
    barrier();
    let mma = tiled_mma({atom});
    let thread = mma.slice(thread_idx.x);
    let pd = thread.partition_C(d[block, _, _]);
    let sums = mma.fragment_C(pd);
    autovec_copy(thread.partition_C(c[block, _, _]), sums);
    let tCsA = thread.partition_A(sA);
    let tCsB = thread.partition_B(sB);
    wgmma_fence();
    gemm(mma, tCsA[_, _, 0], tCsB[_, _, 0], sums);
    wgmma_commit();
    wgmma_wait(0);
    autovec_copy(sums, pd);
}}
"""


def is_wgmma(atom):
    return atom[0] == 64


def name_of(atom):
    m, n, k, _, ta, tb, tc = atom
    return f"{'wgmma' if is_wgmma(atom) else 'mma'}_{m}x{n}x{k}_{tc}_{ta}_{tb}"


def operand(name, ty, k):
    """What the kernel's text says of A or B: how it is stored, taken as a matrix, and copied."""
    packed = ty in PACKED
    return {f"s{name}": "u8" if packed else ty, f"k{name}": stored(ty, k),
            name: f"recast<{ty}>({name}[i, _, _])" if packed else f"{name}[i, _, _]",
            f"load_{name}": f"copy(universal<{ty}, bits = 32>, " if packed else "autovec_copy("}


def stored(ty, k):
    """Elements of memory for k of a type."""
    return k // 2 if ty in PACKED else k


def in_memory(atom):
    """The atom over what memory has: bytes for packed elements, and as many of them."""
    m, n, k, text, ta, tb, tc = atom
    a, b = ("u8" if ty in PACKED else ty for ty in (ta, tb))
    return m, n, stored(ta, k), text, a, b, tc


def compile_all(folder, cutec):
    os.makedirs(folder, exist_ok=True)
    for atom in ATOMS:
        m, n, k, text, ta, tb, tc = atom
        path = os.path.join(folder, name_of(atom) + ".cute")
        if is_wgmma(atom):
            base = {32: 2, 16: 3, 8: 4}[BITS[ta]]
            kernel = WGMMA_KERNEL.format(name=name_of(atom), m=m, n=n, k=k, atom=text, ta=ta, tb=tb, tc=tc, base=base)
        else:
            kernel = KERNEL.format(name=name_of(atom), m=m, n=n, atom=text, tc=tc,
                                   **operand("a", ta, k), **operand("b", tb, k))
        with open(path, "w", encoding="utf-8") as file:
            file.write(kernel)
        arch = "sm_90a" if is_wgmma(atom) else "sm_89"
        subprocess.run([cutec, path, "--arch", arch, "-o", path.removesuffix(".cute") + ".ptx"], check=True)


class Operands:
    """Random bits of the operands of `blocks` products for each kind."""

    def __init__(self, np, seed, blocks, atom):
        self.np, self.rng, self.blocks, self.atom = np, np.random.default_rng(seed), blocks, atom

    def raw(self, ty, shape):
        bits = self.np.dtype(f"u{BITS[ty] // 8}")
        return self.rng.integers(0, 1 << BITS[ty], shape, self.np.uint64, endpoint=False).astype(bits) \
            if BITS[ty] < 64 else self.rng.integers(0, (1 << 64) - 1, shape, self.np.uint64, endpoint=True)

    def floats(self, ty, shape, low, high, mantissa=None):
        """Random signs and mantissas; exponents from the bias + low to the bias + high, as far as there are."""
        if ty not in FLOATS:
            return self.raw(ty, shape)
        bits, exponent, fraction = FLOATS[ty]
        bias = (1 << (exponent - 1)) - 1
        most = (1 << exponent) - (1 if ty == "f8e4m3" else 2)
        lowest = max(0, min(most, bias + low))
        field = self.rng.integers(lowest, max(lowest, min(most, bias + high)) + 1, shape).astype(self.np.uint64)
        part = self.raw(ty, shape).astype(self.np.uint64)
        part = part & self.np.uint64((1 << fraction) - 1) if mantissa is None else part & self.np.uint64(mantissa)
        if ty == "f8e4m3":
            part = self.np.where(field == 15, part & self.np.uint64(6), part)
        sign = self.rng.integers(0, 2, shape).astype(self.np.uint64) << self.np.uint64(bits - 1)
        value = sign | field << self.np.uint64(fraction) | part
        return value.astype(self.np.dtype(f"u{bits // 8}"))

    def narrow(self, low, high, low_c, high_c, **options):
        m, n, k, _, ta, tb, tc = self.atom
        blocks = self.blocks
        return (self.floats(ta, (blocks, m, k), low, high, **options),
                self.floats(tb, (blocks, n, k), low, high, **options),
                self.floats(tc, (blocks, m, n), low_c, high_c, **options))

    def bits(self):
        m, n, k, _, ta, tb, tc = self.atom
        return tuple(self.raw(ty, (self.blocks, *shape)) for ty, shape in ((ta, (m, k)), (tb, (n, k)), (tc, (m, n))))

    def cancelling(self, low, high):
        """Products of neighbours cancel but for a change in one of them; C is small."""
        a, b, c = self.narrow(low, high, low - 12, high)
        sign = (1 << (BITS[self.atom[4]] - 1))
        order = self.rng.permutation(self.atom[2])
        first, second = order[0::2], order[1::2]
        a[:, :, second] = a[:, :, first] ^ a.dtype.type(sign)
        b[:, :, second] = b[:, :, first]
        a[:, :, order[0]] ^= a.dtype.type(1 << 13 if self.atom[4] == "tf32" else 1)
        return a, b, c

    def alone(self, low, high):
        """One product and C; the other products are zeros."""
        a, b, c = self.narrow(low, high, 2 * low, 2 * high)
        place = self.rng.integers(0, self.atom[2], (self.blocks, 1, 1))
        others = self.np.arange(self.atom[2]) != place
        return self.np.where(others, a & a.dtype.type(1 << (BITS[self.atom[4]] - 1)), a), b, c

    def sparse(self):
        """Mostly zeros of either sign."""
        def thin(values, ty):
            keep = self.rng.random(values.shape) < 0.15
            return self.np.where(keep, values, values & values.dtype.type(1 << (BITS[ty] - 1)))
        a, b, c = self.narrow(-3, 3, -6, 6)
        return thin(a, self.atom[4]), thin(b, self.atom[5]), thin(c, self.atom[6])

    def zeros(self, vanishing):
        """Products that are all -0, or so small that their sum is none of C's type; C is a zero."""
        ta, tb, tc = self.atom[4:7]
        a, b, c = self.narrow(-2000, -13 if ta in ("f16", "f8e5m2") else -70, 0, 0)
        c &= c.dtype.type(1 << (BITS[tc] - 1))
        if not vanishing:
            a &= a.dtype.type((1 << (BITS[ta] - 1)) - 1)
            b[:] = b.dtype.type(1 << (BITS[tb] - 1))
            c[:] = c.dtype.type(1 << (BITS[tc] - 1))
        return a, b, c

    def infinite(self):
        """Ordinary numbers, and a few infinities or NaN."""
        a, b, c = self.narrow(-3, 3, -3, 3)
        if self.atom[4] in FLOATS:
            for values, ty in ((a, self.atom[4]), (b, self.atom[5]), (c, self.atom[6])):
                bits, exponent, fraction = FLOATS[ty]
                special = ((1 << exponent) - 1) << fraction
                chosen = self.rng.random(values.shape) < 0.004
                values[chosen] |= values.dtype.type(special)
                chosen &= self.rng.random(values.shape) < 0.7
                if ty != "f8e4m3":
                    values[chosen] &= values.dtype.type(special | 1 << (bits - 1))
        return a, b, c

    def kinds(self):
        return {
            "ordinary": self.narrow(-3, 2, -4, 4),
            "ordinary, C large": self.narrow(-3, 2, 4, 14),
            "wide": self.narrow(-14, 12, -20, 15),
            "widest": self.narrow(-2000, 2000, -2000, 2000),
            "powers of two": self.narrow(-12, 8, -16, 12, mantissa=0),
            "cancelling": self.cancelling(-4, 4),
            "cancelling, wide": self.cancelling(-14, 10),
            "one product": self.alone(-12, 7),
            "small": self.narrow(-2000, -(1 << 3), -2000, -12),
            "denormal": self.narrow(-2000, -200 if FLOATS.get(self.atom[4], (0, 0))[1] == 8 else -6, -2000, -120),
            "sparse": self.sparse(),
            "negative zeros": self.zeros(False),
            "vanishing": self.zeros(True),
            "infinities": self.infinite(),
            "any bits": self.bits(),
        }

    def all(self):
        kinds = self.kinds()
        names = [name for name in kinds for _ in range(self.blocks)]
        return names, [self.np.concatenate([kinds[name][i] for name in kinds]) for i in range(3)]


def program(folder, name):
    beside = os.path.join(folder, name)
    return beside if os.access(beside, os.X_OK) else shutil.which(name) or sys.exit(f"no {name}")


def result(np, command, atom, ptx, arguments):
    """What a program that launches the kernel gives as `d`, as bits."""
    blocks = len(arguments[0])
    with tempfile.TemporaryDirectory() as folder:
        command = command + [ptx]
        for name, ty, values in zip("abc", atom[4:7], arguments):
            path = os.path.join(folder, name + ".npy")
            np.save(path, values.view(STORED.get(ty, values.dtype)))
            command += ["--arg", f"{name}={path}"]
        out = os.path.join(folder, "d.npy")
        command += ["--arg", f"d=zeros:{blocks}x{atom[0]}x{atom[1]}", "--out", f"d={out}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return np.load(out).view(f"u{BITS[atom[6]] // 8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--compile", metavar="CUTEC")
    parser.add_argument("--blocks", type=int, default=48, help="products of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="atoms whose names hold this")
    parser.add_argument("--keep")
    parser.add_argument("--against")
    parser.add_argument("--models", action="store_true")
    options = parser.parse_args()
    if options.compile:
        return compile_all(options.folder, options.compile)

    import numpy as np
    known = np.load(options.against) if options.against else None
    kept, modelled, wrong = {}, [], 0
    print("| atom | elements | differ | in |\n|---|---|---|---|")
    for atom in ATOMS:
        name = name_of(atom)
        if options.only not in name:
            continue
        ptx = os.path.join(options.folder, name + ".ptx")
        names, arguments = Operands(np, options.seed, options.blocks, in_memory(atom)).all()
        ours = result(np, [program(options.folder, "cutec-sim")], atom, ptx, arguments)
        if known is not None:
            theirs = known[name]
        else:
            theirs = result(np, [program(options.folder, "cutec-launch"), "--device", "cuda"], atom, ptx, arguments)
        kept[name] = theirs
        differ = ours != theirs
        counts = differ.reshape(len(names), -1).sum(axis=1)
        by_kind = {}
        for kind, count in zip(names, counts):
            by_kind[kind] = by_kind.get(kind, 0) + int(count)
        where = ", ".join(f"{kind}: {count}" for kind, count in by_kind.items() if count)
        print(f"| {name} | {differ.size} | {differ.sum()} | {where} |", flush=True)
        wrong += int(differ.sum())
        if options.models and is_wgmma(atom) and atom[4].startswith("f8"):
            modelled.append((atom, arguments))
    if modelled:
        print("\n| D of A, B | model | elements | differ | at most by | in the mean by |\n|---|---|---|---|---|---|")
    for atom, arguments in modelled:
        fp8_models.compare(np, atom, arguments, kept[name_of(atom)])
    if options.keep:
        np.savez_compressed(options.keep, **kept)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
