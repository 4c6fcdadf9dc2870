"""What random kernels with rings of stages in shared memory are made of: a tile, what becomes of its elements, how stages are told to be full and empty, and how results leave.

Lines without which a kernel is wrong end with `SYNCHRONIZES`.
"""
SYNCHRONIZES = " // synchronizes"
BITS = {"f32": 32, "i32": 32, "f16": 16, "bf16": 16, "i8": 8}


def sync(text):
    return text + SYNCHRONIZES


def indented(lines):
    return ["    " + line for line in lines]


class Tile:
    """A tile of a ring: its elements, extents, and how the threads that read it share it."""

    def __init__(self, rng, types, by_map, readers, parts, swizzled):
        self.type = rng.choice(types)
        self.bits = BITS[self.type]
        # Of 16 bytes.
        self.vector = 128 // self.bits
        width = rng.choice([32, 64, 128, 128]) * 8 // self.bits
        # The swizzle of rows so wide, as tensor maps have it.
        self.span = {32: 1, 64: 2, 128: 3}[width * self.bits // 8] if swizzled and rng.random() < 0.6 else 0
        self.columns = width if self.span else width * rng.choice([1, 1, 2])
        # What readers share evenly.
        self.rows = 8 * rng.choice([1, 1, 2, 4]) * (3 if readers == 3 else 1)
        while self.rows * self.columns % (32 * readers) or self.rows % (8 * parts):
            self.rows *= 2
        self.unit = rng.choice([1, 1, self.vector])
        if self.rows * self.columns % (32 * readers * self.unit):
            self.unit = 1
        self.by_map = by_map
        self.pad = rng.choice([0, self.vector]) if not by_map and not self.span else 0
        self.units = self.rows * self.columns // (32 * readers * self.unit)

    @property
    def bytes(self):
        return self.rows * self.columns * self.bits // 8

    def layout(self, stages):
        step = self.columns + self.pad
        plain = f"({self.rows}, {self.columns}, {stages}) : ({step}, 1, {self.rows * step})"
        if not self.span:
            return plain
        return f"S<{self.span},{ {8: 4, 16: 3, 32: 2}[self.bits] },3> o 0 o {plain}"


class Moves:
    """What becomes of a tile: each element goes to its place, or to that of another one, or is added to what other rounds gave there."""

    def __init__(self, rng, tile, step):
        # Threads share the tile, unit by unit; a result may be added to what is there.
        self.tile, self.step, self.added = tile, step, False
        across = tile.columns // tile.unit
        self.row = rng.choice(["{}", f"{tile.rows - 1} - {{}}", "({} ^ 1)"])
        self.column = rng.choice(["{}", f"{across - 1} - {{}}"])
        if tile.unit == 1 and tile.rows == tile.columns and rng.random() < 0.5:
            self.row, self.column = "{1}", "{0}"
        else:
            self.column = self.column.replace("{}", "{1}")
            self.row = self.row.replace("{}", "{0}")

    def read(self, at):
        """A thread reads its part of a stage to registers."""
        tile = self.tile
        across = tile.columns // tile.unit
        place = [f"let unit = me + {self.step} * e;", f"let (row, column) = (unit / {across}, unit % {across});",
                 f"let (i, j) = ({self.row.format('row', 'column')}, {self.column.format('row', 'column')});"]
        if tile.unit > 1:
            line = f"autovec_copy(zipped_divide(ring[_, _, {at}], (1, {tile.unit}))[_, (i, j)], held[_, e]);"
        else:
            line = f"held[0, e] = ring[i, j, {at}];"
        return [f"let held = fragment<{tile.type}>(({tile.unit}, {tile.units}));", f"static for e in 0..{tile.units} {{", *indented([*place, line]), "}"]

    def each(self, lines):
        """For each element that a thread holds, in row `row` and column `column` of the tile."""
        tile = self.tile
        across = tile.columns // tile.unit
        return [f"static for e in 0..{tile.units} {{", f"    static for v in 0..{tile.unit} {{",
                *("        " + line for line in [f"let unit = me + {self.step} * e;",
                                                 f"let (row, column) = (unit / {across}, unit % {across} * {tile.unit} + v);", *lines]), "    }", "}"]

    def source(self, i, j):
        """Where an element of the result comes from, in the reference: a row and a column of the tile."""
        tile = self.tile
        rows, unit = f"({i} % {tile.rows})", f"({j} % {tile.columns} / {tile.unit})"
        row, column = self.row.format(rows, unit), self.column.format(rows, unit)
        # Exclusive or with one.
        if "^" in row:
            row = f"({rows} + 1 - 2 * ({rows} % 2))"
        return row, f"(({column}) * {tile.unit} + {j} % {tile.unit})"


class Kernel:
    """A kernel of tiles that are moved, as its text grows."""

    def __init__(self, rng, name, arch):
        self.rng, self.name, self.arch = rng, name, arch
        self.hopper = arch.startswith("sm_9")
        self.blocks = rng.choice([1, 2, 3])
        self.readers = rng.choice([1, 2, 3, 4])
        self.cluster = 1
        # Whether blocks send stages to each other, and whether all rounds are added to the first tile of the result.
        self.sends, self.together = False, False

    def moves(self, types=("f32", "i32", "f16", "bf16", "i8"), by_map=False, parts=1, swizzled=True):
        """A tile of one of these types, whose rows so many parts have by eights."""
        self.tile = Tile(self.rng, types, by_map, self.readers, parts, swizzled)
        self.does = Moves(self.rng, self.tile, 32 * self.readers)
        self.rows, self.columns = self.tile.rows, self.tile.columns

    # What the result leaves by. Each gives what stands before the loop, in a round, and behind the loop.

    def leaves(self, by_warp=False):
        tile, rng = self.tile, self.rng
        if by_warp:
            return self.by_threads()
        ways = [self.by_threads]
        if self.hopper and tile.pad == 0:
            ways += [self.by_map, self.by_map]
            if tile.type != "i8":
                ways.append(self.by_reduction)
        if self.hopper and self.exact and tile.span == 0 and tile.rows <= 64:
            ways.append(self.by_bulk_copy)
        return rng.choice(ways)()

    def by_threads(self):
        return [], self.does.each([
            f"let (i, j) = (first_row + row, r * {self.columns} + column);",
            "if i < size<0>(y) && j < size<1>(y) { y[i, j] = held[v, e]; }"]), []

    def through_buffers(self, copies, made, waits="bulk_wait_read(0);"):
        buffers = self.rng.choice([1, 2, 2, 3])
        layout = self.tile.layout(buffers)
        before = [f"let out = smem<{self.tile.type}>({layout});", *made]
        meet = f"barrier(1, {32 * self.readers});"
        filled = self.does.each([f"out[row, column, r % {buffers}] = held[v, e];"])
        round = [sync(f"if me == 0 {{ bulk_wait_read({buffers - 1}); }}"), sync(meet), *filled, sync("fence_proxy_async();"), sync(meet),
                 "if me == 0 {", *indented([copies.replace("BUFFER", f"out[_, _, r % {buffers}]"), sync("bulk_commit();")]), "}"]
        return before, round, [sync(f"if me == 0 {{ {waits} }}")]

    def by_map(self):
        return self.through_buffers(
            "copy(store, BUFFER, to[_, _, first_row / ROWS, r]);".replace("ROWS", str(self.rows)),
            [f"let store = tma_store(y, ({self.rows}, {self.columns}), out[_, _, 0]);",
             f"let to = local_tile(identity(shape(y)), ({self.rows}, {self.columns}), (_, _));"])

    def by_reduction(self):
        """All rounds, or each, are added to what is there."""
        self.does.added = True
        self.together = self.rng.random() < 0.5
        return self.through_buffers(
            f"copy(store, BUFFER, to[_, _, first_row / {self.rows}, {'0' if self.together else 'r'}]);",
            [f"let store = tma_reduce(y, ({self.rows}, {self.columns}), out[_, _, 0], add);",
             f"let to = local_tile(identity(shape(y)), ({self.rows}, {self.columns}), (_, _));"])

    def by_bulk_copy(self):
        return self.through_buffers(
            f"copy(bulk_copy<{self.tile.type}>, BUFFER, local_tile(y, ({self.rows}, {self.columns}), (first_row / {self.rows}, r)));", [])

    # How stages are told to be full and empty.

    def setup(self, stages, full, empty):
        """The ring and its barriers, of so many arrivals each."""
        tile = self.tile
        fence = ["mbarrier_init_fence();"] if self.hopper else []
        lines = [f"let ring = smem<{tile.type}>({tile.layout(stages)});", f"let full = smem<u64>({stages});", f"let empty = smem<u64>({stages});"]
        init = ["if thread_idx.x == 0 {",
                *indented([sync(f"static for at in 0..{stages} {{ mbarrier_init(full[at], {full}); }}"),
                           sync(f"static for at in 0..{stages} {{ mbarrier_init(empty[at], {empty}); }}"),
                           *(map(sync, fence) if self.cluster > 1 else fence)]), "}"]
        meet = [sync("barrier();")] if self.cluster == 1 else [
            sync("cluster_arrive(relaxed = true);"), sync("cluster_wait();")]
        return lines, [*init, *meet]

    def release(self, fenced, by_library=False):
        """Consumers tell that they have read a stage, by which arrivals; and how many these are."""
        rng = self.rng
        if by_library:
            return ["reading.release_by_warp(lane);"], self.readers
        fence = [sync("fence_proxy_async();")] if fenced else []
        way = rng.choice(["warp", "thread", "meet"]) if self.cluster == 1 else rng.choice(["warp", "meet"])
        if self.sends:
            # At the block that sends.
            arrive = "mbarrier_arrive(empty[at], cta = sender, scope = cta);"
        else:
            arrive = "mbarrier_arrive(empty[at]);"
        if self.cluster > 1 and not self.sends:
            # At all that fill it.
            each = f"if WHO < {self.cluster} {{ mbarrier_arrive(empty[at], cta = WHO, scope = cta); }}"
        else:
            each = f"if WHO == 0 {{ {arrive} }}"
        shared = self.cluster if not self.sends else 1
        if way == "warp":
            return [*fence, sync("warp_barrier();"), sync(each.replace("WHO", "lane"))], self.readers * shared
        if way == "thread":
            return [*fence, sync(arrive)], 32 * self.readers
        return [*fence, sync(f"barrier(2, {32 * self.readers});"), sync(each.replace("WHO", "me"))], shared

    def ends(self):
        """Behind the roles: no block of a cluster leaves before the others are done with its memory."""
        return ["warp_barrier();", sync("cluster_barrier();")] if self.cluster > 1 else []

    def in_order(self, release, leaves):
        """What is read is released, then it leaves, or the other way round; but behind a fence and a barrier of the one the other's are none."""
        parts = [release, leaves]
        if self.rng.random() < 0.3 and not any(line.endswith(SYNCHRONIZES) for line in leaves):
            parts.reverse()
        return parts[0] + parts[1]

    def roles(self, producers, produce, consume):
        """Warps with work of their own."""
        readers = 32 * self.readers
        if self.rng.random() < 0.5:
            arms = [[f"loads(warps = {producers}) => {{", "    let lane = loads.thread % 32;", "    let me = loads.thread;", *indented(produce), "}"],
                    [f"reads(warps = {self.readers}) => {{", "    let lane = reads.thread % 32;", "    let me = reads.thread;", *indented(consume), "}"]]
            if self.rng.random() < 0.5:
                arms.reverse()
            return ["roles {", *indented(arms[0] + arms[1]), "}"]
        if self.rng.random() < 0.5:
            return [f"if thread_idx.x < {readers} {{", "    let me = thread_idx.x;", *indented(consume), "} else {",
                    f"    let me = thread_idx.x - {readers};", *indented(produce), "}"]
        return [f"if thread_idx.x >= {32 * producers} {{", f"    let me = thread_idx.x - {32 * producers};", *indented(consume), "} else {",
                "    let me = thread_idx.x;", *indented(produce), "}"]

    def write(self, threads, before, body, stages, extents, source):
        """Kernel and test."""
        tile, rng = self.tile, self.rng
        rows, columns, given = extents
        t = tile.type
        cluster = f", cluster({self.cluster})" if self.cluster > 1 else ""
        counts = sorted({0, 1, max(0, stages - 1), self.most(stages)})
        small = 3 if t == "bf16" else 7
        known = "(3 * i + 7 * j) % 5 + 1"
        i, j = "i", "j"
        row, column = source(i, j)
        value = f"x[{row}, {column}]"
        if self.together:
            row, column = source("i", f"(r * {self.columns} + j)")
            value = f"(sum(r in 0..count) {{ if ({row}) < {given} && {column} < {columns} {{ x[{row}, {column}] }} else {{ 0.0 }} }})"
            value = f"if j < {self.columns} {{ y0[i, j] + {value} }} else {{ y0[i, j] }}"
        else:
            inside = f"{row} < {given} && {column} < {columns}"
            value = f"if {inside} {{ {value} }} else {{ 0.0 }}"
            if self.does.added:
                value = f"y0[i, j] + ({value})"
            value = f"if j < count * {self.columns} {{ {value} }} else {{ y0[i, j] }}"
        return "\n".join([
            f"kernel {self.name}(x: tensor<{t}, (m, n)>, y: mut tensor<{t}, (rows, n)>, count: i32)",
            f"where n % {tile.vector} == 0",
            f"launch grid({self.blocks * self.cluster}), block({threads}){cluster}", "{", *indented(before + body), "}",
            f"test {self.name} {{", f"    for count in {counts} {{",
            *("        " + line for line in [
                f"var x = zeros<{t}>({given}, {columns});", f"x[i, j] = (5 * i + 3 * j) % {2 * small + 1} - {small};",
                f"var y = zeros<{t}>({rows}, {columns});", f"y[i, j] = {known};", f"var y0 = zeros<{t}>({rows}, {columns});", f"y0[i, j] = {known};",
                f"{self.name}(x, y, count);", f"assert_eq(y[i, j], {value});"]), "    }", "}", ""])

    def most(self, stages):
        """Rounds in which each stage is filled several times, and each buffer of results."""
        return max(2 * stages + 1, 5)

    def extents(self, stages):
        """Rows and columns of the tensors: rounds and blocks, the last ones perhaps not whole."""
        rng, tile = self.rng, self.tile
        columns = tile.columns * self.most(stages)
        rows = tile.rows * self.blocks
        if not self.exact:
            columns -= tile.vector * rng.choice([0, 0, 1, 2]) % tile.columns
            rows -= rng.choice([0, 0, 1, 3])
        return rows, columns

    def source(self, i, j):
        row, column = self.does.source(i, j)
        return f"({i} / {self.rows} * {self.rows} + {row})", f"({j} / {self.columns} * {self.columns} + {column})"
