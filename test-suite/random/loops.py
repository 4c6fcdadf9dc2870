"""Random loops of products at tile level that do more than multiply: factors of other rounds, some by a table, products under conditions, sums and copies of
factors, tiles that are added, tiles that a loop carries, scales of rounds.

A statement of a loop adds text to its body and a term to the reference of what it changes, a sum over rounds or over elements of k. Sizes are
numbers here, so that rounds are, too.
"""
from products import ON_THE_WAY, SHORT

CONDITIONS = [("t >= 1", "{t} >= 1"), ("t % 2 == 0", "{t} % 2 == 0"), ("t == 0", "{t} == 0"), ("t < last", "{t} < {rounds} - 1")]


class Loops:
    """A kernel with one or two loops."""

    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.type = rng.choice(["f16", "f16", "bf16", "bf16", "tf32"])
        self.bm, self.bn = rng.choice([64, 64, 128]), rng.choice([32, 64, 64, 128])
        # All tiles of a round have to fit shared memory.
        self.bk = rng.choice([32, 64]) if self.type in SHORT else 32
        # A block has all columns: what it stores of rows no other one does.
        self.m, self.n, self.k = 8 * rng.randint(1, 30), 8 * rng.randint(1, self.bn // 8), 8 * rng.randint(0, 25)
        self.rounds = -(-self.k // self.bk)
        self.params, self.promises, self.data, self.checks = [], ["k % 8 == 0", "n % 8 == 0"], [], []
        for which, rows, extent in (("a", "m", self.m), ("b", "n", self.n)):
            for number in range(2):
                by_columns = rng.random() < 0.2 and self.type in SHORT
                tensor = f"{which}{number}"
                self.params.append(f"{tensor}: tensor<{self.type}, ({rows}, k){' : (1, ' + rows + ')' if by_columns else ''}>")
                layout = f" : (1, {extent})" if by_columns else ""
                self.data.append(f"let {tensor} = random<{self.type}>(({extent}, {self.k}){layout});")
                if by_columns:
                    self.promises.append(f"{rows} % 8 == 0")
        # What a loop changes, as the reference has it behind the loops so far.
        self.sums = {f"s{number}": "0.0" for number in range(rng.choice([1, 1, 2]))}
        self.rows = "0.0"
        self.carried = rng.random() < 0.2
        # Whether rounds are counted in 64 bits.
        self.wide = rng.random() < 0.15
        self.before = None
        self.body = []

    def element(self, tensor, row, by=0):
        """Of a tensor, of the round that is `by` further: 0 outside of it."""
        column = f"l + {by * self.bk}" if by > 0 else f"l - {-by * self.bk}" if by < 0 else "l + 0"
        place = column if row is None else f"{row}, {column}"
        return f"(if {column} < {self.k} {{ if {column} >= 0 {{ {tensor}[{place}] }} else {{ 0.0 }} }} else {{ 0.0 }})"

    def factor(self, which, plain=False):
        """A tile, and its element at (i, l) or (j, l)."""
        rows, place, row = (self.bm, "tile.m", "i") if which == "a" else (self.bn, "0", "j")
        tensor = f"{which}{self.rng.randint(0, 1)}"
        by = 0 if plain else self.rng.choice([0, 0, 0, 0, 1, -1])
        coordinate = f"t + {by}" if by > 0 else f"t - {-by}" if by < 0 else "t"
        if self.rounds > 0 and not plain and self.rng.random() < 0.12:
            return self.page(tensor, (rows, place, row))
        text, element = f"{tensor}.tile(({rows}, {self.bk}), ({place}, {coordinate}))", self.element(tensor, row, by)
        if self.type not in SHORT:
            return text, element
        kind = self.rng.random()
        if kind < 0.08:
            # Rows in another order, of which some are none.
            at = f"at{len(self.params)}"
            own, extent = ("m", self.m) if which == "a" else ("n", self.n)
            self.params.append(f"{at}: tensor<i32, {own}>")
            self.data.append(f"var {at} = zeros<i32>({extent});")
            self.data.append(f"{at}[i] = (i * 7 + 3) % {extent} - (if i % 5 == 4 {{ {extent} }} else {{ 0 }});")
            self.body.append(f"let rows_{at} = reshape({at}.tile({rows}, {place}, fill = -1), {rows}, 1);")
            columns = f"iota(1, {self.bk}) + i32({coordinate}) * {self.bk}"
            text = f"{tensor}.gather((rows_{at}, {columns}))"
            column = f"l + {by * self.bk}" if by >= 0 else f"l - {-by * self.bk}"
            inside = f"if {column} < {self.k} {{ if {column} >= 0 {{ {tensor}[{at}[{row} + 0], {column}] }} else {{ 0.0 }} }} else {{ 0.0 }}"
            element = f"(if {row} % 5 == 4 {{ 0.0 }} else {{ {inside} }})"
        elif kind < 0.16:
            # A factor for each column, without rounding.
            gain = f"gain{len(self.params)}"
            self.params.append(f"{gain}: tensor<{self.type}, k>")
            self.data.append(f"var {gain} = zeros<{self.type}>({self.k});")
            self.data.append(f"{gain}[l] = if l % 3 == 0 {{ 0.5 }} else {{ -1.0 }};")
            text = f"{text} * reshape({gain}.tile({self.bk}, {coordinate}), 1, {self.bk})"
            element = f"({element} * {self.element(gain, None, by)})"
        if self.rng.random() < (0.25 if which == "a" else 0.1):
            way, of = self.rng.choice(ON_THE_WAY)
            text, element = way.format(t=self.type, x=text), of.format(x=element)
        return text, element

    def page(self, tensor, of):
        """A tile of the round that a table says, and its element."""
        (rows, place, row), bk = of, self.bk
        table = f"page{len(self.params)}"
        self.params.append(f"{table}: tensor<i32, rounds_{table}>")
        self.data.append(f"var {table} = zeros<i32>({self.rounds});")
        self.data.append(f"{table}[i] = (i * 5 + 2) % {self.rounds};")
        column = f"{table}[l / {bk}] * {bk} + l % {bk}"
        element = f"(if {column} < {self.k} {{ {tensor}[{row}, {column}] }} else {{ 0.0 }})"
        return f"{tensor}.tile(({rows}, {bk}), ({place}, {table}[t]))", element

    def multiply(self, sums):
        """A product: text and the term of an element of k."""
        (a, of_a), (b, of_b) = self.factor("a"), self.factor("b")
        if self.carried and self.rng.random() < 0.5:
            (name, of_carried) = self.before
            a, of_a = name, of_carried
        kind = self.rng.random()
        if kind < 0.6:
            return f"{sums} += dot({a}, {b});", f"{of_a} * {of_b}"
        if kind < 0.75:
            return f"{sums} -= dot({a}, {b});", f"-{of_a} * {of_b}"
        if kind < 0.85 or self.rounds == 0:
            return f"{sums} = fma(dot({a}, {b}), 0.5, {sums});", f"0.5 * {of_a} * {of_b}"
        scales = [self.scale() for _ in range(self.rng.choice([1, 1, 2]))]
        text, element = (" * ".join(parts) for parts in zip(*scales))
        return f"{sums} = fma(dot({a}, {b}), {text}, {sums});", f"{element} * {of_a} * {of_b}"

    def scale(self):
        """What the product of a round is multiplied by: a number for each row, for each column, or for all; a tile and its element at (i, j)."""
        rng, name, tile_type = self.rng, f"w{len(self.params)}", self.rng.choice(["f32", "f32", "f16", "bf16"])
        all_of = f"{name}_rounds"
        around = (lambda text: text) if tile_type == "f32" else (lambda text: f"f32({text})")
        kind = rng.choice(["rows", "rows", "columns", "one"])
        if kind == "one":
            self.params.append(f"{name}: tensor<{tile_type}, {all_of}>")
            self.data.append(f"let {name} = random<{tile_type}>({self.rounds});")
            return around(f"reshape({name}.tile(1, t), 1, 1)"), f"{name}[l / {self.bk}]"
        own, extent, tile, place, element = ("m", self.m, self.bm, "tile.m", "i + 0") if kind == "rows" else ("n", self.n, self.bn, "0", "j + 0")
        shape = f"{tile}, 1" if kind == "rows" else f"1, {tile}"
        if rng.random() < 0.5:
            # Of a round side by side with or without a promise that helps, or apart.
            apart, ld = rng.random() < 0.2, extent + rng.choice([0, 8])
            self.params.append(f"{name}: tensor<{tile_type}, ({own}, {all_of}){'' if apart else f' : (1, {name}_ld)'}>")
            if not apart and rng.random() < 0.7:
                self.promises.append(f"{name}_ld % 8 == 0")
            self.data.append(f"let {name} = random<{tile_type}>(({extent}, {self.rounds}){'' if apart else f' : (1, {ld})'});")
            if kind == "rows" and rng.random() < 0.5:
                return around(f"{name}.tile(({tile}, 1), ({place}, t))"), f"{name}[{element}, l / {self.bk}]"
            return around(f"reshape({name}[_, t].tile({tile}, {place}), {shape})"), f"{name}[{element}, l / {self.bk}]"
        self.params.append(f"{name}: tensor<{tile_type}, ({all_of}, {own})>")
        if rng.random() < 0.7:
            self.promises.append(f"{own} % 8 == 0")
        self.data.append(f"let {name} = random<{tile_type}>({self.rounds}, {extent});")
        return around(f"reshape({name}[t, _].tile({tile}, {place}), {shape})"), f"{name}[l / {self.bk}, {element}]"

    def loop(self, number):
        """A loop, and what it adds to the references."""
        rng, bk, padded = self.rng, self.bk, self.rounds * self.bk
        lines, later = [], []
        factor, of_factor = self.factor("a", plain=True)
        if self.carried:
            self.body.append(f"var before{number} = zeros<{self.type}>({self.bm}, {bk});")
            self.before = f"before{number}", f"(if l >= {bk} {{ {of_factor.replace('l + 0', f'l - {bk}')} }} else {{ 0.0 }})"
            later.append(f"before{number} = {factor};")
        terms = {sums: [] for sums in self.sums}
        added = []
        for sums in self.sums:
            for _ in range(rng.choice([1, 1, 1, 2])):
                text, term = self.multiply(sums)
                if rng.random() < 0.15:
                    condition, of_round = rng.choice(CONDITIONS)
                    text = f"if {condition} {{ {text} }}"
                    term = f"(if {of_round.format(t=f'(l / {bk})', rounds=self.rounds)} {{ {term} }} else {{ 0.0 }})"
                lines.append(text)
                terms[sums].append(term)
        if rng.random() < 0.2:
            lines.append(f"rows += reduce(add, f32({factor}), axis = 1);")
            self.rows += f" + (sum(l in 0..{padded}) {{ {of_factor} }})"
        if rng.random() < 0.2:
            copy = f"d{len(self.params)}"
            self.params.append(f"{copy}: mut tensor<{self.type}, (m, k)>")
            self.data.append(f"var {copy} = poison<{self.type}>({self.m}, {self.k});")
            lines.append(f"{copy}.tile(({self.bm}, {bk}), (tile.m, t)) = {factor};")
            self.checks.append(f"assert_close({copy}[i, l], {of_factor}, rtol = 0.01, atol = 0.01);")
        if rng.random() < 0.2 and self.rounds > 0:
            more = f"e{len(self.params)}"
            columns = self.rounds * self.bn
            self.params.append(f"{more}: tensor<{self.type}, (m, {more}_columns)>")
            self.data.append(f"let {more} = random<{self.type}>({self.m}, {columns});")
            self.promises.append(f"{more}_columns % 8 == 0")
            lines.append(f"s0 += f32({more}.tile(({self.bm}, {self.bn}), (tile.m, t)));")
            added.append(f"(sum(r in 0..{self.rounds}) {{ FADED * {more}[i, r * {self.bn} + j] }})")
        rng.shuffle(lines)
        fades = {sums for sums in self.sums if rng.random() < 0.15}
        lines = [f"{sums} *= 0.5;" for sums in sorted(fades)] + lines + later
        rounds = f"i64(ceil_div(k, {bk}))" if self.wide else f"ceil_div(k, {bk})"
        if any("last" in line for line in lines):
            self.body.append(f"let last{number} = {rounds} - 1;")
            lines = [line.replace("last", f"last{number}") for line in lines]
        pinned = ["pipeline(2) "] if self.bm * self.bn * self.bk <= 64 * 64 * 32 else []
        how = rng.choice(["", "pipeline ", "pipeline(1) ", *pinned])
        all_of = f"0..{rounds}" if self.wide else f"tiles(k, {bk})"
        self.body += [f"{how}for t in {all_of} {{", *("    " + line for line in lines), "}"]
        for sums, own in terms.items():
            faded = f"exp2(1.0 * (l / {bk}) - {self.rounds - 1}.0)" if sums in fades and self.rounds else "1.0"
            before = f"{0.5 ** self.rounds} * ({self.sums[sums]})" if sums in fades else self.sums[sums]
            self.sums[sums] = f"{before} + (sum(l in 0..{padded}) {{ {faded} * ({' + '.join(own)}) }})"
            for term in added if sums == "s0" else []:
                self.sums[sums] += " + " + term.replace("FADED", faded.replace(f"(l / {bk})", "r"))

    def text(self):
        for sums in self.sums:
            self.body.append(f"var {sums} = zeros<f32>({self.bm}, {self.bn});")
        self.body.append(f"var rows = zeros<f32>({self.bm}, 1);")
        for number in range(self.rng.choice([1, 1, 1, 2])):
            self.loop(number)
        for number, sums in enumerate(self.sums):
            result = f"c{number}"
            self.params.append(f"{result}: mut tensor<f32, (m, n)>")
            self.data.append(f"var {result} = poison<f32>({self.m}, {self.n});")
            self.body.append(f"{result}.tile(({self.bm}, {self.bn}), (tile.m, 0)) = {sums} + rows;")
            self.checks.append(f"assert_close({result}[i, j], {self.sums[sums]} + {self.rows}, rtol = 0.03, atol = 0.05);")
        names = ", ".join(param.split(":")[0] for param in self.params)
        more = self.rng.choice(["", "", ", persistent()", ", persistent(false)", ", pingpong(false)"])
        return "\n".join([
            f"kernel {self.name}({', '.join(self.params)})", f"where {', '.join(dict.fromkeys(self.promises))}",
            f"launch tiles(m / {self.bm}){more}", "{", *("    " + line for line in self.body), "}", f"test {self.name} {{",
            *("    " + line for line in self.data), f"    {self.name}({names});", *("    " + line for line in self.checks), "}", ""])


def loops(rng, name):
    """Loops with products, and what else they do."""
    return Loops(rng, name).text()
