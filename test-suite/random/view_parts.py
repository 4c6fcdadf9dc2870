"""What random kernels with views are made of: a tensor that is seen through a chain of views, and the kernel with its reference as they grow."""
from products import SHORT

# What numbers a tensor has before the launch, exact in each type and nowhere 0.
KNOWN = "f64(({}) % 13) - 14.0"


class View:
    """A tensor of the kernel, seen as `shape` through a chain of views that is built from the innermost on.

    Two parts of the tensor, which lie apart, may be seen so: `text(part, …)` is the view in the kernel, `element(part, …)` the place in the tensor of an element of it.
    """

    def __init__(self, program, name, shape, extents):
        self.program, self.rng, self.name = program, program.rng, name
        # Of what is built so far: its extents, as numbers and as the kernel has them, if it has a name for them.
        self.shape, self.extents = list(shape), list(extents)
        self.text = lambda part, of: of
        self.element = lambda part, at: at
        # Whether it follows from the group of results, and the mode that is taken apart, with into how many.
        self.of_group, self.divided = False, None
        # Whether elements along the last mode have to be neighbours in memory, as those of a layout of its own are.
        self.neighbours = False

    def then(self, text, place):
        """One view more around what is built: by its text of the outer tensor, and the place there of an element of it."""
        inner_text, inner_element = self.text, self.element
        self.text = lambda part, of: inner_text(part, text(part, of))
        self.element = lambda part, at: place(part, inner_element(part, at))

    def subscript(self, mode, what, more=0):
        """A slice that takes something of one mode, of so many more than are built, and all of the others."""
        return "[" + ", ".join(what if at == mode else "_" for at in range(len(self.shape) + more)) + "]"

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
        slice = self.subscript(mode, taken)
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
            slices = [self.subscript(mode, str(part), more=1) for part in range(2)]
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

    def build(self, forked=False):
        """Some views around each other."""
        steps = [self.range, self.range, self.range, self.slice, self.slice, self.apart, self.exchanged, self.laid_out]
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
