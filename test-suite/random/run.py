#!/usr/bin/env python3
"""Random valid kernels, each with the reference that it is compared with.

    run.py CUTEC [--seed S] [--count N] [--level thread|tile|product|loop|window|chain|view|ring] [--arch sm_90a] [--device sim|cuda:0] [--schedules K] [--without-barriers] [--without-each] [--keep FILE]

Writes a .cute file of N kernels with a `test` block each and runs `cutec test` on it: in the simulator with
the check for races and in K schedules, or on a GPU. The same seed is the same file everywhere, so what a GPU
and the simulator compute is compared with the same numbers in f64.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

from chains import chains, recurrences
from loops import loops
from products import products
from rings import SYNCHRONIZES, rings
from tiles import tiles
from views import views
from windows import windows


def sizes(rng, most, step=1):
    """An extent: small, odd, or around a power of two."""
    picked = rng.choice([1, 2, rng.randint(1, most), 64, 63, 65, 128, rng.randint(1, most)])
    return max(step, min(most, picked) // step * step)


def gemm(rng, name):
    """A product with random type, tile, stages, order of b, epilogue and sizes."""
    t = rng.choice(["bf16", "f16"])
    wm, wn = rng.choice([(1, 2), (2, 2), (2, 1), (1, 4)])
    bm, bn = 32 * wm * rng.choice([1, 2]), 32 * wn * rng.choice([1, 2])
    bk, stages = rng.choice([32, 64]), rng.choice([2, 3, 4])
    epilogue, reference = rng.choice([
        ("sums[_, _, _]", "{}"),
        ("max(sums[_, _, _], 0.0)", "max({}, 0.0)"),
        ("0.5 * sums[_, _, _] + 1.0", "0.5 * {} + 1.0"),
        ("select(sums[_, _, _] > 1.0, 1.0, sums[_, _, _])", "min({}, 1.0)"),
    ])
    shape_b, argument_b = rng.choice([("(n, k)", "n, k"), ("(n, k) : (1, n)", "(n, k) : (1, n)")])
    to = rng.choice(["f32", t])
    tolerance = {"f32": 1e-3, "f16": 1e-2, "bf16": 2e-2}[to]
    m, n, k = sizes(rng, 150), sizes(rng, 150, 8), sizes(rng, 200, 8)
    product = "(sum(l) { a[i, l] * b[j, l] })"
    return f"""
kernel {name}(a: tensor<{t}, (m, k)>, b: tensor<{t}, {shape_b}>, c: mut tensor<{to}, (m, n)>)
where k % 8 == 0, n % 8 == 0
launch grid(ceil_div(m, {bm}), ceil_div(n, {bn})), block({32 * wm * wn})
{{
    let mma = sm80_mma<{t}, {wm}, {wn}>(b);
    let sums = sm80_multiply<{t}, {bm}, {bn}, {bk}, {stages}>(mma, a, b, block_idx.x, block_idx.y);
    sums[_, _, _] = {epilogue};
    sm80_store<{to}, {bm}, {bn}>(mma, sums, c, block_idx.x, block_idx.y);
}}
test {name} {{
    let (m, n, k) = ({m}, {n}, {k});
    let a = random<{t}>(m, k);
    let b = random<{t}>({argument_b});
    var c = poison<{to}>(m, n);
    {name}(a, b, c);
    assert_close(c[i, j], {reference.format(product)}, rtol = {tolerance}, atol = {tolerance});
}}
"""


def through(rng, name):
    """A tile through shared memory under some layout, read in another order."""
    t = rng.choice(["f32", "f16", "i32", "i8", "f64"])
    rows, columns = rng.choice([(8, 32), (32, 32), (16, 64), (64, 16), (24, 32)])
    pad = rng.choice([0, 1, 2, 8])
    layout = rng.choice([
        f"({rows}, {columns}) : ({columns + pad}, 1)",
        f"({rows}, {columns}) : (1, {rows + pad})",
        f"S<2,1,3> o 0 o ({rows}, {columns}) : ({columns}, 1)",
    ])
    threads = rng.choice([32, 64, 96, 256])
    at = rng.choice([f"(i / {columns}, i % {columns})", f"(i % {rows}, i / {rows})"])
    turned = rng.random() < 0.5
    shape = f"({columns}, {rows})" if turned else f"({rows}, {columns})"
    where = "y[at[1], at[0]]" if turned else "y[at[0], at[1]]"
    out = "x[j, i]" if turned else "x[i, j]"
    return f"""
kernel {name}(x: tensor<{t}, ({rows}, {columns})>, y: mut tensor<{t}, {shape}>)
launch grid(1), block({threads})
{{
    let s = smem<{t}>({layout});
    for i in thread_idx.x..{rows * columns} step {threads} {{
        s[i / {columns}, i % {columns}] = x[i / {columns}, i % {columns}];
    }}
    barrier();
    for i in thread_idx.x..{rows * columns} step {threads} {{
        let at = {at};
        {where} = s[at[0], at[1]];
    }}
}}
test {name} {{
    let x = random<{t}>({rows}, {columns});
    var y = poison<{t}>{shape};
    {name}(x, y);
    assert_eq(y[i, j], {out});
}}
"""


def elementwise(rng, name):
    """An expression of rounding-free operations on integers in floating point."""
    def expression(depth):
        if depth == 0:
            return rng.choice(["p", "q", "2.0", "-1.0", "0.5"])
        a, b = expression(depth - 1), expression(rng.randint(0, depth - 1))
        return rng.choice([f"({a} + {b})", f"({a} - {b})", f"min({a}, {b})", f"max({a}, {b})",
                           f"select({a} > {b}, {a}, {b})", f"abs({a})", f"fma({a}, 2.0, {b})"])

    bs, vector = rng.choice([32, 64, 128, 192]), rng.choice([1, 2, 4])
    n = sizes(rng, 3000, vector)
    text = expression(rng.randint(1, 4))
    return f"""
kernel {name}(x: tensor<f32, (n)>, y: tensor<f32, (n)>, z: mut tensor<f32, (n)>)
where n % {vector} == 0
launch grid(ceil_div(n, {bs * vector})), block({bs})
{{
    let i = block_idx.x * {bs} + thread_idx.x;
    if i < n / {vector} {{
        let p = zipped_divide(x, ({vector}))[_, i];
        let q = zipped_divide(y, ({vector}))[_, i];
        zipped_divide(z, ({vector}))[_, i] = {text};
    }}
}}
fn {name}_at(p, q) {{ {text} }}
test {name} {{
    var x = zeros<f32>({n});
    var y = zeros<f32>({n});
    x[i] = (i * 7 + 3) % 64 - 32;
    y[i] = (i * 5 + 1) % 32 - 16;
    var z = poison<f32>({n});
    {name}(x, y, z);
    assert_eq(z[i], {name}_at(x[i], y[i]));
}}
"""


def reduction(rng, name):
    """Rows reduced by warps or blocks."""
    op, host = rng.choice([("add", "sum"), ("max", "max"), ("min", "min")])
    threads = rng.choice([32, 64, 128, 160])
    m, n = sizes(rng, 40), sizes(rng, 700)
    start = {"add": "0.0", "max": "-1e30", "min": "1e30"}[op]
    step = {"add": "mine + x[row, j]", "max": "max(mine, x[row, j])", "min": "min(mine, x[row, j])"}[op]
    return f"""
kernel {name}(x: tensor<f32, (m, n)>, y: mut tensor<f32, (m)>)
launch grid(m), block({threads})
{{
    let row = block_idx.x;
    var mine = {start};
    for j in thread_idx.x..n step {threads} {{ mine = {step}; }}
    let all = block_reduce({op}, mine);
    if thread_idx.x == 0 {{ y[row] = all; }}
}}
test {name} {{
    let x = random<f32>({m}, {n});
    var y = poison<f32>({m});
    {name}(x, y);
    assert_close(y[i], {host}(j) {{ x[i, j] }}, rtol = 1e-4, atol = 1e-4);
}}
"""


def atomics(rng, name):
    """Sums by atomics, over several blocks."""
    bins, threads = rng.choice([1, 3, 8, 40]), rng.choice([32, 64, 128])
    n = sizes(rng, 1000)
    t = rng.choice(["i32", "f32"])
    return f"""
kernel {name}(x: tensor<{t}, (n)>, y: mut tensor<{t}, ({bins})>)
launch grid(ceil_div(n, {threads})), block({threads})
{{
    let i = block_idx.x * {threads} + thread_idx.x;
    if i < n {{ atomic_add(y[i % {bins}], x[i]); }}
}}
test {name} {{
    var x = zeros<{t}>({n});
    x[i] = i % 11 - 4;
    var y = zeros<{t}>({bins});
    {name}(x, y);
    assert_eq(y[b], sum(i in 0..{n}) {{ if i % {bins} == b {{ x[i] }} else {{ 0 }} }});
}}
"""


def exchange(rng, name):
    """Elements of other lanes, by shuffles."""
    threads, mask = rng.choice([32, 64, 128]), rng.choice([1, 2, 3, 5, 16, 31])
    call, source = rng.choice([
        (f"shuffle_xor(v, {mask})", None),
        (f"shuffle_idx(v, {mask})", f"i / 32 * 32 + {mask}"),
    ])
    if source is None:
        bits = [bit for bit in (1, 2, 4, 8, 16) if mask & bit]
        source = "i" + "".join(f" + {bit} - 2 * {bit} * (i / {bit} % 2)" for bit in bits)
    return f"""
kernel {name}(x: tensor<f32, ({threads})>, y: mut tensor<f32, ({threads})>)
launch grid(1), block({threads})
{{
    let v = f32(x[thread_idx.x]);
    y[thread_idx.x] = {call};
}}
test {name} {{
    let x = random<f32>({threads});
    var y = poison<f32>({threads});
    {name}(x, y);
    assert_eq(y[i], x[{source}]);
}}
"""


def handover(rng, name):
    """Warps that write and warps that read, by named barriers and two buffers."""
    rounds = rng.randint(1, 6)
    return f"""
kernel {name}(x: tensor<f32, ({rounds}, 32)>, y: mut tensor<f32, ({rounds}, 32)>)
launch grid(1), block(64)
{{
    let s = smem<f32>((2, 32) : (32, 1));
    let lane = thread_idx.x % 32;
    if thread_idx.x < 32 {{
        for r in 0..{rounds} {{
            if r >= 2 {{ if r % 2 == 0 {{ barrier(3, 64); }} else {{ barrier(4, 64); }} }}
            s[r % 2, lane] = x[r, lane];
            if r % 2 == 0 {{ barrier_arrive(1, 64); }} else {{ barrier_arrive(2, 64); }}
        }}
    }} else {{
        for r in 0..{rounds} {{
            if r % 2 == 0 {{ barrier(1, 64); }} else {{ barrier(2, 64); }}
            y[r, lane] = s[r % 2, 31 - lane];
            if r + 2 < {rounds} {{ if r % 2 == 0 {{ barrier_arrive(3, 64); }} else {{ barrier_arrive(4, 64); }} }}
        }}
    }}
}}
test {name} {{
    let x = random<f32>({rounds}, 32);
    var y = poison<f32>({rounds}, 32);
    {name}(x, y);
    assert_eq(y[r, i], x[r, 31 - i]);
}}
"""


KINDS = {"thread": [gemm, through, elementwise, reduction, atomics, exchange, handover], "tile": [tiles], "product": [products], "loop": [loops], "window": [windows],
         "chain": [chains, chains, chains, recurrences], "view": [views], "ring": [rings]}
# What has other kernels for other targets.
BY_TARGET = ("view", "ring")


HEAD = 'import "std/gemm_sm80.cute";\nimport "std/pipeline.cute";\nimport "std/tiles.cute";\n'


def generate(level, seed, count, arch):
    """So many kernels, each with its test."""
    rng = random.Random(seed)
    kernels = []
    for number in range(count):
        kind = KINDS[level][number % len(KINDS[level])]
        kernels.append(kind(rng, f"{kind.__name__}_{number}", *([arch] if level in BY_TARGET else [])))
    return kernels


def without_each(kernel):
    """The kernel as often as a line of it synchronizes, each time without that line."""
    lines = kernel.split("\n")
    name = re.search(r"^kernel (\w+)", kernel, re.M)[1]
    for number, line in enumerate(lines):
        if line.endswith(SYNCHRONIZES):
            left = "\n".join(lines[:number] + lines[number + 1:])
            yield line.removesuffix(SYNCHRONIZES).strip(), re.sub(rf"\b{name}\b", f"{name}_without_{number}", left)


def unnoticed(command, mutants):
    """Says which of these kernels pass, or are none; how many, at the end."""
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    results = dict(re.findall(r"^test (\w+) \.\.\. (\w+)", run.stdout + run.stderr, re.M))
    wrong = 0
    for removed, kernel in mutants:
        name = re.search(r"^kernel (\w+)", kernel, re.M)[1]
        # What does not compile tells nothing.
        if results.get(name) != "FAILED" or f"`{name}` was not launched" in run.stderr + run.stdout:
            print(f"{name}: without `{removed}`: {results.get(name, 'no test')}")
            wrong += 1
    print(f"{len(mutants)} kernels without a line that synchronizes: {wrong} not noticed")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cutec")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=14)
    parser.add_argument("--level", choices=KINDS, default="thread")
    parser.add_argument("--arch", help="the target; cutec's if nothing is said")
    parser.add_argument("--device", default="sim")
    parser.add_argument("--schedules", type=int, default=3)
    parser.add_argument("--without-barriers", action="store_true",
                        help="leave out `barrier()`: then most of those that exchange elements must fail")
    parser.add_argument("--without-each", action="store_true",
                        help="of level ring: each kernel without each of the lines that synchronize it, all of which must fail")
    parser.add_argument("--keep", help="write the kernels to this file")
    options = parser.parse_args()
    kernels = generate(options.level, options.seed, options.count, options.arch or "sm_80")
    if options.without_barriers:
        kernels = [kernel.replace("    barrier();\n", "") for kernel in kernels]
    mutants = [mutant for kernel in kernels for mutant in without_each(kernel)]
    if options.without_each:
        kernels = [kernel for _, kernel in mutants]
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or os.path.join(folder, f"random_{options.seed}.cute")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"// seed {options.seed}\n" + HEAD + "".join(kernels))
        command = [options.cutec, "test", "--device", options.device, path]
        if options.arch:
            command += ["--arch", options.arch]
        if options.device == "sim":
            command += ["--check", "--schedules", str(options.schedules)]
        if options.without_each:
            return unnoticed(command, mutants)
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
