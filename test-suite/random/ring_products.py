"""Random products at the cute level whose operands go through a ring of stages: see `rings.py`."""
from ring_parts import indented, sync


class Products:
    """Products whose operands go through a ring: what fills it, and what multiplies. Blocks may have several tiles, one after the other."""
    # Bits, along k in an instruction, base of the swizzle, sums.
    TYPES = {"f16": (16, 16, 3, "f32"), "bf16": (16, 16, 3, "f32"), "i8": (8, 32, 4, "i32"), "f8e4m3": (8, 32, 4, "f32")}

    def __init__(self, rng, name, arch):
        self.rng, self.name = rng, name
        self.hopper = arch.startswith("sm_9")
        self.type = rng.choice(["f16", "bf16", "f16", "bf16", "i8", "f8e4m3"])
        if self.type.startswith("f8") and not self.hopper:
            self.type = "i8"
        self.bits, along, _, self.sum = self.TYPES[self.type]
        self.by_warpgroups = arch.startswith("sm_90a") and rng.random() < 0.6
        self.bk = rng.choice([512, 1024]) // self.bits
        self.stages = rng.choice([1, 2, 2, 3, 4])
        if self.by_warpgroups:
            self.groups = rng.choice([1, 2])
            self.bm, self.bn, self.warps = 64 * self.groups, rng.choice([8, 16, 48, 64, 96]), 4 * self.groups
            self.mma = f"tiled_mma(sm90_64xNxK<{self.type}, {self.sum}, n = {self.bn}>, atoms = ({self.groups}, 1, 1))"
        else:
            wm, wn = rng.choice([(1, 1), (2, 1), (1, 2), (2, 2)])
            self.bm, self.bn, self.warps = 16 * wm * rng.choice([1, 2]), 16 * wn * rng.choice([1, 2]), wm * wn
            self.mma = f"tiled_mma(sm80_16x8x{along}<{self.type}, {self.sum}>, atoms = ({wm}, {wn}, 1), permute = ({16 * wm}, {16 * wn}, {along}))"
        self.by = rng.choice(["groups", "stores", "map", "map", "map", "library"] if self.hopper else ["groups", "stores"])
        self.threads = 32 * self.warps
        # A product is under way while the next one is begun.
        self.lags = self.by_warpgroups and self.stages > 1 and self.by not in ("groups", "library") and rng.random() < 0.5
        # Tiles of the result, and blocks that go through them.
        self.tiles = (rng.choice([1, 2]), rng.choice([1, 2, 3]))
        self.stays = self.by != "groups" and rng.random() < 0.5
        if self.stays:
            self.tiles = (2, rng.choice([2, 3]))
        self.blocks = rng.choice([1, 2]) if self.stays else self.tiles[0] * self.tiles[1]
        self.rounds = 2 * self.stages + 1

    def smem(self, letter, rows):
        span, base, bk = {512: 2, 1024: 3}[self.bk * self.bits], self.TYPES[self.type][2], self.bk
        return f"let s{letter} = smem<{self.type}>(S<{span},{base},3> o 0 o ({rows}, {bk}, {self.stages}) : ({bk}, 1, {rows * bk}), align = 1024);"

    def of_tiles(self, before, lines, behind=()):
        """For each tile of the block, in row `row` and column `column`; `number` counts rounds."""
        place = f"let (row, column) = (tile / {self.tiles[1]}, tile % {self.tiles[1]});"
        if not self.stays:
            return [*before, "let tile = block_idx.x;", place, *lines, *behind]
        every = f"for tile in block_idx.x..{self.tiles[0] * self.tiles[1]} step {self.blocks} {{"
        return [*before, "var number: i32 = 0;", every, *indented([place, *lines]), "}", *behind]

    def each_round(self, lines):
        return ["for r in 0..count {", *indented([*lines, *(["number += 1;"] if self.stays else [])]), "}"]

    @property
    def number(self):
        return "number" if self.stays else "r"

    def worker(self):
        lines = ["let worker = mma.slice(me);", f"let sums = worker.partition_fragment_C(({self.bm}, {self.bn}));"]
        if self.by_warpgroups:
            return lines + ["let (from_a, from_b) = (worker.partition_A(sa), worker.partition_B(sb));"]
        return lines + [
            "let (held_a, held_b) = (mma.fragment_A(worker.partition_A(sa[_, _, 0])), mma.fragment_B(worker.partition_B(sb[_, _, 0])));",
            f"let (copy_a, copy_b) = (tiled_copy_A(ldmatrix<{self.type}, 4>, mma), tiled_copy_B(ldmatrix<{self.type}, 4>, mma));",
            "let (read_a, read_b) = (copy_a.slice(me), copy_b.slice(me));",
            "let (from_a, from_b) = (read_a.partition_S(sa), read_b.partition_S(sb));",
            "let (to_a, to_b) = (read_a.retile(held_a), read_b.retile(held_b));"]

    def multiply(self, release):
        """A round of products of stage `at`, and the release of what has been read."""
        if not self.by_warpgroups:
            return ["copy(copy_a, from_a[_, _, _, at], to_a);", "copy(copy_b, from_b[_, _, _, at], to_b);", *release, "gemm(mma, held_a, held_b, sums);"]
        lines = [sync("wgmma_fence();"), "static for kb in 0..size<2>(from_a) { gemm(mma, from_a[_, _, kb, at], from_b[_, _, kb, at], sums); }", sync("wgmma_commit();")]
        if not self.lags:
            return [*lines, sync("wgmma_wait(0);"), *release]
        return [*lines, sync("wgmma_wait(1);"), "if r > 0 {", f"    let at = ({self.number} - 1) % {self.stages};", *indented(release), "}"]

    def released(self):
        if self.by == "library":
            return ["read.release(me % 128);" if self.by_warpgroups else "read.release_by_warp(lane);"], self.groups if self.by_warpgroups else self.warps
        if self.by_warpgroups:
            return [sync("if me % 128 == 0 { mbarrier_arrive(empty[at]); }")], self.groups
        fence = [sync("fence_proxy_async();")] if self.by == "map" else []
        return [*fence, sync("warp_barrier();"), sync("if lane == 0 { mbarrier_arrive(empty[at]); }")], self.warps

    def leaves(self, release):
        """Sums to memory, by threads or through shared memory by a tensor map: what stands before all, in a tile, and behind all."""
        bm, bn = self.bm, self.bn
        behind = [sync("wgmma_wait(0);")] if self.lags else []
        if self.lags and self.stays:
            behind += ["if count > 0 {", f"    let at = (number - 1) % {self.stages};", *indented(release), "}"]
        if self.hopper and self.rng.random() < 0.4:
            made = [f"let out = smem<{self.sum}>(({bm}, {bn}) : ({bn}, 1));", f"let store = tma_store(c, ({bm}, {bn}), out);",
                    f"let tiles = local_tile(identity(shape(c)), ({bm}, {bn}), (_, _));"]
            wait, meet = sync("if me == 0 { bulk_wait_read(0); }"), sync(f"barrier(1, {self.threads});")
            free = [wait, meet] if self.stays else []
            return made, [*behind, *free, "autovec_copy(sums, worker.partition_C(out));", sync("fence_proxy_async();"), meet,
                          "if me == 0 {", "    copy(store, out, tiles[_, _, row, column]);", "    " + sync("bulk_commit();"), "}"], [wait]
        place = f"({bm}, {bn}), (row, column)"
        return [], [*behind, f"let to = worker.partition_C(local_tile(c, {place}));", f"let within = worker.partition_C(local_tile(identity(shape(c)), {place}));",
                    f"copy(universal<{self.sum}, bits = 64>, zipped_divide(sums, 2), zipped_divide(to, 2), pred = in_bounds(zipped_divide(within, 2), shape(c)));"], []

    def copied(self, round, at, threads, by_stores=False):
        """Threads copy the tiles of a round."""
        lines, vector = [], 128 // self.bits
        for letter, rows, block in (("a", self.bm, "row"), ("b", self.bn, "column")):
            across = self.bk // vector
            to = f"zipped_divide(s{letter}[_, _, {at}], (1, {vector}))[_, (unit / {across}, unit % {across})]"
            of = f"zipped_divide({letter}, (1, {vector}))[_, ({block} * {rows} + unit / {across}, ({round}) * {across} + unit % {across})]"
            copy = f"autovec_copy({of}, {to});" if by_stores else f"copy(cp_async<{self.type}, bits = 128>, {of}, {to});"
            lines.append(f"for unit in me..{rows * across} step {threads} {{ {copy} }}")
        return lines

    def by_groups(self):
        """All threads copy, and multiply behind barriers."""
        stages = self.stages
        made, leaves, end = self.leaves([])
        ahead = stages - 1 if stages > 1 and self.rng.random() < 0.5 else stages
        begin = [f"if r + {ahead} < count {{", *indented(self.copied(f"r + {ahead}", f"(r + {ahead}) % {stages}", self.threads)), "}", sync("cp_async_commit();")]
        fence = [sync("fence_proxy_async();")] if self.by_warpgroups else []
        round = [f"let at = r % {stages};", sync(f"cp_async_wait({ahead - 1});"), *fence, sync("barrier();"), *self.multiply([]),
                 *([sync("barrier();")] if ahead == stages else []), *begin]
        first = [f"static for r in 0..{ahead} {{", "    if r < count {", *indented(indented(self.copied("r", "r", self.threads))), "    }",
                 "    " + sync("cp_async_commit();"), "}"]
        return made, self.of_tiles(["let me = thread_idx.x;"], [*first, *self.worker(), "fill(sums, 0);", *self.each_round(round), *leaves], end), self.threads

    def by_roles(self):
        """A warp loads, the others multiply."""
        bm, bn, bk, stages, maps = self.bm, self.bn, self.bk, self.stages, self.by in ("map", "library")
        release, arrivals = self.released()
        lines, leaves, end = self.leaves(release)
        number = self.number
        if self.by == "library":
            lines.append(f"let ring = Ring.of({stages}, {arrivals});")
            init = ["ring_barrier();"]
            take, taken = ["let at = fill.acquire(BYTES);"], ["let at = read.wait();"]
            states, full = (["var fill = ring.producer();"], ["var read = ring.consumer();"]), "ring.full[at]"
        else:
            told = 1 if maps else 32
            fence = ["mbarrier_init_fence();"] if self.hopper else []
            lines += [f"let full = smem<u64>({stages});", f"let empty = smem<u64>({stages});"]
            init = ["if thread_idx.x == 0 {", *indented([
                sync(f"static for at in 0..{stages} {{ mbarrier_init(full[at], {told}); }}"),
                sync(f"static for at in 0..{stages} {{ mbarrier_init(empty[at], {arrivals}); }}"), *fence]), "}", sync("barrier();")]
            take = [f"let at = {number} % {stages};", sync(f"mbarrier_wait(empty[at], {number} / {stages} % 2 ^ 1);")]
            if maps:
                take.append(sync("mbarrier_arrive_expect_tx(full[at], BYTES);"))
            taken = [f"let at = {number} % {stages};", sync(f"mbarrier_wait(full[at], {number} / {stages} % 2);")]
            states, full = ([], []), "full[at]"
        take = [line.replace("BYTES", str((bm + bn) * bk * self.bits // 8)) for line in take]
        if maps:
            lines += [f"let load_a = tma_load(a, ({bm}, {bk}), sa[_, _, 0]);", f"let load_b = tma_load(b, ({bn}, {bk}), sb[_, _, 0]);",
                      f"let tiles_a = local_tile(identity(shape(a)), ({bm}, {bk}), (_, _));",
                      f"let tiles_b = local_tile(identity(shape(b)), ({bn}, {bk}), (_, _));"]
            fill = [f"copy(load_{letter}, tiles_{letter}[_, _, {at}, r], s{letter}[_, _, at], barrier = {full});" for letter, at in (("a", "row"), ("b", "column"))]
            produce = ["if elect() {", *indented(self.of_tiles(states[0], self.each_round([*take, *fill]))), "}"]
        else:
            fence = [sync("fence_proxy_async();")] if self.by_warpgroups else []
            produce = self.of_tiles([], self.each_round([*take, *self.copied("r", "at", 32, by_stores=True), *fence, sync("mbarrier_arrive(full[at]);")]))
        consume = self.of_tiles([*self.worker(), *states[1]], ["fill(sums, 0);", *self.each_round([*taken, *self.multiply(release)]), *leaves], end)
        lines.append("let lane = thread_idx.x % 32;")
        body = [*init, f"if thread_idx.x < {self.threads} {{", "    let me = thread_idx.x;", *indented(consume), "} else {",
                f"    let me = thread_idx.x - {self.threads};", *indented(produce), "}"]
        return lines, body, self.threads + 32

    def text(self):
        rng, bm, bn, bk, stages, t = self.rng, self.bm, self.bn, self.bk, self.stages, self.type
        made, body, threads = self.by_groups() if self.by == "groups" else self.by_roles()
        lines = [self.smem("a", bm), self.smem("b", bn), f"let mma = {self.mma};", *made]
        counts = sorted({0, 1, max(0, stages - 1), self.rounds})
        m, n, k = bm * self.tiles[0], bn * self.tiles[1], bk * self.rounds
        vector = 128 // self.bits
        if self.by in ("map", "library"):
            m, n, k = m - rng.choice([0, 0, 1, 5]), n - rng.choice([0, 0, 4]), k - rng.choice([0, 0, vector])
        return "\n".join([
            f"kernel {self.name}(a: tensor<{t}, (m, k)>, b: tensor<{t}, (n, k)>, c: mut tensor<{self.sum}, (m, n)>, count: i32)",
            f"where k % {vector} == 0, n % 4 == 0", f"launch grid({self.blocks}), block({threads})", "{", *indented(lines + body), "}",
            f"test {self.name} {{", f"    for count in {counts} {{",
            *("        " + line for line in [
                f"var a = zeros<{t}>({m}, {k});", "a[i, j] = (5 * i + 3 * j) % 5 - 2;", f"var b = zeros<{t}>({n}, {k});", "b[i, j] = (2 * i + 5 * j) % 7 - 3;",
                f"var c = poison<{self.sum}>({m}, {n});", f"{self.name}(a, b, c, count);",
                f"assert_eq(c[i, j], sum(l in 0..min(count * {bk}, {k})) {{ a[i, l] * b[j, l] }});"]), "    }", "}", ""])


def multiplied(rng, name, arch):
    """A product."""
    return Products(rng, name, arch).text()
