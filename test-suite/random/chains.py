"""Random chains of products at tile level, as in attention, its gradients and recurrences, each with a reference in f64.

A loop over blocks of columns computes tiles of scores, makes weights of them in a sequence of steps, and multiplies those with something else. Which
products are by which instruction, in which order, and which of their factors stay in registers is left to the compiler.
"""


class Chain:
    """Kernel and reference as they grow. The weight of row i and column j, in the kernel and in the reference."""

    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.params, self.data, self.body, self.checks = [], [], [], []
        self.type = rng.choice(["f16", "bf16"])
        self.d = rng.choice([32, 64, 64, 128])
        self.bm = rng.choice([64, 64, 128, 128, 192])
        self.bn = rng.choice([bn for bn in (32, 64, 64, 128) if self.fits(1, bn)])
        self.m, self.n = rng.randint(1, 300), rng.choice([rng.randint(1, 200), 8 * rng.randint(1, 25)])
        # Where a tile of rows has the blocks up to its own rows, how many these are, in the kernel and in the reference.
        self.triangle = rng.random() < 0.2
        self.blocks = self.of_blocks = -(-self.n // self.bn)
        if self.triangle:
            self.blocks = f"ceil_div(min((tile.m + 1) * {self.bm}, n), {self.bn})"
            self.of_blocks = f"((min((i / {self.bm} + 1) * {self.bm}, {self.n}) + {self.bn - 1}) / {self.bn})"

    def fits(self, stages, bn):
        """Whether two tiles of rows and so many stages of four of columns, or of weights, fit shared memory."""
        return 4 * self.bm * self.d + stages * 4 * 256 * bn <= 147456

    def tensor(self, name, rows, columns, element=None, mutable=False):
        """A parameter of so many rows and columns, each a name of this or a number."""
        element = element or self.type
        known = {"m": self.m, "n": self.n}
        self.params.append(f"{name}: {'mut ' if mutable else ''}tensor<{element}, ({rows}, {columns})>")
        extents = f"{known.get(rows, rows)}, {known.get(columns, columns)}"
        self.data.append(f"{'var' if mutable else 'let'} {name} = {'poison' if mutable else 'random'}<{element}>({extents});")

    def scores(self, number):
        """A tile of products of rows and columns, and an element of it."""
        rows, columns = f"q{number}", f"k{number}"
        self.tensor(rows, "m", self.d)
        if number > 0 and self.rng.random() < 0.3:
            columns = "k0"
        else:
            self.tensor(columns, "n", self.d)
        self.columns.append(columns)
        ahead = self.rng.random() < 0.5
        row = f"{rows}.tile(({self.bm}, {self.d}), (tile.m, 0))"
        if ahead:
            self.body.insert(0, f"let row{number} = {row};")
        self.inside.append(f"let column{number} = {columns}.tile(({self.bn}, {self.d}), (t, 0));")
        dot = f"dot({f'row{number}' if ahead else row}, column{number})"
        self.data.append(f"var s{number} = zeros<f64>({self.m}, {self.n});")
        self.data.append(f"s{number}[i, j] = sum(l) {{ {rows}[i, l] * {columns}[j, l] }};")
        return dot, f"s{number}[i, j]"

    def relu(self, value, element):
        return f"max({value}, 0.0)", f"max({element}, 0.0)"

    def scale(self, value, element):
        return f"({value}) * 0.5", f"({element} * 0.5)"

    def of_rows(self, value, element):
        name = f"rows{len(self.params)}"
        self.params.append(f"{name}: tensor<f32, m>")
        self.data.append(f"let {name} = random<f32>({self.m});")
        self.body.insert(0, f"let of_{name} = reshape({name}.tile({self.bm}, tile.m), {self.bm}, 1);")
        return f"({value}) - of_{name}", f"({element} - {name}[i])"

    def of_columns(self, value, element):
        """A number for each column: where they lie side by side or not, from somewhere else on, and of what there is outside 0 or 2."""
        name, element_type = f"columns{len(self.params)}", self.rng.choice(["f32", "f32", self.type, "i32"])
        # A layout of a test has numbers.
        stride = self.rng.choice([1, 1, 3])
        self.params.append(f"{name}: tensor<{element_type}, n" + (f" : {stride}>" if stride > 1 else ">"))
        self.data.append(f"let {name} = random<{element_type}>({self.n}" + (f" : {stride});" if stride > 1 else ");"))
        fill, off = self.rng.choice(["", "", ", fill = 2"]), self.rng.choice([0, 0, -3, 5])
        if fill and element_type != "i32":
            fill += ".0"
        at = f"at = t * {self.bn} + {off}" if off else "t"
        number = f"f32(reshape({name}.tile({self.bn}, {at}{fill}), 1, {self.bn}))"
        outside = "2.0" if fill else "0.0"
        there = f"(if j + {off} >= 0 && j + {off} < {self.n} {{ f64({name}[min(max(j + {off}, 0), {self.n - 1})]) }} else {{ {outside} }})"
        # Integers are large.
        small = " * 0.001" if element_type == "i32" else ""
        return f"({value}) * ({number}{small})", f"({element} * ({there}{small}))"

    def by_blocks(self, value, element):
        """A number for each block of columns."""
        name = f"blocks{len(self.params)}"
        self.params.append(f"{name}: tensor<f32, (1, blocks)>")
        self.data.append(f"let {name} = random<f32>(1, {-(-self.n // self.bn)});")
        return f"({value}) * {name}.tile((1, 1), (0, t))", f"({element} * {name}[0, j / {self.bn}])"

    def of_all(self, value, element):
        """A tile, of rows or of columns that lie side by side, read where it is taken or ahead of all."""
        name, element_type = f"gate{len(self.params)}", self.rng.choice(["f32", self.type])
        if self.rng.random() < 0.3:
            self.params.append(f"{name}: tensor<{element_type}, (m, n) : (1, {-(-self.m // 8) * 8})>")
            self.data.append(f"let {name} = random<{element_type}>(({self.m}, {self.n}) : (1, {-(-self.m // 8) * 8}));")
        else:
            self.tensor(name, "m", "n", element_type)
        gate = f"f32({name}.tile(({self.bm}, {self.bn}), (tile.m, t)))"
        if self.rng.random() < 0.5:
            self.inside.insert(0, f"let of_{name} = {gate};")
            gate = f"of_{name}"
        return f"({value}) * {gate}", f"({element} * {name}[i, j])"

    def mask(self, value, element):
        rows, columns = f"iota({self.bm}, 1) + tile.m * {self.bm}", f"iota(1, {self.bn}) + t * {self.bn}"
        return f"select({columns} <= {rows}, {value}, 0.0)", f"(if j <= i {{ {element} }} else {{ 0.0 }})"

    def weights(self, value, element, number):
        for _ in range(self.rng.randint(0, 3)):
            step = self.rng.choice([self.relu, self.scale, self.of_rows, self.of_columns, self.by_blocks, self.of_all, self.mask])
            value, element = step(value, element)
        name = f"w{number}"
        if self.rng.random() < 0.2:
            # Only blocks that are cut are compared.
            rows, columns = f"iota({self.bm}, 1) + tile.m * {self.bm}", f"iota(1, {self.bn}) + t * {self.bn}"
            self.inside.append(f"var {name} = {value};")
            self.inside.append(f"if (t + 1) * {self.bn} > tile.m * {self.bm} {{ {name} = select({columns} <= {rows}, {name}, 0.0); }}")
            element = f"(if j <= i {{ {element} }} else {{ 0.0 }})"
        else:
            self.inside.append(f"let {name} = {value};")
        if self.triangle:
            element = f"(if j / {self.bn} < {self.of_blocks} {{ {element} }} else {{ 0.0 }})"
        # What is outside of the tensors is no weight of a row's sum.
        self.data.append(f"var {name} = zeros<f64>({self.m}, {self.n});")
        self.data.append(f"{name}[i, j] = {element};")
        return name

    def summed(self, weights, number):
        """The product of weights with other columns: an output."""
        bm, bn = self.bm, self.bn
        if self.rng.random() < 0.5:
            of, width = self.rng.choice(list(enumerate(self.columns))), self.d
            factor, of = f"column{of[0]}", of[1]
        else:
            of, width = f"v{number}", self.rng.choice([32, 64, 96, 128])
            self.tensor(of, "n", width)
            factor = f"{of}.tile(({bn}, {width}), (t, 0))"
        self.body.append(f"var sums{number} = zeros<f32>({bm}, {width});")
        fade = ""
        if self.rng.random() < 0.3:
            # What is there counts half with each block that follows.
            self.inside.append(f"sums{number} *= 0.5;")
            fade = f" * exp2(f64(j / {bn} + 1 - {self.of_blocks}))"
        self.inside.append(f"sums{number} += dot({self.type}({weights}), transpose({factor}));")
        out, result = f"y{number}", self.rng.choice([self.type, "f32"])
        self.tensor(out, "m", width, result, mutable=True)
        self.behind.append(f"{out}.tile(({bm}, {width}), (tile.m, 0)) = {result}(sums{number});")
        # Weights are factors as the kernel rounds them.
        self.check(f"{out}[i, c]", f"sum(j) {{ f64({self.type}({weights}[i, j])) * {of}[j, c]{fade} }}")

    def check(self, value, exact):
        """Elements are some ten to a hundred. A weight between two numbers of its type may be rounded to the other one."""
        off = 3.0 if self.type == "bf16" else 0.4
        self.checks.append(f"assert_close({value}, {exact}, rtol = 0.03, atol = {off});")

    def row_sums(self, weights, number):
        self.params.append(f"total{number}: mut tensor<f32, m>")
        self.data.append(f"var total{number} = poison<f32>({self.m});")
        self.body.append(f"var all{number} = zeros<f32>({self.bm}, 1);")
        there = f"iota(1, {self.bn}) + t * {self.bn} < n"
        self.inside.append(f"all{number} += reduce(add, select({there}, {weights}, 0.0), axis = 1);")
        self.behind.append(f"total{number}.tile({self.bm}, tile.m) = reshape(all{number}, {self.bm});")
        self.check(f"total{number}[i]", f"sum(j) {{ {weights}[i, j] }}")

    def text(self):
        self.inside, self.behind, self.columns = [], [], []
        value, element = self.scores(0)
        if self.rng.random() < 0.3:
            self.inside.append(f"let first = {value};")
            more, of_more = self.scores(1)
            value, element = f"first * ({more})", f"({element} * {of_more}) * 0.1"
            value = f"({value}) * 0.1"
        weights = self.weights(value, element, 0)
        self.summed(weights, 0)
        if self.rng.random() < 0.4:
            self.row_sums(weights, 0)
        if self.rng.random() < 0.3:
            if self.rng.random() < 0.5:
                weights = self.weights(weights, f"{weights}[i, j]", 1)
            self.summed(weights, 1)
        two = ["pipeline(2) for"] if self.fits(2, self.bn) else []
        loop = self.rng.choice(["for", "for", "pipeline for", "pipeline(1) for", *two])
        blocks = f"0..{self.blocks}" if self.triangle else f"tiles(n, {self.bn})"
        body = [*self.body, f"{loop} t in {blocks} {{", *("    " + line for line in self.inside), "}", *self.behind]
        clause = self.rng.choice(["", "", "", ", pingpong(false)", ", queue(counter)", ", persistent()", ", persistent(false)"])
        if "queue" in clause:
            self.params.append("counter: mut tensor<i32, 2>")
            self.data.append("var counter = zeros<i32>(2);")
        return self.kernel(body, f"launch tiles(m / {self.bm})" + clause)

    def kernel(self, body, launch):
        names = ", ".join(param.split(":")[0] for param in self.params)
        by_columns = any("(m, n)" in param for param in self.params)
        where = ["where n % 8 == 0"] if by_columns and self.n % 8 == 0 and self.rng.random() < 0.8 else []
        return "\n".join([
            f"kernel {self.name}({', '.join(self.params)})", *where, launch, "{", *("    " + line for line in body), "}",
            f"test {self.name} {{", *("    " + line for line in self.data), f"    {self.name}({names});",
            *("    " + line for line in self.checks), "}", ""])


class Recurrence(Chain):
    """Blocks of rows in turn, each of which adds to a state what those behind it multiply with."""

    def text(self):
        bn, d, t = self.bn, self.d, self.type
        width = self.rng.choice([32, 64, 128])
        for name, columns in (("q", d), ("k", d), ("v", width)):
            self.tensor(name, "n", columns)
        self.tensor("y", "n", width, "f32", mutable=True)
        decay = self.rng.choice(["", "", "0.5"])
        state = f"({decay} * state)" if decay else "state"
        body = [f"var state = zeros<f32>({d}, {width});", f"for t in tiles(n, {bn}) {{"]
        for name, columns in (("q", d), ("k", d), ("v", width)):
            body.append(f"    let {name}t = {name}.tile(({bn}, {columns}), (t, 0));")
        body += [
            "    let scores = dot(qt, kt);",
            f"    let seen = select(iota(1, {bn}) <= iota({bn}, 1), scores, 0.0);",
            f"    let inner = dot({t}(seen), transpose(vt));",
            f"    y.tile(({bn}, {width}), (t, 0)) = inner + dot(qt, transpose({t}(state)));",
            f"    state = {state} + dot(transpose(kt), transpose(vt));",
            "}",
        ]
        self.data.append(f"var s = zeros<f64>({self.n}, {self.n});")
        self.data.append(f"s[i, j] = if j <= i {{ sum(l) {{ q[i, l] * k[j, l] }} }} else {{ 0.0 }};")
        # Scores of a block are rounded, its state is, too.
        passed = f"exp2(f64(j / {bn} + 1 - i / {bn}))" if decay else "1.0"
        self.data.append(f"var w = zeros<f64>({self.n}, {self.n});")
        self.data.append(f"w[i, j] = if i / {bn} == j / {bn} {{ f64({t}(s[i, j])) }} else {{ s[i, j] * {passed} }};")
        self.check("y[i, c]", "sum(j) { w[i, j] * v[j, c] }")
        return self.kernel(body, "launch tiles(1)")


def chains(rng, name):
    """Chained products of one loop."""
    return Chain(rng, name).text()


def recurrences(rng, name):
    """A state that blocks of rows hand on."""
    return Recurrence(rng, name).text()
