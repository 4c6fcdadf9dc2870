"""Random kernels at tile level that write, update and read views of tensors: ranges, slices, modes taken apart, other layouts, several of these in turn.

A tensor is larger than the view of it. It has known numbers before the launch, and all of it is compared afterwards, so that what is written outside of the view is seen.
Where a view begins follows from a number, an argument, the tile, the index of a loop or an element of a tensor; extents and strides are odd, or multiples with a promise or without.
"""
from products import SHORT
from view_parts import Program


def product(rng, name, arch):
    """A product of views, and what is done with its sums."""
    program = Program(rng, name, arch)
    hopper = arch.startswith("sm_9")
    types = ["f16", "f16", "bf16", "bf16", "f32", "tf32", "tf32", "tf32x3", "i8", "f8e4m3", "f8e5m2"]
    multiplied = rng.choice(types)
    if multiplied.startswith("f8") and not hopper:
        multiplied = "i8"
    element = "f32" if multiplied.startswith("tf32") else multiplied
    bytes_of = {"i8": 1, "f8e4m3": 1, "f8e5m2": 1, "f32": 4}.get(element, 2)
    bm, bn = rng.choice([(128, 128), (128, 128), (128, 128), (64, 128), (64, 64), (128, 64), (64, 256), (128, 256), (16, 64), (32, 128), (64, 40)])
    bk = {1: rng.choice([64, 128]), 2: rng.choice([32, 64]), 4: 32}[bytes_of]
    if multiplied == "f32":
        bm, bn, bk = rng.choice([(64, 64), (32, 64), (64, 32)]) + (16,)
    if multiplied == "tf32x3":
        bm, bn = min(bm, 64), min(bn, 64)
    program.whole = 16 if bytes_of == 1 else 8
    program.m, program.n = m, n = program.extent(170), program.extent(200, fast=True)
    k = 16 * rng.randint(0, 9) if bytes_of == 1 else 8 * rng.randint(0, 16)
    if not program.aligned and rng.random() < 0.3:
        k = rng.randint(1, 130)
    promise = program.whole
    program.result = "i32" if element == "i8" else rng.choice(["f32", "f32", "f16", "bf16"] if element not in SHORT else ["f32", element, element])
    accumulator = "i32" if element == "i8" else "f32"

    plain_a, plain_b = rng.random() < 0.7, rng.random() < 0.7
    whole = k % promise == 0 and rng.random() < 0.95
    if whole and (plain_a or plain_b):
        program.promises.append(f"k % {promise} == 0")
    extent_k = "k" if plain_a or plain_b else program.argument(k, False)
    if whole and not (plain_a or plain_b):
        program.promises.append(f"{extent_k} % {promise} == 0")
    extent_m = "m" if plain_a else program.number_of_kernel(m)
    extent_n = "n" if plain_b else program.number_of_kernel(n, program.aligned)
    if plain_b and program.aligned and rng.random() < 0.9:
        program.promises.append(f"n % {promise} == 0")
    groups = program.groups

    def operand(letter, plain, rows, extent, tile, place, index):
        if plain:
            grouped = groups > 1 and rng.random() < 0.5
            program.params.append(f"{letter}: tensor<{element}, ({f'{groups}, ' if grouped else ''}{extent}, k)>")
            program.data.append(f"let {letter} = random<{element}>({f'{groups}, ' if grouped else ''}{rows}, {k});")
            seen = f"{letter}[{program.group}, _, _]" if grouped else letter
            return f"{seen}.tile(({tile}, {bk}), ({place}, t))", f"{letter}[{'g, ' if grouped else ''}{index}, l]"
        view = program.view(letter, (rows, k), (extent, extent_k), element)
        return f"{view.seen()}.tile(({tile}, {bk}), ({place}, t))", view.at(index, "l")

    a, of_a = operand("a", plain_a, m, extent_m, bm, "tile.m", "i")
    b, of_b = operand("b", plain_b, n, extent_n, bn, "tile.n", "j")
    precision = f", precision = {multiplied}" if multiplied.startswith("tf32") else ""
    body = program.body
    body.append(f"var sums = zeros<{accumulator}>({bm}, {bn});")
    # What is pinned must have room beside what a large result goes through.
    pinned = ["pipeline(1) ", "pipeline(2) "] if bm * bn <= 128 * 128 else []
    body.append(f"{rng.choice(['', '', 'pipeline ', *pinned])}for t in tiles({extent_k}, {bk}) {{ sums += dot({a}, {b}{precision}); }}")
    program.exactly(f"sum(l in 0..{k}) {{ {of_a} * {of_b} }}" if k else "0.0")
    value, of_value = "sums", program.exact
    place = f"tile(({bm}, {bn}), (tile.m, tile.n))"
    reads = accumulator == "f32"
    for number in range(rng.choice([0, 0, 1, 2])):
        kind = rng.random()
        if kind < 0.3:
            value, of_value = (f"max({value}, 0.0)", f"max({of_value}, 0.0)") if reads else (f"max({value}, 0)", f"max({of_value}, 0.0)")
        elif kind < 0.5 and reads:
            value, of_value = f"({value} * 0.5 + 1.0)", f"({of_value} * 0.5 + 1.0)"
        elif kind < 0.7 and reads:
            bias = program.fresh("bias")
            program.params.append(f"{bias}: tensor<f32, {n}>")
            program.data.append(f"let {bias} = random<f32>({n});")
            value, of_value = f"({value} + {bias}.tile({bn}, tile.n))", f"({of_value} + {bias}[j])"
        elif reads:
            x = program.view("x", (m, n), (extent_m, extent_n), rng.choice(["f32", "f16", program.result]))
            value, of_value = f"({value} + f32({x.seen()}.{place}))", f"({of_value} + {x.at('i', 'j')})"
    results(program, place, (extent_m, extent_n), value, of_value)
    more = [""] * 5 + [", persistent()", ", persistent(false)", ", pingpong(false)", ", raster(2)"]
    if hopper and element != "f32" and whole:
        more += [", multicast(2)", ", multicast(1, 2)", ", multicast(2, 2)", ", queue(counter)", ", queue(counter)"]
    more = rng.choice(more)
    if "queue" in more:
        program.params.append("counter: mut tensor<i32, 2>")
        program.data.append("var counter = zeros<i32>(2);")
        program.checks.append("assert_eq(counter[i], 0);")
    third = f", {groups}" if groups > 1 and not program.looped else ""
    return program.write(f"launch tiles({extent_m} / {bm}, {extent_n} / {bn}{third}){more}", 0.1 if program.result in SHORT else 0.03)


def results(program, place, extents, value, of_value):
    """One result or two, each to its view, or both to parts of one tensor; or a part is read that is not written."""
    rng, shape = program.rng, (program.m, program.n)
    kind = rng.random()
    if kind < 0.15:
        view = program.view("y", shape, extents, program.result, mutable=True, forked=True)
        half = "2" if program.result == "i32" else "0.5"
        program.put(view, place, value, of_value, 0)
        program.put(view, place, f"({value} * {half})", f"({of_value} * {half})", 1)
        return
    if kind < 0.3 and program.result != "i32":
        view = program.view("y", shape, extents, program.result, mutable=True, forked=True)
        program.put(view, place, f"({value} + f32({view.seen(1)}.{place}))", f"({of_value} + {view.at('i', 'j', 1, 'w' + view.name)})", 0)
        return
    view = program.view("y", shape, extents, program.result, mutable=True)
    program.put(view, place, value, of_value)
    if rng.random() < 0.25:
        view = program.view("y", shape, extents, program.result, mutable=True)
        half = "2" if program.result == "i32" else "0.5"
        program.put(view, place, f"({value} * {half})", f"({of_value} * {half})")


def elements(rng, name, arch):
    """What is computed element by element, of views, to views."""
    program = Program(rng, name, arch)
    element = rng.choice(["f32", "f16", "bf16", "i32"])
    program.result = element if element == "i32" else rng.choice([element, "f32"])
    bm, bn = rng.choice([1, 4, 8, 16, 24, 5, 32]), rng.choice([32, 64, 128, 40, 100, 256])
    program.m, program.n = m, n = program.extent(100), program.extent(300, fast=True)
    extents = (program.number_of_kernel(m), program.number_of_kernel(n, program.aligned))
    x = program.view("x", (m, n), extents, element)
    turned = rng.random() < 0.15
    by_loop = not turned and rng.random() < 0.3
    column = "t" if by_loop else "tile.n"
    place = f"tile(({bm}, {bn}), (tile.m, {column}))"
    one = "i32" if element == "i32" else "f32"
    value, of_value = f"{one}({x.seen()}.{place})", x.at("i", "j")
    if turned:
        other = program.view("x", (n, m), extents[::-1], element)
        value, of_value = f"{one}(transpose({other.seen()}.tile(({bn}, {bm}), (tile.n, tile.m))))", other.at("j", "i")
    if rng.random() < 0.4:
        value, of_value = f"({value} + {one}({x.seen()}.{place}))", f"({of_value} + {x.at('i', 'j')})"
    program.exactly(of_value)
    results(program, place, extents, value, program.exact)
    third = f", {program.groups}" if program.groups > 1 and not program.looped else ""
    if by_loop:
        program.body[:] = [f"{rng.choice(['', 'pipeline(2) '])}for t in tiles({extents[1]}, {bn}) {{", *("    " + line for line in program.body), "}"]
        second = ", 1" if third else ""
    else:
        second = f", {extents[1]} / {bn}"
    more = rng.choice(["", "", ", persistent()", ", warps(2)"])
    return program.write(f"launch tiles({extents[0]} / {bm}{second}{third}){more}", 0.1 if program.result in SHORT else 0.03)


def reductions(rng, name, arch):
    """Rows of views, combined, to a column of a view."""
    program = Program(rng, name, arch)
    element = rng.choice(["f32", "f16", "bf16"])
    program.result = rng.choice(["f32", element])
    bm, bn = rng.choice([1, 4, 16, 5]), rng.choice([32, 64, 128, 40])
    m, columns = program.extent(60), program.extent(200, fast=True)
    rows, along = program.number_of_kernel(m), program.number_of_kernel(columns, program.aligned)
    x = program.view("x", (m, columns), (rows, along), element)
    program.m, program.n = m, 1
    program.body += [f"var sums = zeros<f32>({bm}, 1);",
                     f"for t in tiles({along}, {bn}) {{ sums += reduce(add, f32({x.seen()}.tile(({bm}, {bn}), (tile.m, t))), axis = 1); }}"]
    program.exactly(f"sum(l in 0..{columns}) {{ {x.at('i', 'l')} }}")
    results(program, f"tile(({bm}, 1), (tile.m, 0))", (rows, "1"), "sums", program.exact)
    third = f", 1, {program.groups}" if program.groups > 1 and not program.looped else ""
    return program.write(f"launch tiles({rows} / {bm}{third})" + rng.choice(["", "", ", persistent()"]), 0.1 if program.result in SHORT else 0.03)


def read_back(rng, name, arch):
    """What a block has written through one view it reads, and writes over, through another one."""
    program = Program(rng, name, arch)
    program.result = result = rng.choice(["f32", "f16"])
    bm, bn = rng.choice([8, 16, 24, 5]), rng.choice([32, 64, 40])
    program.m, program.n = m, n = bm * rng.randint(1, 3), bn * rng.randint(1, 3)
    extents = (program.number_of_kernel(m), program.number_of_kernel(n, program.aligned))
    x = program.view("x", (m, n), extents, "f32")
    place = f"tile(({bm}, {bn}), (tile.m, tile.n))"
    view = program.view("y", (m, n), extents, result, mutable=True)
    seen, whole = view.seen(), view.at("i", "j", 0, f"w{view.name}")
    program.body.append(f"{seen}.{place} = {result}({x.seen()}.{place});")
    program.exactly(x.at("i", "j"))
    program.after.append(f"{whole} = {program.exact};")
    # In the tile, another part of it at each step.
    program.data.append(f"var turned = zeros<f64>({program.groups}, {m}, {n});")
    for number in range(rng.randint(1, 3)):
        rows, columns = rng.choice([bm, max(1, bm // 2)]), rng.choice([bn, bn // 2])
        down, right = rng.randint(0, bm - rows), rng.randint(0, bn - columns)
        at = f"at = (tile.m * {bm} + {down}, tile.n * {bn} + {right})"
        to_down, to_right = rng.randint(0, bm - rows), rng.randint(0, bn - columns)
        to = f"at = (tile.m * {bm} + {to_down}, tile.n * {bn} + {to_right})"
        program.body.append(f"{seen}.tile(({rows}, {columns}), {to}) = {result}(0.5 * f32({seen}.tile(({rows}, {columns}), {at})));")
        # Where an element of the tile comes from.
        i, j = f"(i % {bm})", f"(j % {bn})"
        inside = f"{i} >= {to_down} && {i} < {to_down + rows} && {j} >= {to_right} && {j} < {to_right + columns}"
        # The remainders keep the indices from saying how far they run, and within the tensor.
        source = view.at(f"((i + {down - to_down + m}) % {m})", f"((j + {right - to_right + n}) % {n})", 0, f"w{view.name}")
        program.after += [f"turned[{program.of_group}, i, j] = if {inside} {{ 0.5 * {source} }} else {{ {whole} }};", f"{whole} = turned[{program.of_group}, i, j];"]
    third = f", {program.groups}" if program.groups > 1 and not program.looped else ""
    more = rng.choice(["", "", ", persistent()", ", warps(2)"])
    return program.write(f"launch tiles({extents[0]} / {bm}, {extents[1]} / {bn}{third}){more}", 0.1 if result in SHORT else 0.03)


def views(rng, name, arch):
    """A kernel of one of these kinds."""
    return rng.choice([product, product, product, product, elements, elements, reductions, read_back])(rng, name, arch)
