"""Random kernels at the cute level with rings of stages in shared memory, which asynchronous copies fill and threads, `wgmma` or bulk copies read.

Each is right by construction: a stage is read when it is full and filled when it has been read, by whichever mechanism tells so. What tells is marked
in the text (`SYNCHRONIZES`), for without any one of these lines the kernel is wrong, which the check of the simulator is to find. Tests launch each
kernel with no round, one, fewer than stages and more; all of the result is compared, also what no round writes. Numbers are small integers, exact in each type.
"""
from ring_parts import SYNCHRONIZES, Kernel, indented, sync
from ring_products import multiplied

__all__ = ["SYNCHRONIZES", "rings"]


def groups(rng, name, arch):
    """All threads copy, by groups of `cp.async`, and read what others have copied."""
    kernel = Kernel(rng, name, arch)
    kernel.exact = True
    kernel.moves()
    tile, stages, threads = kernel.tile, rng.choice([1, 2, 3, 4]), 32 * kernel.readers
    bits = rng.choice([128, 128, 64, 32])
    vector, early = bits // tile.bits, stages > 1 and rng.random() < 0.5
    across, cache = tile.columns // vector, "" if bits == 128 else ", cache = always"

    def load(round):
        lines = [f"let (row, column) = (unit / {across}, unit % {across});",
                 f"copy(cp_async<{tile.type}, bits = {bits}{cache}>, zipped_divide(x, (1, {vector}))[_, (first_row + row, ({round}) * {across} + column)], "
                 f"zipped_divide(ring[_, _, ({round}) % {stages}], (1, {vector}))[_, (row, column)]);"]
        return [f"for unit in me..{tile.rows * across} step {threads} {{", *indented(lines), "}"]

    made, leaves, end = kernel.leaves()
    before = [f"let ring = smem<{tile.type}>({tile.layout(stages)});", *made, "let me = thread_idx.x;", f"let first_row = block_idx.x * {tile.rows};"]
    ahead = stages - 1 if early else stages
    body = [f"static for r in 0..{ahead} {{", f"    if r < count {{", *indented(indented(load("r"))), "    }", "    " + sync("cp_async_commit();"), "}"]
    begin = [f"if r + {ahead} < count {{", *indented(load(f"r + {ahead}")), "}", sync("cp_async_commit();")]
    reads = [f"let at = r % {stages};", *kernel.does.read("at")]
    # A stage is filled again behind a barrier: that of the next round, or one of its own.
    round = [sync(f"cp_async_wait({ahead - 1});"), sync("barrier();")]
    if early:
        round += [*begin, *reads, *leaves] if rng.random() < 0.5 else [*reads, *begin, *leaves]
        # In the order in which they are complete.
        round[0] = sync(f"cp_async_wait({ahead - 1});")
    else:
        round += [*reads, sync("barrier();"), *begin, *leaves]
    body += ["for r in 0..count {", *indented(round), "}", *end]
    rows, columns = kernel.extents(stages)
    return kernel.write(threads, before, body, stages, (rows, columns, rows), kernel.source)


class Filled:
    """Warps that fill stages and warps that read them, by barriers that count: what fills are stores, `cp.async`, tensor maps or bulk copies."""

    def __init__(self, rng, name, arch):
        self.rng = rng
        self.kernel = kernel = Kernel(rng, name, arch)
        self.by = rng.choice(["stores", "cp_async", "map", "map", "map", "bulk"] if kernel.hopper else ["stores", "cp_async"])
        # By barriers of its own, or those of `std/pipeline.cute`; readers that share each tile, or take one each.
        self.by_library = kernel.hopper and rng.random() < 0.25
        self.in_turn = not self.by_library and rng.random() < 0.2
        if self.by == "map" and not self.in_turn and rng.random() < 0.4:
            kernel.cluster = rng.choice([2, 2, 4])
        kernel.exact = self.by != "map"
        self.warps = kernel.readers
        if self.in_turn:
            kernel.readers = 1
        kernel.moves(by_map=self.by in ("map", "bulk"), parts=kernel.cluster, swizzled=self.by != "bulk")
        # A phase can be waited for where the one before it is known to be complete: by who has waited for that.
        self.stages = self.warps * rng.choice([1, 2]) if self.in_turn else rng.choice([1, 2, 2, 3, 4])
        self.threads = 32 * (rng.choice([1, 2]) if self.by in ("stores", "cp_async") else 1)
        # How often a stage is told to be full.
        self.told = self.threads if self.by in ("stores", "cp_async") else 1

    def fills(self):
        """What stands in front of the roles, and what fills stage `at` in round `r`."""
        tile, by, full = self.kernel.tile, self.by, "ring_of.full[at]" if self.by_library else "full[at]"
        rows, columns, cluster = tile.rows, tile.columns, self.kernel.cluster
        if by in ("stores", "cp_async"):
            vector = tile.vector if by == "cp_async" else 1
            across = columns // vector
            place = f"let (row, column) = (unit / {across}, unit % {across});"
            if by == "stores":
                move, told = f"ring[row, column, at] = x[source_row + row, r * {columns} + column];", f"mbarrier_arrive({full});"
            else:
                move = (f"copy(cp_async<{tile.type}, bits = 128>, zipped_divide(x, (1, {vector}))[_, (source_row + row, r * {across} + column)], "
                        f"zipped_divide(ring[_, _, at], (1, {vector}))[_, (row, column)]);")
                told = f"cp_async_mbarrier_arrive({full});"
            return [], [f"for unit in me..{rows * across} step {self.threads} {{", *indented([place, move]), "}", sync(told)]
        if by == "bulk":
            return [], [f"copy(bulk_copy<{tile.type}>, local_tile(x, ({rows}, {columns}), (source_row / {rows}, r)), ring[_, _, at], barrier = {full});"]
        part = rows // cluster
        shape, maps = f"({part}, {columns})", f"local_tile(identity(shape(x)), ({part}, {columns}), (_, _))"
        if cluster == 1:
            return ([f"let load = tma_load(x, {shape}, ring[_, _, 0]);", f"let from = {maps};"],
                    [f"copy(load, from[_, _, source_row / {rows}, r], ring[_, _, at], barrier = {full});"])
        return ([f"let parts = local_tile(ring, ({part}, {columns}, {self.stages}), (_, 0, 0));", f"let load = tma_load(x, {shape}, parts[_, _, 0, 0]);",
                 f"let from = {maps};", "let rank = cluster_rank();"],
                [f"copy(load, from[_, _, source_row / {part} + rank, r], parts[_, _, at, rank], barrier = {full}, multicast = {(1 << cluster) - 1});"])

    def text(self):
        kernel, tile, stages = self.kernel, self.kernel.tile, self.stages
        counts_bytes = self.by in ("map", "bulk")
        release, empty = kernel.release(fenced=counts_bytes, by_library=self.by_library)
        if self.by_library:
            lines = [f"let ring = smem<{tile.type}>({tile.layout(stages)});", f"let ring_of = Ring.of<producers = {self.told}>({stages}, {kernel.readers});"]
            init = ["ring_barrier();"]
        else:
            lines, init = kernel.setup(stages, self.told, empty)
        made, leaves, end = kernel.leaves(self.in_turn)
        maps, fill = self.fills()
        lines += [*made, f"let first_row = block_idx.x * {tile.rows};", f"let source_row = block_idx.x / {kernel.cluster} * {tile.rows};",
                  *maps, "let lane = thread_idx.x % 32;"]
        at = f"let at = r % {stages};"
        if self.by_library:
            acquire = f"acquire({tile.bytes})" if counts_bytes else "next_free()"
            begin, take = ["var filling = ring_of.producer();"], [f"let at = filling.{acquire};"]
            before, taken = ["var reading = ring_of.consumer();"], ["let at = reading.wait();"]
        else:
            begin, take = [], [at, sync(f"mbarrier_wait(empty[at], r / {stages} % 2 ^ 1);")]
            before, taken = [], [at, sync(f"mbarrier_wait(full[at], r / {stages} % 2);")]
            if counts_bytes:
                take.append(sync(f"mbarrier_arrive_expect_tx(full[at], {tile.bytes});"))
        produce = [*begin, "for r in 0..count {", *indented([*take, *fill]), "}"]
        if counts_bytes:
            produce = [f"if {self.rng.choice(['elect()', 'lane == 0'])} {{", *indented(produce), "}"]
        every = f"for r in me / 32..count step {self.warps} {{" if self.in_turn else "for r in 0..count {"
        turn = ["let me = lane;"] if self.in_turn else []
        consume = [*before, every, *indented([*turn, *taken, *kernel.does.read("at"), *kernel.in_order(release, leaves)]), "}", *end]
        ends = ["ring_end();"] if self.by_library else kernel.ends()
        kernel.readers = self.warps
        body = [*init, *kernel.roles(self.threads // 32, produce, consume), *ends]
        rows, columns = kernel.extents(stages)
        given, cluster = rows, kernel.cluster
        if cluster > 1:
            rows = kernel.blocks * cluster * tile.rows

        def source(i, j):
            """Blocks of a cluster have the same tiles."""
            row, column = kernel.does.source(i, j)
            return f"({i} / {tile.rows * cluster} * {tile.rows} + {row})", f"({j} / {tile.columns} * {tile.columns} + {column})"

        return kernel.write(self.threads + 32 * self.warps, lines, body, stages, (rows, columns, given), source)


def filled(rng, name, arch):
    return Filled(rng, name, arch).text()


def refilled(rng, name, arch):
    """All threads read what one of them has loaded by tensor maps, and refills behind a barrier."""
    kernel = Kernel(rng, name, arch)
    kernel.exact = False
    kernel.moves(by_map=True)
    tile, stages, threads = kernel.tile, rng.choice([1, 2, 3]), 32 * kernel.readers
    made, leaves, end = kernel.leaves()
    lines = [f"let ring = smem<{tile.type}>({tile.layout(stages)});", f"let full = smem<u64>({stages});", *made,
             f"let load = tma_load(x, ({tile.rows}, {tile.columns}), ring[_, _, 0]);",
             f"let from = local_tile(identity(shape(x)), ({tile.rows}, {tile.columns}), (_, _));",
             "let me = thread_idx.x;", f"let first_row = block_idx.x * {tile.rows};"]
    fill = [sync(f"mbarrier_arrive_expect_tx(full[at], {tile.bytes});"),
            f"copy(load, from[_, _, first_row / {tile.rows}, ROUND], ring[_, _, at], barrier = full[at]);"]
    first = [line.replace("ROUND", "at") for line in fill]
    later = [line.replace("ROUND", f"r + {stages}") for line in fill]
    body = ["if me == 0 {", "    " + sync(f"static for at in 0..{stages} {{ mbarrier_init(full[at], 1); }}"), "    mbarrier_init_fence();", "}", sync("barrier();"),
            f"if me == 0 {{ for at in 0..min({stages}, count) {{", *indented(first), "} }",
            "for r in 0..count {", *indented([
                f"let at = r % {stages};", sync(f"mbarrier_wait(full[at], r / {stages} % 2);"), *kernel.does.read("at"),
                sync("fence_proxy_async();"), sync("barrier();"), f"if me == 0 && r + {stages} < count {{", *indented(later), "}", *leaves]), "}", *end]
    rows, columns = kernel.extents(stages)
    return kernel.write(threads, lines, body, stages, (rows, columns, rows), kernel.source)


def through(rng, name, arch):
    """One thread loads tiles into stages and stores them out of these, or adds them to what is there."""
    kernel = Kernel(rng, name, arch)
    kernel.exact, kernel.readers = False, 1
    added = rng.random() < 0.4
    kernel.moves(types=("f32", "i32", "f16", "bf16") if added else ("f32", "i32", "f16", "bf16", "i8"), by_map=True)
    tile, does = kernel.tile, kernel.does
    does.row, does.column, does.added = "{0}", "{1}", added
    stages = rng.choice([1, 2, 3, 4])
    ahead = rng.randrange(stages)
    store = "tma_reduce(y, SHAPE, ring[_, _, 0], add)" if added else "tma_store(y, SHAPE, ring[_, _, 0])"
    shape = f"({tile.rows}, {tile.columns})"
    lines = [f"let ring = smem<{tile.type}>({tile.layout(stages)});", f"let full = smem<u64>({stages});",
             f"let load = tma_load(x, {shape}, ring[_, _, 0]);", f"let store = {store.replace('SHAPE', shape)};",
             f"let tiles = local_tile(identity(shape(x)), {shape}, (_, _));"]
    body = ["if elect() {", *indented([
        sync(f"static for at in 0..{stages} {{ mbarrier_init(full[at], 1); }}"), "mbarrier_init_fence();",
        f"for turn in 0..count + {ahead} {{", *indented([
            "if turn < count {", *indented([
                f"let at = turn % {stages};", sync(f"bulk_wait_read({stages - ahead - 1});"), sync(f"mbarrier_arrive_expect_tx(full[at], {tile.bytes});"),
                "copy(load, tiles[_, _, block_idx.x, turn], ring[_, _, at], barrier = full[at]);"]), "}",
            f"if turn >= {ahead} {{", *indented([
                f"let r = turn - {ahead};", f"let at = r % {stages};", sync(f"mbarrier_wait(full[at], r / {stages} % 2);"),
                "copy(store, ring[_, _, at], tiles[_, _, block_idx.x, r]);", sync("bulk_commit();")]), "}"]), "}",
        sync("bulk_wait_read(0);")]), "}"]
    rows, columns = kernel.extents(stages)
    return kernel.write(32, lines, body, stages, (rows, columns, rows), kernel.source)


def sent(rng, name, arch):
    """Blocks of a cluster that send each other stages: element by element, by `st.async`, or as a whole, by bulk copies."""
    kernel = Kernel(rng, name, arch)
    kernel.cluster, kernel.sends, kernel.exact = rng.choice([2, 2, 4]), True, True
    kernel.moves(types=("f32", "i32", "f16", "bf16"), by_map=True, swizzled=False)
    tile, stages, whole = kernel.tile, rng.choice([1, 2, 3]), rng.random() < 0.4
    producers = rng.choice([1, 2])
    threads = 32 * producers
    # Who overwrites what threads have read waits for loads on their way: by a fence, or an arrival of the scope of the cluster.
    scoped = not whole and rng.random() < 0.4
    release, empty = kernel.release(not scoped)
    if scoped:
        release = [line.replace(", scope = cta", "") for line in release]
    lines, init = kernel.setup(stages, 1, empty)
    made, leaves, end = kernel.leaves()
    across = tile.columns // tile.vector
    lines += [*made, f"let first_row = block_idx.x * {tile.rows};", "let lane = thread_idx.x % 32;", "let rank = cluster_rank();",
              f"let receiver = (rank + 1) % {kernel.cluster};", f"let sender = (rank + {kernel.cluster - 1}) % {kernel.cluster};"]
    if whole:
        lines.append(f"let mine = smem<{tile.type}>({tile.layout(stages)});")
    scope = ", scope = cluster" if scoped else ""
    place = [f"let (row, column) = (unit / {across}, unit % {across});", f"let held = fragment<{tile.type}>({tile.vector});",
             f"autovec_copy(zipped_divide(x, (1, {tile.vector}))[_, (first_row + row, r * {across} + column)], held);"]
    if whole:
        place.append(f"autovec_copy(held, zipped_divide(mine[_, _, at], (1, {tile.vector}))[_, (row, column)]);")
        send = [sync("fence_proxy_async();"), sync(f"barrier(3, {threads});"),
                f"if me == 0 {{ copy(bulk_copy<{tile.type}>, mine[_, _, at], ring[_, _, at], cta = receiver, barrier = full[at]); }}"]
    else:
        place.append(f"store_async(map_shared_rank(zipped_divide(ring[_, _, at], (1, {tile.vector}))[_, (row, column)], receiver), held, barrier = full[at]);")
        send = []
    produce = ["for r in 0..count {", *indented([
        f"let at = r % {stages};", sync(f"mbarrier_wait(empty[at], r / {stages} % 2 ^ 1{scope});"),
        f"for unit in me..{tile.rows * across} step {threads} {{", *indented(place), "}", *send]), "}"]
    round = [f"let at = r % {stages};", sync(f"if me == 0 {{ mbarrier_arrive_expect_tx(full[at], {tile.bytes}); }}"),
             sync(f"mbarrier_wait(full[at], r / {stages} % 2);"), *kernel.does.read("at"), *kernel.in_order(release, leaves)]
    consume = ["for r in 0..count {", *indented(round), "}", *end]
    body = [*init, *kernel.roles(producers, produce, consume), *kernel.ends()]
    rows, columns = tile.rows * kernel.blocks * kernel.cluster, tile.columns * kernel.most(stages)

    def source(i, j):
        """Of the block before in the cluster."""
        row, column = kernel.does.source(i, j)
        block, size = f"({i} / {tile.rows})", kernel.cluster
        before = f"({block} / {size} * {size} + ({block} + {size - 1}) % {size})"
        return f"({before} * {tile.rows} + {row})", f"({j} / {tile.columns} * {tile.columns} + {column})"

    return kernel.write(threads + 32 * kernel.readers, lines, body, stages, (rows, columns, rows), source)


def rings(rng, name, arch):
    """A kernel of one of these kinds."""
    kinds = [groups, filled, multiplied]
    if arch.startswith("sm_9"):
        kinds = [groups, filled, filled, refilled, through, sent, multiplied, multiplied]
    return rng.choice(kinds)(rng, name, arch)
