"""Random kernels at tile level, each with what every tile of it is, element by element.

A kernel is a sequence of tiles, each made of earlier ones; the reference has a tensor for each tile, in f64. Every tile
is of some shape with elements of about the size of 1, so that what lies in the wrong place is wrong by much.
"""
EXTENTS = (8, 16, 32, 48, 64)
# Of tiles that are no factors: threads do not divide them evenly.
UNEVEN = (3, 5, 7, 12, 20, 24, 33, 40, 100)
# So much is computed of an element that small tiles, which are repeated, are rather computed once.
MUCH = "{0}"
for _ in range(8):
    MUCH = f"tanh(0.5 * {MUCH} + 0.5 * {{0}})"


def part(index, at, extent, count):
    """An index of part `at` of `count`; the remainder keeps it from saying how far the index runs."""
    return index if count == 1 else f"({index} + {at * extent}) % {extent * count}"


def windowed(x, extents, i, r, j, c, outside):
    """The element of a tensor at (i + r, j + c), or what lies outside."""
    rows, columns = extents
    inside = f"{i} + {r} >= 0 && {i} + {r} < {rows} && {j} + {c} >= 0 && {j} + {c} < {columns}"
    # The remainders keep the indices from saying how far they run.
    return f"(if {inside} {{ {x}[({i} + {r}) % {rows}, ({j} + {c}) % {columns}] }} else {{ {outside} }})"


class Tile:
    """A tile of the kernel; `at(i, j)` is the text of an element in the reference."""

    def __init__(self, name, shape):
        self.name, self.shape = name, shape

    def at(self, i, j):
        i = i if self.shape[0] > 1 else "0"
        j = j if self.shape[1] > 1 else "0"
        return f"r_{self.name}[{i}, {j}]"


class Program:
    """Kernel and reference as they grow."""

    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.params, self.data, self.body, self.reference, self.tiles = [], [], [], [], []
        self.checks = []
        self.indent = "    "

    def say(self, text):
        self.body.append(self.indent + text)

    def define(self, shape, kernel, element):
        """A tile, by its text in the kernel and that of its element (i, j)."""
        tile = Tile(f"t{len(self.tiles)}", shape)
        self.say(f"let {tile.name} = {kernel};")
        self.keep(tile, element)
        return tile

    def keep(self, tile, element):
        rows, columns = tile.shape
        self.reference.append(f"var r_{tile.name} = zeros<f64>({rows}, {columns});")
        self.reference.append(f"r_{tile.name}[i, j] = {element};")
        self.tiles.append(tile)

    def tensor(self, shape, element="f32", mutable=False):
        """A parameter, its rows or columns lying together, perhaps further apart than they are long."""
        name = f"x{len(self.params)}"
        rows, columns = shape
        layout = self.rng.choice([f"({rows}, {columns})"] * 2 + [f"({rows}, {columns}) : (1, {rows})"])
        mut = "mut " if mutable else ""
        self.params.append((name, f"{name}: {mut}tensor<{element}, {layout}>"))
        given = layout if ":" in layout else f"{rows}, {columns}"
        self.data.append(f"var {name} = poison<{element}>({given});" if mutable
                         else f"let {name} = random<{element}>({given});")
        return name

    def pick(self, fits=lambda shape: True):
        found = [tile for tile in self.tiles if fits(tile.shape)]
        return self.rng.choice(found) if found else None

    def extent(self):
        return self.rng.choice(EXTENTS if self.rng.random() < 0.7 else UNEVEN)

    # What a step may do. Each gives whether it did.

    def load(self):
        shape = (self.extent(), self.extent())
        count = [self.rng.choice([1, 1, 2, 3]) for _ in shape]
        at = [self.rng.randrange(number) for number in count]
        x = self.tensor([extent * number for extent, number in zip(shape, count)])
        self.define(shape, f"{x}.tile({shape}, ({at[0]}, {at[1]}))",
                    x + "[" + ", ".join(part("ij"[axis], at[axis], shape[axis], count[axis]) for axis in range(2)) + "]")
        return True

    def offset(self):
        """An offset, before and behind what it is of included, and how the kernel says it."""
        offset = self.rng.choice([1, 8]) * self.rng.randint(-7, 9)
        return offset, self.rng.choice([f"{offset}", f"count * {offset}"])

    def window(self):
        """A part of a tensor of any extents, which may lie beyond each of its edges."""
        shape = (self.extent(), self.extent())
        extents = [self.rng.choice([1, 7, 16, 40, 63, 64, 80]) for _ in shape]
        element = self.rng.choice(["f32", "f16", "bf16", "f32"])
        x = self.tensor(extents, element)
        (r, row), (c, column) = self.offset(), self.offset()
        fill = self.rng.choice([None, None, 2])
        at = self.rng.choice([f"at = ({row}, {column})"] * 2 + [f"(0, _), at = (_, {column})"])
        r = r if at.startswith("at") else 0
        kernel = f"{x}.tile({shape}, {at}{f', fill = {fill}' if fill else ''})"
        kernel = kernel if element == "f32" else f"f32({kernel})"
        self.define(shape, kernel, windowed(x, extents, "i", r, "j", c, f"{fill or 0}.0"))
        return True

    def constant(self):
        shape = (self.extent(), self.extent())
        axis = self.rng.randrange(2)
        kernel, element = self.rng.choice([
            (f"full<f32>(0.75, {shape[0]}, {shape[1]})", "0.75"),
            (f"f32(iota({shape[0]}, {shape[1]}, axis = {axis})) / {shape[axis]}.0", f"f64({'ij'[axis]}) / {shape[axis]}.0"),
        ])
        self.define(shape, kernel, element)
        return True

    def unary(self):
        x = self.pick()
        kernel = self.rng.choice(["0.5 * {} + 0.25", "max({}, 0.1)", "abs({}) - 0.5", "exp(-abs({}))",
                                  "select({0} > 0.0, {0}, -0.5 * {0})", "f32(f16({}))", MUCH, MUCH])
        element = kernel if "f16" not in kernel else "{}"
        self.define(x.shape, kernel.format(x.name), element.format(x.at("i", "j")))
        return True

    def binary(self):
        x = self.pick()
        y = self.pick(lambda shape: all(a in (1, b) for a, b in zip(shape, x.shape)))
        kernel = self.rng.choice(["0.5 * ({} + {})", "{} - 0.5 * {}", "{} * {}", "max({}, {})", "min({}, {})"])
        pair = self.rng.sample([x, y], 2)
        self.define(x.shape, kernel.format(*(tile.name for tile in pair)),
                    kernel.format(*(tile.at("i", "j") for tile in pair)))
        return True

    def reduce(self):
        x = self.pick(lambda shape: max(shape) > 1)
        axis = self.rng.choice([axis for axis in range(2) if x.shape[axis] > 1])
        extent = x.shape[axis]
        shape = tuple(1 if at == axis else length for at, length in enumerate(x.shape))
        of = x.at("l", "j") if axis == 0 else x.at("i", "l")
        op, reference = self.rng.choice([("add", "sum"), ("max", "max"), ("min", "min")])
        scale = f" / {extent}.0" if op == "add" else ""
        self.define(shape, f"reduce({op}, {x.name}, axis = {axis}){scale}",
                    f"({reference}(l in 0..{extent}) {{ {of} }}){scale}")
        return True

    def transpose(self):
        x = self.pick()
        self.define(x.shape[::-1], f"transpose({x.name})", x.at("j", "i"))
        return True

    def apart(self):
        """A part of a tile at a multiple of its shape, a half, or every second element along an axis."""
        x = self.pick()
        axis = self.rng.randrange(2)
        half = tuple(extent // 2 if at == axis else extent for at, extent in enumerate(x.shape))
        which, kind = self.rng.randrange(2), self.rng.random()
        if kind < 0.6 and x.shape[axis] % 2 == 0:
            index = "ij"[axis]
            name, place = self.rng.choice([("split", f"{index} + {which * half[axis]}"), ("deinterleave", f"2 * {index} + {which}")])
            self.define(half, f"{name}<{axis}>({x.name})[{which}]", x.at(*(place if at == axis else "ij"[at] for at in range(2))))
            return True
        shape = tuple(extent // self.rng.choice([by for by in (1, 2, 4, 3, extent) if extent % by == 0]) for extent in x.shape)
        at = tuple(extent * self.rng.randrange(whole // extent) for extent, whole in zip(shape, x.shape))
        self.define(shape, f"part({x.name}, {shape}, {at})", x.at(f"i + {at[0]}", f"j + {at[1]}"))
        return True

    def gathered(self):
        """Elements of a tile at coordinates that follow those of the result, as they are, moved, turned, divided or none, and something else outside."""
        x = self.pick()
        shape = x.shape if self.rng.random() < 0.4 else (self.extent(), self.extent())
        places, iotas = [], [f"iota({shape[0]}, 1)", f"iota(1, {shape[1]})"]
        order = self.rng.choice([(0, 1), (0, 1), (0, 1), (1, 0), (0, 0), (1, 1)])
        for extent, along in zip(x.shape, order):
            iota, index = iotas[along], "ij"[along]
            by = self.rng.choice([0, 0, 1, -1, 2, -2, 4, -4, 8, -8])
            text = self.rng.choice(["({0} + {1})"] * 4 + ["({2} - {0})", "({0} / 2 + {1})", "({0} % {3})", "({0} / {3} * {3} + {0} % 4)"])
            whole = self.rng.choice([4, 8, 16])
            places.append([text.format(what, by, extent - 1, whole) for what in (iota, index)])
        (row, i), (column, j) = places
        if order[0] == order[1]:
            # The other axis is repeated.
            row = f"({row} + 0 * {iotas[1 - order[0]]})"
        fill = self.rng.choice([0, 0, 2])
        rows, columns = x.shape
        to = self.rng.choice(["f32", "f32", "f16", "bf16"])
        kernel = f"gather({x.name if to == 'f32' else f'{to}({x.name})'}, ({row}, {column}), fill = {fill}.0)"
        inside = f"{i} >= 0 && {i} < {rows} && {j} >= 0 && {j} < {columns}"
        # The remainders keep the indices from saying how far they run.
        element = x.at(f"({i} + {64 * rows}) % {rows}", f"({j} + {64 * columns}) % {columns}")
        self.define(shape, kernel if to == "f32" else f"f32({kernel})", f"(if {inside} {{ {element} }} else {{ {fill}.0 }})")
        return True

    def together(self):
        """Two tiles side by side along an axis, or in turn."""
        x = self.pick(lambda shape: max(shape) <= 64)
        y = x and self.pick(lambda shape: shape == x.shape)
        if y is None:
            return False
        axis = self.rng.randrange(2)
        extent, index = x.shape[axis], "ij"[axis]
        shape = tuple(2 * length if at == axis else length for at, length in enumerate(x.shape))

        def at(tile, place):
            return tile.at(*(place if of == axis else "ij"[of] for of in range(2)))

        # The remainders keep the indices from saying how far they run.
        aside = f"(if {index} < {extent} {{ {at(x, f'{index} % {extent}')} }} else {{ {at(y, f'{index} % {extent}')} }})"
        kernel, element = self.rng.choice([
            (f"join({x.name}, {y.name}, axis = {axis})", aside), (f"concat<{axis}>({x.name}, {y.name})", aside),
            (f"interleave<{axis}>({x.name}, {y.name})",
             f"(if {index} % 2 == 0 {{ {at(x, f'{index} / 2')} }} else {{ {at(y, f'{index} / 2')} }})")])
        self.define(shape, kernel, element)
        return True

    def broadcast(self):
        x = self.pick(lambda shape: 1 in shape)
        if x is None:
            return False
        shape = tuple(self.extent() if extent == 1 else extent for extent in x.shape)
        self.define(shape, f"broadcast({x.name}, {shape[0]}, {shape[1]})", x.at("i", "j"))
        return True

    def factors(self):
        def whole(shape):
            return all(extent in EXTENTS for extent in shape)
        a = self.pick(whole)
        b = a and self.pick(lambda shape: whole(shape) and shape[1] == a.shape[1])
        return a, b

    def dot(self):
        a, b = self.factors()
        if a is None:
            return False
        k = a.shape[1]
        to = self.rng.choice(["f16", "bf16", "f16", None])
        if to is not None and (k % 16 != 0 or a.shape[0] % 16 != 0):
            to = None
        x, y = (f"{to}({tile.name})" if to else tile.name for tile in (a, b))
        self.define((a.shape[0], b.shape[0]), f"dot({x}, {y}) / {k}.0",
                    f"(sum(l in 0..{k}) {{ {a.at('i', 'l')} * {b.at('j', 'l')} }}) / {k}.0")
        return True

    def product(self):
        """A loop over loaded operands that adds to a tile, or to zeros."""
        start = self.pick(lambda shape: all(extent in EXTENTS[1:] for extent in shape))
        shape = start.shape if start else (self.rng.choice(EXTENTS[1:]), self.rng.choice(EXTENTS[1:]))
        bk, rounds = self.rng.choice([16, 32]), self.rng.randint(0, 4)
        t = self.rng.choice(["f16", "bf16", "f32"])
        k = bk * rounds if self.rng.random() < 0.5 else max(0, bk * rounds - 8)
        if k == 0:
            return False
        a, b = self.tensor((shape[0], k), t), self.tensor((shape[1], k), t)
        begin, zero = (start.name, start.at("i", "j")) if start else (f"zeros<f32>({shape[0]}, {shape[1]})", "0.0")
        tile = Tile(f"t{len(self.tiles)}", shape)
        clause = self.rng.choice(["", "pipeline(2) ", "pipeline(3) ", "pipeline(4) "])
        self.say(f"var {tile.name} = {begin};")
        self.say(f"{clause}for s in tiles({k}, {bk}) {{")
        # A factor may be computed from what is loaded, with a number of the round.
        kernel, factor = self.rng.choice([
            ("{}", "1.0"), ("{}", "1.0"), ("{} * 0.5", "0.5"), ("{} * " + t + "(1 - s % 2)", f"f64(1 - l / {bk} % 2)")])
        factors = [f"{name}.tile(({extent}, {bk}), (0, s))" for name, extent in zip((a, b), shape)]
        which = self.rng.randrange(2)
        factors[which] = kernel.format(factors[which])
        if t == "f32" and shape[0] % 16 == 0 and self.rng.random() < 0.5:
            factors = [f"f16({text})" for text in factors]
        self.say(f"    {tile.name} += dot({factors[0]}, {factors[1]});")
        self.say("}")
        self.say(f"{tile.name} = {tile.name} / 4.0;")
        self.keep(tile, f"({zero} + sum(l in 0..{k}) {{ {a}[i, l] * {b}[j, l] * {factor} }}) / 4.0")
        return True

    def sliding(self):
        """A loop over operands of which one slides along its rows and the other begins before k."""
        shape = (self.rng.choice(EXTENTS[1:]), self.rng.choice(EXTENTS[1:]))
        bk, rounds = self.rng.choice([16, 32]), self.rng.randint(1, 4)
        t = self.rng.choice(["f16", "bf16", "f32"])
        extents = [[self.rng.choice([16, 33, 64, 72, 100]) for _ in range(2)] for _ in range(2)]
        a, b = (self.tensor(extents[side], t) for side in range(2))
        (r, row), (c, column) = self.offset(), self.offset()
        clause = self.rng.choice(["", "pipeline(2) ", "pipeline(3) ", "pipeline(4) "])
        tile = Tile(f"t{len(self.tiles)}", shape)
        self.say(f"var {tile.name} = zeros<f32>({shape[0]}, {shape[1]});")
        self.say(f"{clause}for s in 0..count * {rounds} {{")
        self.say(f"    let x = {a}.tile(({shape[0]}, {bk}), at = ({row} + s, {column} + s * {bk}));")
        turned = self.rng.random() < 0.3
        y = f"{b}.tile(({bk}, {shape[1]}), at = (s * {bk}, {row}))" if turned else \
            f"{b}.tile(({shape[1]}, {bk}), (_, s), at = ({row}, _))"
        self.say(f"    {tile.name} += dot(x, {f'transpose({y})' if turned else y});")
        self.say("}")
        self.say(f"{tile.name} = {tile.name} / 4.0;")
        terms = []
        for s in range(rounds):
            x = windowed(a, extents[0], "i", r + s, "l", c + s * bk, "0.0")
            y = windowed(b, extents[1], "l", s * bk, "j", r, "0.0") if turned else \
                windowed(b, extents[1], "j", r, "l", s * bk, "0.0")
            terms.append(f"(sum(l in 0..{bk}) {{ {x} * {y} }})")
        self.keep(tile, f"({' + '.join(terms)}) / 4.0")
        return True

    def nested(self):
        """A loop over an operand from a view of nested modes, whose extents need not divide the tiles, and which may overlap."""
        shape = (self.rng.choice(EXTENTS[1:]), self.rng.choice(EXTENTS[1:]))
        bk, rounds = self.rng.choice([16, 32]), self.rng.randint(1, 3)
        t = self.rng.choice(["f16", "bf16", "f32"])
        whole = self.rng.choice([1, 8])
        p, q, r = (self.rng.randint(1, 9) for _ in range(3))
        c = whole * self.rng.randint(1, 3)
        by_p, by_q, by_r = (whole * self.rng.randint(1, 6) for _ in range(3))
        length = (p - 1) * by_p + (q - 1) * by_q + (r - 1) * by_r + c
        x, b = f"x{len(self.params)}", None
        self.params.append((x, f"{x}: tensor<{t}, ({length},)>"))
        self.data.append(f"let {x} = random<{t}>({length});")
        b = self.tensor((shape[1], bk * rounds), t)
        rows, columns = f"({p}, count * {q})", f"({c}, {r})"
        by_rows, by_columns = f"({by_p}, {by_q})", f"(1, {by_r})"
        turned = self.rng.random() < 0.4
        first = self.rng.choice([0, 0, 1, -1])
        view, at = f"v{len(self.params)}", f"({first}, s)"
        if turned:
            self.say(f"let {view} = view({x}, ({columns}, {rows}) : ({by_columns}, {by_rows}));")
            a = f"transpose({view}.tile(({bk}, {shape[0]}), (s, {first})))"
        else:
            self.say(f"let {view} = view({x}, ({rows}, {columns}) : ({by_rows}, {by_columns}));")
            a = f"{view}.tile(({shape[0]}, {bk}), {at})"
        clause = self.rng.choice(["", "pipeline(2) ", "pipeline(3) ", "pipeline(4) "])
        tile = Tile(f"t{len(self.tiles)}", shape)
        self.say(f"var {tile.name} = zeros<f32>({shape[0]}, {shape[1]});")
        self.say(f"{clause}for s in 0..count * {rounds} {{")
        self.say(f"    {tile.name} += dot({a}, {b}.tile(({shape[1]}, {bk}), (0, s)));")
        self.say("}")
        self.say(f"{tile.name} = {tile.name} / 4.0;")
        i = f"(i + {first * shape[0]})"
        inside = f"{i} >= 0 && {i} < {p * q} && l < {c * r}"
        # The remainder keeps the index from saying how far it runs; numbers before the first one are outside.
        place = f"(({i} + {p * q}) % {p} * {by_p} + ({i} + {p * q * 64}) / {p} % {q} * {by_q} + l % {c} + l / {c} * {by_r}) % {length}"
        self.keep(tile, f"(sum(l in 0..{bk * rounds}) {{ (if {inside} {{ {x}[{place}] }} else {{ 0.0 }}) * {b}[j, l] }}) / 4.0")
        return True

    def loop(self):
        """A tile that is halved and added to in each round."""
        start = self.pick()
        if start is None:
            return False
        rows, columns = start.shape
        rounds = self.rng.randint(0, 3)
        x = self.tensor((rows * max(rounds, 1), columns))
        tile = Tile(f"t{len(self.tiles)}", start.shape)
        clause = self.rng.choice(["", "pipeline(2) "])
        self.say(f"var {tile.name} = {start.name};")
        self.say(f"{clause}for s in 0..count * {rounds} {{")
        self.say(f"    {tile.name} = 0.5 * {tile.name} + 0.5 * {x}.tile(({rows}, {columns}), (s, 0));")
        self.say("}")
        element = start.at("i", "j")
        for at in range(rounds):
            element = f"(0.5 * {element} + 0.5 * {x}[{part('i', at, rows, rounds)}, j])"
        self.keep(tile, element)
        return True

    def nest(self):
        """Products in a loop that asks, or is left early, each stored as it is made."""
        rows, columns, k = self.rng.choice([16, 32]), self.rng.choice([16, 32, 64]), self.rng.choice([16, 32])
        rounds, t = self.rng.randint(1, 4), self.rng.choice(["f16", "bf16", "f32"])
        a, b = self.tensor((rows * rounds, k), t), self.tensor((columns, k), t)
        y = self.tensor((rows * rounds, columns), mutable=True)
        body = f"{y}.tile(({rows}, {columns}), (s, 0)) = dot({a}.tile(({rows}, {k}), (s, 0)), {b}.tile(({columns}, {k}), (0, 0)));"
        if self.rng.random() < 0.4:
            half = f"({rows}, {k // 2})", f"({columns}, {k // 2})"
            if k // 2 >= 16:
                body = (f"var sums = zeros<f32>({rows}, {columns}); for u in tiles({k}, {k // 2}) {{ sums += "
                        f"dot({a}.tile({half[0]}, (s, u)), {b}.tile({half[1]}, (0, u))); }} {y}.tile(({rows}, {columns}), (s, 0)) = sums;")
        end, count = f"count * {rounds}", f"n{len(self.params)}"
        for line in self.rng.choice([
            [f"var {count} = 0;", f"while {count} < {end} {{", f"    let s = {count};", "    " + body, f"    {count} += 1;", "}"],
            [f"var {count} = 0;", "loop {", f"    let s = {count};", f"    if s >= {end} {{ break; }}", "    " + body, f"    {count} += 1;", "}"],
            [f"for s in 0..{rounds + 2} {{", f"    if s >= {end} {{ break; }}", "    " + body, "}"],
            [f"for s in 0..{rounds + 2} {{", f"    if s >= {end} {{ continue; }}", "    " + body, "}"],
        ]):
            self.say(line)
        self.checks.append(f"assert_close({y}[i, j], sum(l in 0..{k}) {{ {a}[i, l] * {b}[j, l] }}, rtol = 0.03, atol = 0.03);")
        return True

    def read_back(self):
        """What was stored is read back in another way, by other threads."""
        x = self.pick()
        y = self.tensor(x.shape, mutable=True)
        self.say(f"{y}.tile({x.shape}, (0, 0)) = {x.name};")
        shape = (self.extent(), self.extent())
        (r, row), (c, column) = self.offset(), self.offset()
        tile = self.define(shape, f"{y}.tile({shape}, at = ({row}, {column}))",
                           windowed(f"r_{x.name}", x.shape, "i", r, "j", c, "0.0"))
        if self.rng.random() < 0.5:
            # And overwritten where others may still read it.
            self.say(f"{y}.tile({shape}, (0, 0)) = 0.5 * {tile.name};")
            rows, columns = x.shape
            self.checks.append(
                f"assert_close({y}[i, j], if i < {shape[0]} && j < {shape[1]} {{ 0.5 * r_{tile.name}[i % {shape[0]}, j % {shape[1]}] }} "
                f"else {{ r_{x.name}[i % {rows}, j % {columns}] }}, rtol = 0.03, atol = 0.03);")
        return True

    def branch(self):
        """What only happens where a number of the launch says so."""
        x = self.pick()
        y = self.pick(lambda shape: shape == x.shape)
        holds = self.rng.random() < 0.5
        tile = Tile(f"t{len(self.tiles)}", x.shape)
        self.say(f"var {tile.name} = {x.name};")
        self.say(f"if count {'==' if holds else '>'} 1 {{ {tile.name} = {y.name} - 0.25; }}")
        self.keep(tile, f"{y.at('i', 'j')} - 0.25" if holds else x.at("i", "j"))
        return True

    def store(self, tile):
        if self.rng.random() < 0.3:
            return self.place(tile)
        y = self.tensor(tile.shape, mutable=True)
        self.say(f"{y}.tile({tile.shape}, (0, 0)) = {tile.name};")
        self.checks.append(f"assert_close({y}[i, j], {tile.at('i', 'j')}, rtol = 0.03, atol = 0.03);")

    def place(self, tile):
        """Writes a tile somewhere in a tensor, perhaps over its edges."""
        extents = [self.rng.choice([7, 16, 40, 64, 80]) for _ in tile.shape]
        y = self.tensor(extents, mutable=True)
        self.data.append(f"{y}[i, j] = 5.0;")
        (r, row), (c, column) = self.offset(), self.offset()
        self.say(f"{y}.tile({tile.shape}, at = ({row}, {column})) = {tile.name};")
        rows, columns = tile.shape
        inside = f"i >= {r} && i - {r} < {rows} && j >= {c} && j - {c} < {columns}"
        element = tile.at(f"(i - {r}) % {rows}", f"(j - {c}) % {columns}")
        self.checks.append(f"assert_close({y}[i, j], if {inside} {{ {element} }} else {{ 5.0 }}, rtol = 0.03, atol = 0.03);")

    def text(self):
        params = ", ".join(param for _, param in self.params)
        names = ", ".join(name for name, _ in self.params)
        launch = "launch tiles(1)" + self.rng.choice(["", "", ", warps(1)"])
        lines = [f"kernel {self.name}({params}, count: i32)", launch, "{", *self.body, "}",
                 f"test {self.name} {{", *("    " + line for line in self.data),
                 f"    {self.name}({names}, 1);",
                 *("    " + line for line in self.reference), *("    " + line for line in self.checks), "}", ""]
        return "\n".join(lines)


def tiles(rng, name):
    """Tiles made of tiles."""
    program = Program(rng, name)
    program.load()
    steps = [program.load, program.constant, program.unary, program.binary, program.reduce, program.transpose,
             program.broadcast, program.apart, program.together, program.gathered, program.gathered, program.dot, program.dot, program.product, program.loop, program.branch, program.window, program.window,
             program.sliding, program.nested, program.nest, program.read_back]
    for _ in range(rng.randint(3, 9)):
        while not rng.choice(steps)():
            pass
    stored = rng.sample(program.tiles, min(len(program.tiles), rng.randint(1, 2)))
    for tile in {tile.name: tile for tile in [*stored, program.tiles[-1]]}.values():
        program.store(tile)
    return program.text()
