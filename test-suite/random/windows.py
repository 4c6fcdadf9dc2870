"""Random convolutions at tile level, of one to three modes of pixels with filters, steps, dilations and borders of their own, as products of windows:
forward, also of each image by itself with channels first in the result, by the gradient of the filters, and the matrix of windows itself.
"""
from products import SHORT


class Images:
    """Images (n, …, c), their windows, and an element of the matrix that these are."""

    def __init__(self, rng):
        self.rng = rng
        self.type = rng.choice(["f16", "bf16", "bf16", "tf32"])
        self.rank = rng.choice([1, 2, 2, 2, 3])
        several = lambda values: [rng.choice(values) for _ in range(self.rank)]
        self.filter, self.step, self.dilation = several([1, 2, 3, 3]), several([1, 1, 1, 2, 3]), several([1, 1, 1, 2])
        self.pad, self.after = several([0, 1, 1, 2]), several([0, 1, 1, 2])
        if rng.random() < 0.5:
            self.after = self.pad
        reach = [(size - 1) * apart + 1 for size, apart in zip(self.filter, self.dilation)]
        self.extents = [max(least - before - behind, 1) + rng.randint(0, 9)
                        for least, before, behind in zip(reach, self.pad, self.after)]
        self.results = [(extent + before + behind - least) // step + 1 for extent, before, behind, least, step in
                        zip(self.extents, self.pad, self.after, reach, self.step)]
        self.images = rng.randint(1, 3)
        self.bk = rng.choice([32, 64]) if self.type in SHORT else 32
        together = rng.random() < 0.25
        self.channels = rng.choice([8, 16, 32]) if together else rng.choice([8, 24, 64, 72, 96, rng.randint(1, 40)])
        # A tile has several elements of the filter.
        self.elements = self.bk // self.channels if together and self.channels < self.bk else 1
        self.count, self.pixels = 1, self.images
        for size, result in zip(self.filter, self.results):
            self.count, self.pixels = self.count * size, self.pixels * result
        # Columns of the matrix, and of what a loop goes through.
        self.parts = -(-self.channels // self.bk)
        self.rounds = -(-self.count // self.elements) if self.elements > 1 else self.count * self.parts

    def parameter(self):
        modes = "".join(f"e{mode}, " for mode in range(self.rank))
        return f"x: tensor<{self.type}, (n, {modes}c)>"

    def promises(self):
        promises = ["c % 8 == 0"] if self.channels % 8 == 0 else []
        return promises + ([f"c == {self.channels}"] if self.elements > 1 else [])

    def data(self):
        extents = ", ".join(map(str, [self.images, *self.extents, self.channels]))
        return [f"let x = random<{self.type}>({extents});"]

    def tile(self, rows, place, number, of="x"):
        """The windows of a round, of all images or of one."""
        words = {"filter": self.filter, "pad": self.pad, "step": self.step, "dilation": self.dilation}
        if self.after != self.pad:
            words["after"] = self.after
        # Of one image they are tuples, by which its modes are known.
        listed = lambda values: f"({', '.join(map(str, values))}{',' * (len(values) == 1)})" if of != "x" or len(values) > 1 else values[0]
        tuples = [f"{word} = {listed(values)}" for word, values in words.items()]
        if self.elements > 1:
            at = f"{place}, {number}, 0"
            tuples.append(f"elements = {self.elements}")
        else:
            at = f"{place}, {number} / {self.parts}, {number} % {self.parts}"
        return f"{of}.windows(({rows}, {self.bk}), ({at}), {', '.join(tuples)})"

    def element(self, pixel, element, channel):
        """Of a pixel, an element of the filter and a channel, as the reference has it."""
        indices, conditions = [], []
        left, of_filter = f"({pixel})", f"({element})"
        pixels, counts = [], []
        for mode in reversed(range(self.rank)):
            pixels.insert(0, f"({left} % {self.results[mode]})")
            counts.insert(0, f"({of_filter} % {self.filter[mode]})")
            left, of_filter = f"({left} / {self.results[mode]})", f"({of_filter} / {self.filter[mode]})"
        for mode in range(self.rank):
            index = f"{pixels[mode]} * {self.step[mode]} + {counts[mode]} * {self.dilation[mode]} - {self.pad[mode]}"
            indices.append(index)
            conditions += [f"{index} >= 0", f"{index} < {self.extents[mode]}"]
        value = f"x[{left}, {', '.join(indices)}, {channel}]"
        for condition in conditions:
            value = f"if {condition} {{ {value} }} else {{ 0.0 }}"
        return f"({value})"


def forward(rng, name):
    """y = x ∗ f."""
    images = Images(rng)
    bp, bo, outputs = rng.choice([64, 128]), rng.choice([32, 64, 128]), 8 * rng.randint(1, 20)
    columns = images.elements * images.rounds * images.channels if images.elements > 1 else images.count * images.channels
    if images.elements > 1:
        filters, f = f"f: tensor<{images.type}, (o, l)>", f"f.tile(({bo}, {images.bk}), (tile.n, k))"
        data, index = f"let f = random<{images.type}>({outputs}, {columns});", f"f[j, e * {images.channels} + l]"
    else:
        filters = f"f: tensor<{images.type}, (o, elements, c)>"
        f = f"reshape(f.tile(({bo}, 1, {images.bk}), (tile.n, k / {images.parts}, k % {images.parts})), {bo}, {images.bk})"
        data, index = f"let f = random<{images.type}>({outputs}, {images.count}, {images.channels});", "f[j, e, l]"
    promises = images.promises() + ["o % 8 == 0"]
    more = rng.choice(["", ", raster(4)", ", pingpong(false)", ", persistent(false)"])
    return f"""
kernel {name}({images.parameter()}, {filters}, y: mut tensor<f32, (p, o)>)
where {", ".join(promises)}
launch tiles(p / {bp}, o / {bo}){more}
{{
    var sums = zeros<f32>({bp}, {bo});
    {rng.choice(["", "pipeline ", "pipeline(2) "])}for k in 0..{images.rounds} {{
        sums += dot({images.tile(bp, "tile.m", "k")}, {f});
    }}
    y.tile(({bp}, {bo}), (tile.m, tile.n)) = sums;
}}
test {name} {{
    {" ".join(images.data())}
    {data}
    var y = poison<f32>({images.pixels}, {outputs});
    {name}(x, f, y);
    assert_close(y[i, j], sum(e in 0..{images.count}, l in 0..{images.channels}) {{ {images.element("i", "e", "l")} * {index} }}, rtol = 0.03, atol = 0.05);
}}
"""


def first(rng, name):
    """The same of each image by itself, with channels first in the result."""
    images = Images(rng)
    bp, bo, outputs = rng.choice([64, 128]), rng.choice([32, 64, 128]), rng.randint(1, 160)
    result = rng.choice([images.type if images.type in SHORT else "f32", "f32", "f16"])
    f = f"reshape(f.tile(({bo}, 1, {images.bk}), (tile.n, k / {images.parts}, k % {images.parts})), {bo}, {images.bk})"
    filters, index = f"f: tensor<{images.type}, (o, elements, c)>", "f[j, e, l]"
    data = f"let f = random<{images.type}>({outputs}, {images.count}, {images.channels});"
    if images.elements > 1:
        columns = images.elements * images.rounds * images.channels
        filters, f = f"f: tensor<{images.type}, (o, l)>", f"f.tile(({bo}, {images.bk}), (tile.n, k))"
        data, index = f"let f = random<{images.type}>({outputs}, {columns});", f"f[j, e * {images.channels} + l]"
    each = images.pixels // images.images
    promises = images.promises() + (["p % 8 == 0"] if each % 8 == 0 and rng.random() < 0.7 else [])
    value = rng.choice([f"{result}(transpose(sums))", f"transpose({result}(sums))", f"{result}(0.5 * transpose(sums) + 0.5 * transpose(sums))"])
    slice = f"x[tile.l{', _' * (images.rank + 1)}]"
    more = rng.choice(["", ", raster(4)", ", pingpong(false)", ", persistent(false)"])
    where = f"where {', '.join(promises)}" if promises else ""
    return f"""
kernel {name}({images.parameter()}, {filters}, y: mut tensor<{result}, (n, o, p)>)
{where}
launch tiles(p / {bp}, o / {bo}, n){more}
{{
    var sums = zeros<f32>({bp}, {bo});
    {rng.choice(["", "pipeline ", "pipeline(2) "])}for k in 0..{images.rounds} {{
        sums += dot({images.tile(bp, "tile.m", "k", slice)}, {f});
    }}
    y[tile.l, _, _].tile(({bo}, {bp}), (tile.n, tile.m)) = {value};
}}
test {name} {{
    {" ".join(images.data())}
    {data}
    var y = poison<{result}>({images.images}, {outputs}, {each});
    {name}(x, f, y);
    assert_close(y[b, j, i], sum(e in 0..{images.count}, l in 0..{images.channels}) {{ {images.element(f"b * {each} + i", "e", "l")} * {index} }}, rtol = 0.03, atol = 0.05);
}}
"""


def by_filters(rng, name):
    """The gradient of the filters: gᵀ · windows, a block for each tile of columns."""
    images = Images(rng)
    bo, outputs = rng.choice([64, 128]), 8 * rng.randint(1, 16)
    bp = rng.choice([32, 64]) if images.type in SHORT else 32
    columns = images.rounds * images.bk
    return f"""
kernel {name}({images.parameter()}, g: tensor<{images.type}, (p, o)>, y: mut tensor<f32, (o, columns)>)
where {", ".join(images.promises() + ["o % 8 == 0", "columns % 8 == 0"])}
launch tiles(o / {bo}, columns / {images.bk})
{{
    var sums = zeros<f32>({bo}, {images.bk});
    for k in tiles({images.pixels}, {bp}) {{
        sums += dot(transpose(g.tile(({bp}, {bo}), (k, tile.m))), transpose({images.tile(bp, "k", "tile.n")}));
    }}
    y.tile(({bo}, {images.bk}), (tile.m, tile.n)) = sums;
}}
test {name} {{
    {" ".join(images.data())}
    let g = random<{images.type}>({images.pixels}, {outputs});
    var y = poison<f32>({outputs}, {columns});
    {name}(x, g, y);
    {reference(images, f"sum(p in 0..{images.pixels}) {{ g[p, i] * ELEMENT }}", "p", "y[i, j]", "atol = 0.05")}
}}
"""


def matrix(rng, name):
    """The windows themselves."""
    images = Images(rng)
    bp, columns = rng.choice([16, 64]), images.rounds * images.bk
    return f"""
kernel {name}({images.parameter()}, y: mut tensor<{images.type}, (p, columns)>)
where {", ".join(images.promises() + ["columns % 8 == 0"])}
launch tiles(p / {bp}, columns / {images.bk})
{{
    y.tile(({bp}, {images.bk}), (tile.m, tile.n)) = {images.tile(bp, "tile.m", "tile.n")};
}}
test {name} {{
    {" ".join(images.data())}
    var y = poison<{images.type}>({images.pixels}, {columns});
    {name}(x, y);
    {reference(images, "ELEMENT", "i", "y[i, j]", "atol = 0.0")}
}}
"""


def reference(images, term, pixel, result, tolerance):
    """The comparison of each column j, in which ELEMENT is that of the windows."""
    if images.elements > 1:
        of_element, channel = f"(j / {images.channels})", f"j % {images.channels}"
        inside = f"{of_element} < {images.count}"
    else:
        of_element = f"(j / {images.parts * images.bk})"
        channel = f"(j % {images.parts * images.bk})"
        inside = f"{channel} < {images.channels}"
    element = images.element(pixel, of_element, channel)
    term = term.replace("ELEMENT", element)
    return f"assert_close({result}, if {inside} {{ {term} }} else {{ 0.0 }}, rtol = 0.03, {tolerance});"


def windows(rng, name):
    """A convolution, or its matrix."""
    return rng.choice([forward, forward, first, first, by_filters, matrix])(rng, name)
