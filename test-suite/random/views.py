"""Random kernels at tile level that write, update and read views of tensors: ranges, slices, modes taken apart, other layouts, several of these in turn.

A tensor is larger than the view of it. It has known numbers before the launch, and all of it is compared afterwards, so that what is written outside of the view is seen.
Where a view begins follows from a number, an argument, the tile, the index of a loop or an element of a tensor; extents and strides are odd, or multiples with a promise or without.
"""
from products import SHORT

# What numbers a tensor has before the launch, exact in each type and nowhere 0.
KNOWN = "f64(({}) % 13) - 14.0"


class View:
    """A tensor of the kernel, seen as `shape` through a chain of views that is built from the innermost on.

    `forks` parts of the tensor, which lie apart, are seen so: `text(part)` is the view in the kernel, `element(part, …)` the place in the tensor of an element of it.
    """

    def __init__(self, program, name, shape, extents):
        self.program, self.rng, self.name = program, program.rng, name
        # Of what is built so far: its extents, as numbers and as the kernel has them, if it has a name for them.
        self.shape, self.extents = list(shape), list(extents)
        self.text = lambda part, of: of
        self.element = lambda part, at: at
        self.forks, self.of_group = 1, False
        # Whether elements along the last mode have to be neighbours in memory, as those of a layout of its own are.
        self.neighbours = False

    def then(self, text, place):
        """One view more around what is built: by its text of the outer tensor, and the place there of an element of it."""
        inner_text, inner_element = self.text, self.element
        self.text = lambda part, of: inner_text(part, text(part, of))
        self.element = lambda part, at: place(part, inner_element(part, at))

    def subscript(self, mode, what):
        return "[" + ", ".join(what if at == mode else "_" for at in range(len(self.shape))) + "]"

    def begin(self, before, apart, places):
        """A number that is `before`, and `apart` more for each group, if it may be one of so many places: its text in the kernel, in the reference, and how large it may be."""
        program, rng = self.program, self.rng
        whole = program.aligned and before % program.whole == 0
        if program.groups > 1 and places >= program.groups and (not self.of_group or rng.random() < 0.3):
            self.of_group = True
            if rng.random() < 0.5:
                base = rng.choice([str(before), program.argument(before, whole)])
                return f"{program.group} * {apart} + {base}", f"g * {apart} + {before}", before + apart * (program.groups - 1)
            starts, turn = program.fresh("starts"), rng.choice([0, 1])
            places = f"(g + {turn}) % {program.groups} * {apart} + {before}"
            program.params.append(f"{starts}: tensor<i32, {program.groups}>")
            program.data += [f"var {starts} = zeros<i32>({program.groups});", f"{starts}[g] = {places};"]
            return program.number(f"{starts}[{program.group}]", whole and apart % program.whole == 0), f"({places})", before + apart * (program.groups - 1)
        kind = rng.random()
        if kind < 0.3:
            return str(before), str(before), before
        if kind < 0.7:
            return program.argument(before, whole), str(before), before
        starts = program.fresh("starts")
        program.params.append(f"{starts}: tensor<i32, 3>")
        program.data.append(f"let {starts} = full<i32>({before}, 3);")
        return program.number(f"{starts}[1]", whole), str(before), before

    def gap(self, mode):
        """A number of elements that are left out along a mode."""
        rng = self.rng
        if self.program.aligned and mode == self.fast:
            return self.program.whole * rng.choice([0, 0, 1, 1, 2, 4])
        return rng.choice([0, 1, 2, 3, 8, 16, rng.randint(0, 40)])

    @property
    def fast(self):
        return len(self.shape) - 1

    def range(self, mode=None):
        """A range of a mode."""
        mode = self.rng.choice([0, 0, len(self.shape) - 1]) if mode is None else mode
        extent, length = self.shape[mode], self.extents[mode]
        if length is None:
            length = self.program.argument(extent, self.program.aligned and extent % self.program.whole == 0)
        apart = extent + self.gap(mode)
        begin, place, most = self.begin(self.gap(mode), apart, 99)
        slice = self.subscript(mode, f"{begin}..{begin} + {length}")
        self.then(lambda part, of: of + slice, lambda part, at: [f"{index} + {place}" if number == mode else index for number, index in enumerate(at)])
        self.shape[mode], self.extents[mode] = most + extent + self.gap(mode), None

    def slice(self):
        """One of several along a mode more."""
        mode, count = self.rng.randrange(len(self.shape)), self.rng.choice([2, 3, 4])
        if mode == self.fast and (self.neighbours or self.rng.random() < 0.7):
            mode = 0
        first = self.rng.randrange(2)
        begin, place, most = self.begin(first, 1, 99)
        if self.divided and mode <= self.divided[0]:
            self.divided = (self.divided[0] + 1, self.divided[1])
        self.shape.insert(mode, max(count, most + 1))
        self.extents.insert(mode, None)
        slice = self.subscript(mode, begin)
        self.then(lambda part, of: of + slice, lambda part, at: [*at[:mode], place, *at[mode:]])

    def apart(self):
        """Each so manyth of a mode, or a part of it."""
        mode, by = self.rng.choice([0, 0, 0, len(self.shape) - 1]), self.rng.choice([2, 3, 4])
        extent, length = self.shape[mode], self.extents[mode]
        groups = self.program.groups if self.program.groups <= by else 1
        which, place, _ = self.begin(self.rng.randrange(by - groups + 1), 1, by)
        each = self.rng.random() < 0.6 and not (self.neighbours and mode == self.fast)
        shape, taken = (f"(_, {by})", f"_, {which}") if each else (f"({by}, _)", f"{which}, _")
        slice = "[" + ", ".join(taken if at == mode else "_" for at in range(len(self.shape))) + "]"
        into = (lambda index: f"({index}) * {by} + {place}") if each else (lambda index: f"({place}) * {extent} + {index}")
        self.then(lambda part, of: f"unflatten<{mode}>({of}, {shape}){slice}",
                  lambda part, at: [into(index) if number == mode else index for number, index in enumerate(at)])
        self.shape[mode], self.extents[mode] = by * extent, f"{by} * {length}" if length else None
        self.divided = (mode, by)

    def exchanged(self):
        if len(self.shape) == 2 and not self.neighbours:
            self.then(lambda part, of: f"select<1, 0>({of})", lambda part, at: at[::-1])
            self.shape.reverse()
            self.extents.reverse()

    def laid_out(self):
        """Another layout of what begins somewhere in a tensor of one mode."""
        if len(self.shape) != 2 or None in self.extents:
            return
        rows, columns = self.shape
        across = self.rng.random() < 0.25
        least = rows if across else columns
        whole = self.program.whole
        lead = -(-least // whole) * whole + whole * self.rng.randrange(3) if self.program.aligned else least + self.rng.choice([0, 1, 3, 8])
        lead_text = self.rng.choice([str(lead), self.program.argument(lead, self.program.aligned)])
        size = lead * (columns if across else rows)
        begin, place, most = self.begin(self.gap(self.fast), size, 99)
        by = [1, lead] if across else [lead, 1]
        strides = ", ".join(lead_text if stride == lead else "1" for stride in by) if lead > 1 else "1, 1"
        layout = f"({self.extents[0]}, {self.extents[1]}) : ({strides})"
        self.then(lambda part, of: f"view(domain_offset({of}, {begin}), {layout})",
                  lambda part, at: [f"({at[0]}) * {by[0]} + ({at[1]}) * {by[1]} + {place}"])
        self.shape, self.extents, self.neighbours = [most + size + self.gap(self.fast)], [None], True

    def fork(self):
        """Two parts that lie apart: of a mode more, or ranges of one."""
        if self.rng.random() < 0.5:
            mode = self.rng.randrange(2)
            slices = [self.subscript_of(len(self.shape) + 1, mode, str(part)) for part in range(2)]
            self.then(lambda part, of: of + slices[part], lambda part, at: [*at[:mode], str(part), *at[mode:]])
            self.shape.insert(mode, 2)
            self.extents.insert(mode, None)
        else:
            mode = self.rng.randrange(2)
            extent, length = self.shape[mode], self.extents[mode]
            gap = self.gap(mode)
            begins = self.rng.choice([["0", f"{length} + {gap}"], [f"{length} + {gap}", "0"], ["0", str(extent + gap)]])
            places = [extent + gap if begin != "0" else 0 for begin in begins]
            slices = [self.subscript(mode, f"{begin}..{begin} + {length}") for begin in begins]
            self.then(lambda part, of: of + slices[part],
                      lambda part, at: [f"{index} + {places[part]}" if number == mode else index for number, index in enumerate(at)])
            self.shape[mode], self.extents[mode] = 2 * extent + gap + self.gap(mode), None
        self.forks = 2

    def subscript_of(self, rank, mode, what):
        return "[" + ", ".join(what if at == mode else "_" for at in range(rank)) + "]"

    def build(self, forked=False):
        """Some views around each other."""
        steps = [self.range, self.range, self.range, self.slice, self.slice, self.apart, self.exchanged, self.laid_out]
        self.divided = None
        if forked:
            self.fork()
        for _ in range(self.rng.choice([0, 1, 1, 1, 2, 2, 3])):
            if len(self.shape) < 4 and self.divided is None:
                self.rng.choice(steps)()
        if self.program.groups > 1 and not self.of_group:
            self.slice()
        return self

    def finish(self, element, mutable):
        """The parameter and what it holds before the launch."""
        program, rng, rank = self.program, self.rng, len(self.shape)
        names = [f"{self.name}_{mode}" for mode in range(rank)]
        texts = [name if extent == 0 or rng.random() < 0.7 else str(extent) for name, extent in zip(names, self.shape)]
        strides, lead, whole = None, None, program.whole
        if rank == 2 and rng.random() < 0.3:
            across = rng.random() < 0.5 and not self.neighbours
            least = self.shape[0 if across else 1]
            lead = -(-least // whole) * whole + whole * rng.randrange(2) if program.aligned else least + rng.randrange(4)
            strides = f"(1, {self.name}_ld)" if across else f"({self.name}_ld, 1)"
        if program.aligned and rng.random() < 0.9:
            if lead:
                program.promises.append(f"{self.name}_ld % {whole} == 0")
            if texts[-1] == names[-1] and self.shape[-1] % whole == 0:
                program.promises.append(f"{names[-1]} % {whole} == 0")
        if self.divided:
            mode, by = self.divided
            if texts[mode] == names[mode]:
                program.promises.append(f"{names[mode]} % {by} == 0")
        shape = f"({', '.join(texts)}{',' * (rank == 1)})"
        mut = "mut " if mutable else ""
        program.params.append(f"{self.name}: {mut}tensor<{element}, {shape}{f' : {strides}' if strides else ''}>")
        extents = ", ".join(map(str, self.shape))
        given = f"({extents}) : {strides.replace(f'{self.name}_ld', str(lead))}" if strides else extents
        indices = ", ".join("ijlh"[:rank])
        if mutable:
            known = KNOWN.format(" + ".join(f"{by} * {index}" for by, index in zip((7, 3, 5, 1), "ijlh"[:rank])))
            program.data += [f"var {self.name} = zeros<{element}>({given});", f"{self.name}[{indices}] = {known};",
                             f"var w{self.name} = zeros<f64>({extents});", f"w{self.name}[{indices}] = {known};"]
            program.checks.append(f"assert_close({self.name}[{indices}], w{self.name}[{indices}], rtol = 0.03, atol = {{tolerance}});")
        else:
            program.data.append(f"let {self.name} = random<{element}>({given});")
        return self

    def seen(self, part=0):
        """The view, as the kernel has it."""
        return self.text(part, self.name)

    def at(self, i, j, part=0, of=None):
        """An element of it, in the reference."""
        return f"{of or self.name}[{', '.join(self.element(part, [i, j]))}]"


class Program:
    """Kernel and reference as they grow."""

    def __init__(self, rng, name, arch):
        self.rng, self.name, self.arch = rng, name, arch
        self.params, self.data, self.checks, self.promises, self.numbers, self.body, self.after = [], [], [], [], [], [], []
        self.names = 0
        # Whether what lies along the fastest mode is promised to be multiples of so many elements, 16 bytes at least.
        self.aligned, self.whole = rng.random() < 0.75, 8
        # Several of everything: by a further axis of tiles, or by a loop.
        self.groups = rng.choice([1, 1, 1, 2, 3])
        self.looped = self.groups > 1 and rng.random() < 0.35
        self.group = "g" if self.looped else "tile.l"
        # In the reference.
        self.of_group = "g" if self.groups > 1 else "0"
        self.exact = f"exact[{self.of_group}, i, j]"

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def argument(self, value, promised=False):
        """A number that the kernel is passed."""
        name = self.fresh("p")
        self.params.append(f"{name}: i32")
        self.data.append(f"let {name} = {value};")
        if promised and value % self.whole == 0:
            self.promises.append(f"{name} % {self.whole} == 0")
        return name

    def number(self, text, whole):
        """A number that memory holds, under a name of which something may be assumed."""
        name = self.fresh("at")
        self.numbers.append(f"let {name} = {text};")
        if whole:
            self.numbers.append(f"assume({name} % {self.whole} == 0);")
        return name

    def extent(self, most, fast=False):
        rng = self.rng
        if fast and self.aligned:
            return self.whole * rng.randint(1, most // self.whole)
        return rng.choice([1, 2, rng.randint(1, most), 63, 64, 65, rng.randint(1, most)])

    def view(self, prefix, shape, extents, element, mutable=False, forked=False):
        return View(self, self.fresh(prefix), shape, extents).build(forked).finish(element, mutable)

    def number_of_kernel(self, value, promised=False):
        """An extent: a number, or an argument."""
        return self.argument(value, promised) if self.rng.random() < 0.7 else str(value)

    def exactly(self, element):
        """What the elements of all groups are, before they go to a view."""
        self.data.append(f"var exact = zeros<f64>({self.groups}, {self.m}, {self.n});")
        self.after.append(f"{self.exact} = {element};")

    def put(self, view, place, value, element, part=0):
        """Stores a value, or adds it: the line of the kernel, and what the reference does."""
        rng, result = self.rng, self.result
        whole = view.at("i", "j", part, f"w{view.name}")
        # What an update adds may come to some places in parts.
        kind = rng.random()
        if kind < 0.12 and result in self.atomics:
            self.body.append(f"atomic_add({view.seen(part)}.{place}, {result}({value}));")
            self.after.append(f"{whole} += {element};")
        elif kind < 0.25:
            self.body.append(f"{view.seen(part)}.{place} += {result}({value});")
            self.after.append(f"{whole} += {element};")
        elif kind < 0.4 and result in ("f32", *SHORT):
            self.body.append(f"{view.seen(part)}.{place} = {result}(0.5 * f32({view.seen(part)}.{place}) + {value});")
            self.data.append(f"var b{view.name}{part} = zeros<f64>({self.groups}, {self.m}, {self.n});")
            # Of all that is left as it was.
            self.after.append(f"b{view.name}{part}[{self.of_group}, i, j] = 0.5 * {whole} + {element};")
            self.after.append(f"{whole} = b{view.name}{part}[{self.of_group}, i, j];")
        else:
            self.body.append(f"{view.seen(part)}.{place} = {result}({value});")
            self.after.append(f"{whole} = {element};")

    @property
    def atomics(self):
        return ("f32", "i32", "f16", "bf16") if self.arch.startswith("sm_9") else ("f32", "i32", "f16")

    def write(self, launch, tolerance):
        names = ", ".join(param.split(":")[0] for param in self.params)
        body = [*self.numbers, *self.body]
        if self.looped:
            body = [f"for g in 0..{self.argument_of_groups()} {{", *("    " + line for line in body), "}"]
            names = ", ".join(param.split(":")[0] for param in self.params)
        promises = list(dict.fromkeys(self.promises))
        where = [f"where {', '.join(promises)}"] if promises else []
        return "\n".join([
            f"kernel {self.name}({', '.join(self.params)})", *where, launch, "{", *("    " + line for line in body), "}", f"test {self.name} {{",
            *("    " + line for line in self.data), f"    {self.name}({names});", *("    " + line for line in self.after),
            *("    " + line.replace("{tolerance}", str(tolerance)) for line in self.checks), "}", ""])

    def argument_of_groups(self):
        return self.argument(self.groups) if self.rng.random() < 0.5 else str(self.groups)


def product(rng, name, arch):
    """A product of views, and what is done with its sums."""
    program = Program(rng, name, arch)
    hopper = arch.startswith("sm_9")
    types = ["f16", "f16", "bf16", "bf16", "f32", "tf32", "tf32", "tf32x3", "i8"] + ["f8e4m3", "f8e5m2"]
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
