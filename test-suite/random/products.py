"""Random products at tile level, of any layout and size, and what is done with their sums, each with a reference in f64.

What follows a product is a sequence of steps on its tile; the text of an element of the reference grows beside it. Which instructions,
warps, buffers and roles serve a kernel is left to the compiler, so that all its ways are taken that the steps allow.
"""
SHORT = ("f16", "bf16")
# On the way of a factor, without rounding: as a kernel has it, and the reference.
ON_THE_WAY = [("{t}(0.5 * f32({x}))", "(0.5 * {x})"), ("abs({x})", "abs({x})"), ("{t}(max(-f32({x}), 0.0))", "max(-{x}, 0.0)")]


class Product:
    """Kernel and reference as they grow."""

    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        # The loop, and what is done with the sums: in it COLUMN is the tile of columns, SUMS the sums, HALF a suffix for names.
        self.loop, self.params, self.data, self.body, self.checks, self.promises = [], [], [], [], [], []
        self.type = rng.choice(["f16", "f16", "bf16", "bf16", "tf32"])
        self.bm, self.bn = rng.choice([(128, 128), (128, 128), (128, 128), (64, 128), (64, 64), (128, 64), (64, 192), (64, 256), (128, 256)])
        # Extents of which no power of two of threads copies a part.
        if rng.random() < 0.1:
            self.bm, self.bn = rng.choice([64, 80, 128]), rng.choice([24, 40, 56, 72, 104])
        # Few rows, which `wgmma` multiplies with the factors exchanged.
        self.bytes = None
        if rng.random() < 0.2:
            self.bm, self.bn = rng.choice([16, 16, 32, 48, 96]), rng.choice([64, 128])
            # One factor of bytes.
            if self.type in SHORT and rng.random() < 0.5:
                self.bytes = rng.choice([0, 1, 1])
        self.bk = rng.choice([32, 64]) if self.type in SHORT else 32
        self.m, self.n = (8 * rng.randint(1, 40) for _ in range(2))
        self.k = 8 * rng.randint(0, 20)
        # Two tiles of columns of a block, which share what is loaded of a; products of each round by themselves, with a scale for each row.
        self.halves = self.bm * self.bn <= 128 * 128 and rng.random() < 0.25
        self.scaled = rng.random() < (0.7 if self.halves else 0.1)
        # Where a tile of rows has the first blocks of k only, as many as its number says.
        self.triangle = rng.random() < 0.15
        # Whose rows are added up beside the product, of the same reading: a's or b's, added to the product's.
        self.side = rng.choice([0, 1]) if rng.random() < 0.15 else None
        # Neighbours of a row of the result.
        self.divides = rng.choice([8, 8, 8, 1])
        if self.divides == 1:
            self.n += rng.randint(0, 7)

    def parameter(self, name, element, extents, by_columns=False, mutable=False):
        stride = f" : (1, ld{name})" if by_columns else ""
        self.params.append(f"{name}: {'mut ' if mutable else ''}tensor<{element}, ({extents[0]}, {extents[1]}){stride}>")
        if by_columns:
            self.promises.append(f"ld{name} % 8 == 0")

    def tensor(self, prefix, element, by_columns=False, mutable=False):
        """One of the shape of the result; the name of it."""
        name = f"{prefix}{len(self.params)}"
        by_columns = by_columns and self.m % 8 == 0
        self.parameter(name, element, ("m", "n"), by_columns, mutable)
        layout = f" : (1, {self.m})" if by_columns else ""
        value = {True: "poison", False: "random"}[mutable]
        self.data.append(f"{'var' if mutable else 'let'} {name} = {value}<{element}>(({self.m}, {self.n}){layout});")
        return name

    def operands(self):
        """The product, in `sums`; the text of an element of it."""
        bm, bn, bk = self.bm, self.bn, self.bk
        factors = []
        if self.bytes is not None and self.rng.random() < 0.5:
            self.promises.append("k % 16 == 0")
            self.k = -(-self.k // 16) * 16
        for number, (name, rows, extent, tile, place, index) in enumerate((("a", "m", self.m, bm, "tile.m", "i"), ("b", "n", self.n, bn, "COLUMN", "j"))):
            if number == self.bytes:
                self.parameter(name, "i8", (rows, "k"))
                self.data.append(f"let {name} = random<i8>({extent}, {self.k});")
                factors.append((f"{self.type}({name}.tile(({tile}, {bk}), ({place}, t)))", f"{name}[{index}, l]"))
                continue
            # Rows that are two modes of a tensor.
            if self.rng.random() < 0.15 and extent % 8 == 0:
                apart = self.rng.choice([2, 4, 8])
                self.params.append(f"{name}: tensor<{self.type}, ({name}_rows, {apart}, k)>")
                self.data.append(f"let {name} = random<{self.type}>({extent // apart}, {apart}, {self.k});")
                taken = f"reshape({name}.tile(({tile // apart}, {apart}, {bk}), ({place}, 0, t)), {tile}, {bk})"
                factors.append((taken, f"{name}[{index} / {apart}, {index} % {apart}, l]"))
                continue
            factors.append((f"{name}.tile(({tile}, {bk}), ({place}, t))", f"{name}[{index}, l]"))
            by_columns = self.rng.random() < 0.25 and extent % 8 == 0
            self.parameter(name, self.type, (rows, "k"), by_columns)
            layout = f" : (1, {extent})" if by_columns else ""
            self.data.append(f"let {name} = random<{self.type}>(({extent}, {self.k}){layout});")
        self.promises.append("k % 8 == 0")
        if self.type in SHORT and self.rng.random() < 0.4:
            which = self.rng.choice([0, 0, 1])
            on_the_way = self.rng.choice(ON_THE_WAY)
            factors[which] = tuple(text.format(t=self.type, x=x) for text, x in zip(on_the_way, factors[which]))
        (a, of_a), (b, of_b) = factors
        multiply = f"SUMS += dot({a}, {b});"
        of_side = ""
        if self.scaled:
            blocks = max(1, -(-self.k // bk))
            self.params.append("scales: tensor<f32, (blocks, m)>")
            self.data.append(f"let scales = random<f32>({blocks}, {self.m});")
            multiply = f"SUMS = fma(dot({a}, {b}), reshape(scales[t, _].tile({bm}, tile.m), {bm}, 1), SUMS);"
            of_a = f"{of_a} * scales[l / {bk}, i]"
        if self.side is not None:
            row = f"reduce(add, f32({(a, b)[self.side]}), axis = 1)"
            side = f"side_SUMS += {row if self.side == 0 else f'transpose({row})'};"
            multiply = " ".join([side, multiply] if self.rng.random() < 0.5 else [multiply, side])
            of_side = f" + {factors[self.side][1]}"
        multiply = " ".join(self.by_half(multiply))
        end = f"ceil_div(k, {bk})"
        if self.triangle:
            end = f"min(tile.m + 1, {end})"
        of_round = f"{of_a} * {of_b}{of_side}"
        if self.triangle:
            of_round = f"if l < (i / {bm} + 1) * {bk} {{ {of_round} }} else {{ 0.0 }}"
        self.loop += self.by_half(f"var SUMS = zeros<f32>({bm}, {bn});")
        if self.side is not None:
            self.loop += self.by_half(f"var side_SUMS = zeros<f32>({f'{bm}, 1' if self.side == 0 else f'1, {bn}'});")
        self.loop.append(f"pipeline for t in 0..{end} {{ {multiply} }}")
        element = "exact[i, j]"
        if self.bm * self.bn <= 128 * 128 and not self.halves and self.rng.random() < 0.15:
            # Again, with what is left of half of k.
            self.loop.append(f"pipeline for t in 0..{'min(tile.m + 1, k / ' + str(2 * bk) + ')' if self.triangle else 'k / ' + str(2 * bk)} {{ {multiply} }}")
            covered = self.k // (2 * bk) * bk
            self.data.append(f"var again = zeros<f64>({self.m}, {self.n});")
            self.data.append(f"again[i, j] = sum(l in 0..{covered}) {{ {of_round} }};" if covered else "again[i, j] = 0.0;")
            element = "(exact[i, j] + again[i, j])"
        self.data.append(f"var exact = zeros<f64>({self.m}, {self.n});")
        self.data.append(f"exact[i, j] = sum(l) {{ {of_round} }};")
        return element

    def by_half(self, text):
        """What is the same for each tile of columns."""
        halves = [("2 * tile.n", "sums", ""), ("2 * tile.n + 1", "more", "h")] if self.halves else [("tile.n", "sums", "")]
        return [text.replace("COLUMN", column).replace("SUMS", sums).replace("HALF", half) for column, sums, half in halves]

    def bias(self, value, element):
        name = f"bias{len(self.params)}"
        by_rows = self.rng.random() < 0.4
        if by_rows:
            self.params.append(f"{name}: tensor<f32, (m, 1)>")
            self.data.append(f"let {name} = random<f32>({self.m}, 1);")
            return f"{value} + {name}.tile(({self.bm}, 1), (tile.m, 0))", f"({element} + {name}[i, 0])"
        self.params.append(f"{name}: tensor<f32, n>")
        self.data.append(f"let {name} = random<f32>({self.n});")
        return f"{value} + {name}.tile({self.bn}, COLUMN)", f"({element} + {name}[j])"

    def relu(self, value, element):
        return f"max({value}, 0.0)", f"max({element}, 0.0)"

    def scale(self, value, element):
        return f"({value}) * 0.5 + 1.0", f"({element} * 0.5 + 1.0)"

    def residual(self, value, element):
        name = self.tensor("x", self.rng.choice([self.result, self.result, "f32", "f16"]), self.rng.random() < 0.2)
        tile = f"f32({name}.tile(({self.bm}, {self.bn}), (tile.m, COLUMN)))"
        return f"({value}) + {tile}", f"({element} + {name}[i, j])"

    def store(self, value, element):
        kind = self.rng.random()
        place = f"({self.bm}, {self.bn}), (tile.m, COLUMN)"
        if kind < 0.15:
            name = f"y{len(self.params)}"
            self.parameter(name, "f32", ("m", "n"), mutable=True)
            self.data.append(f"var {name} = zeros<f32>({self.m}, {self.n});")
            self.body.append(f"atomic_add({name}.tile({place}), {value});")
        elif kind < 0.3:
            name = f"y{len(self.params)}"
            self.parameter(name, self.result, ("n", "m"), mutable=True)
            self.data.append(f"var {name} = poison<{self.result}>({self.n}, {self.m});")
            self.body.append(f"{name}.tile(({self.bn}, {self.bm}), (COLUMN, tile.m)) = transpose({self.result}({value}));")
            self.checks.append(f"assert_close({name}[j, i], {element}, rtol = 0.03, atol = 0.03);")
            return
        elif kind < 0.4:
            self.store_slices(value, element)
            return
        elif kind < 0.5:
            self.scatter(value, element)
            return
        else:
            name = self.tensor("y", self.result, self.rng.random() < 0.2, mutable=True)
            self.body.append(f"{name}.tile({place}) = {self.result}({value});")
        self.checks.append(f"assert_close({name}[i, j], {element}, rtol = 0.03, atol = 0.03);")

    def store_slices(self, value, element):
        """To one or two slices of a tensor of three modes, as slices or by a reshape."""
        name, own = f"y{len(self.params)}", self.result
        self.params.append(f"{name}: mut tensor<{own}, (3, m, n)>")
        self.data.append(f"var {name} = poison<{own}>(3, {self.m}, {self.n});")
        tile = f"({self.bm}, {self.bn}), (tile.m, COLUMN)"
        ways = [
            lambda number, v: f"{name}[{number}, _, _].tile({tile}) = {own}({v});",
            lambda number, v: f"{name}.tile((1, {self.bm}, {self.bn}), ({number}, tile.m, COLUMN)) = reshape({own}({v}), 1, {self.bm}, {self.bn});",
        ]
        for number in self.rng.sample(range(3), self.rng.choice([1, 2])):
            self.body.append(self.rng.choice(ways)(number, f"({value}) * {number}.5"))
            self.checks.append(f"assert_close({name}[{number}, i, j], {element} * {number}.5, rtol = 0.03, atol = 0.1);")

    def scatter(self, value, element):
        """Rows the other way round, of which some go nowhere."""
        name, at, own = f"y{len(self.params)}", f"at{len(self.params)}", self.result
        self.params += [f"{name}: mut tensor<{own}, (m, n)>", f"{at}: tensor<i32, m>"]
        self.data += [f"var {name} = full<{own}>(1.0, {self.m}, {self.n});", f"var {at} = zeros<i32>({self.m});"]
        self.data.append(f"{at}[i] = if i % 4 == 3 {{ -1 }} else {{ {self.m} - 1 - i }};")
        rows = f"reshape({at}.tile({self.bm}, tile.m, fill = -1), {self.bm}, 1)"
        self.body.append(f"{name}.scatter(({rows}, iota(1, {self.bn}) + (COLUMN) * {self.bn})) = {own}({value});")
        self.checks.append(f"assert_close({name}[{self.m} - 1 - i, j], if i % 4 == 3 {{ 1.0 }} else {{ {element} }}, rtol = 0.03, atol = 0.03);")

    def text(self):
        self.result = self.rng.choice([self.type if self.type in SHORT else "f32", "f32", "f16"])
        element, steps = self.operands(), [self.bias, self.relu, self.scale, self.residual, self.residual]
        value = "SUMS" if self.side is None else "(SUMS + side_SUMS)"
        for number in range(self.rng.randint(0, 4)):
            value, element = self.rng.choice(steps)(value, element)
            if self.rng.random() < 0.3:
                self.body.append(f"let v{number}HALF = {value};")
                value = f"v{number}HALF"
                if self.rng.random() < 0.3:
                    self.store(value, element)
        self.store(value, element)
        if self.divides == 8:
            self.promises.append("n % 8 == 0")
        if any("y" == param[0] and "(n, m)" in param for param in self.params):
            self.promises.append("m % 8 == 0")
        names = ", ".join(param.split(":")[0] for param in self.params)
        columns = self.bn * (2 if self.halves else 1)
        more = self.rng.choice(["", "", ", raster(2)", ", pingpong(false)", ", persistent()", ", persistent(false)"])
        launch = f"launch tiles(m / {self.bm}, n / {columns})" + more
        body = [*self.loop, *(line for half in zip(*map(self.by_half, self.body)) for line in half)]
        return "\n".join([
            f"kernel {self.name}({', '.join(self.params)})", f"where {', '.join(self.promises)}", launch, "{",
            *("    " + line for line in body), "}", f"test {self.name} {{", *("    " + line for line in self.data),
            f"    {self.name}({names});", *("    " + line for line in self.checks), "}", ""])


def products(rng, name):
    """A product and what follows it."""
    return Product(rng, name).text()
