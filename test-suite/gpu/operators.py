#!/usr/bin/env python3
"""A hundred common operators at the tile level against PyTorch, eager and compiled, on a GPU: elements of f32, or of another type.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/operators.py [--source examples] [--type bf16] [--only TEXT] [--no-compiled] [--quick] [--json FILE]

The kernels are those of `operators.cute` and of `examples`, each in one configuration: nothing is searched for. Of f32, convolutions without steps of
two dimensions go by Winograd's way, of 16 bits those of eight channels or more by way of images with their channels last; all prepare their filters in each run; a tile has as many outputs and channels as there are, if these are few. Results
are compared with f64, of large ones some places; operands are normal and larger than twice the L2 cache, or rotate. Eager PyTorch, `torch.compile` and ours
take turns (rounds.py); a ratio above 1 says that ours is faster than the faster of them. PyTorch multiplies f32 exactly (TF32 is off). The
exit status is 1 where a result is wrong, or there is none.
"""

import argparse
import functools
import math
import pathlib
import statistics
import sys

import torch
import torch.nn.functional as F

import cutec
from rounds import compare, geometric_mean, ratio, save, sets
from rounds import normal as normal_of

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


class Elements:
    """The type of the operands and results; sums are of f32."""

    name = "f32"

    @property
    def dtype(self):
        return TYPES[self.name]

    @property
    def narrow(self):
        return self.name != "f32"


ELEMENTS = Elements()


def normal(*shape):
    return normal_of(*shape, dtype=ELEMENTS.dtype)


def empty(*shape, dtype=None):
    return torch.empty(shape, dtype=dtype or ELEMENTS.dtype, device="cuda")


def number(*shape):
    """What sums are added up in."""
    return empty(*shape, dtype=torch.float32)


def positive(*shape):
    return torch.rand(shape, device="cuda").to(ELEMENTS.dtype)


class Typed:
    """The kernels of a file, of elements of the type."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        return getattr(self.module, name).specialize(t=ELEMENTS.name)


def rounding():
    """What a result is off by for its type alone."""
    return torch.finfo(ELEMENTS.dtype).eps / 2 if ELEMENTS.narrow else 0.0


class Case:
    """An operator: `operands()` makes PyTorch's, `formula` computes it of them, and `ours(*operands)` gives a function without arguments that launches
    our kernels, and their result. Errors are relative to the larger of the result and `least`: what a sum has as its standard deviation. `exact`, where all
    in f64 is too much, gives a part of the result (its first argument) and the same part in f64."""

    def __init__(self, name, operands, formula, ours, least=1.0, bound=2e-5, exact=None):
        self.name, self.operands, self.formula, self.ours = name, operands, formula, ours
        self.least, self.exact = least, exact
        self.bound = bound and bound + 4 * rounding()


def into(kernel, *extra, shape=None, dtype=None, view=None, **parameters):
    """How a kernel is launched with the operands, its result, and numbers behind them; `view` gives tensors of other shapes."""
    special = kernel.specialize(**parameters) if parameters else kernel

    def ours(*operands):
        y = empty(*(shape or operands[0].shape), dtype=dtype)
        seen = view(*operands, y) if view else (*operands, y)
        return functools.partial(special, *seen, *extra), y

    return ours


def tuple_of(value, rank):
    return value if isinstance(value, tuple) else (value,) * rank


def products(own, gemm):
    def product(name, a, b, formula, ours, k):
        return Case(name, lambda: (normal(*a), normal(*b)), formula, ours, k**0.5)

    def mm(a, b):
        c = empty(a.shape[0], b.shape[1])
        # All of a k that is short is a stage: what lies behind it would be written to shared memory as zeros.
        short = ELEMENTS.narrow and a.shape[1] <= 64
        kernel = own.matmul.specialize(bm=64, bk=a.shape[1]) if short else own.matmul
        return functools.partial(kernel, a, b.T, c), c

    yield product("product, square 4096", (4096, 4096), (4096, 4096), torch.matmul, mm, 4096)
    yield product("product, 2048×4096 · 8192", (2048, 8192), (8192, 4096), torch.matmul, mm, 8192)

    def bmm(a, b):
        c = empty(a.shape[0], a.shape[1], b.shape[2])
        return functools.partial(own.matmul_batched, a, b.transpose(1, 2), c), c

    yield product("product, batched 128", (128, 512, 1024), (128, 1024, 2048), torch.bmm, bmm, 1024)
    yield product("matrix · vector", (2048, 1048576), (1048576, 1), torch.matmul,
                       into(own.matvec, view=lambda a, b, y: (a, b.view(-1), y), shape=(2048,), dtype=torch.float32), 1048576)
    yield Case("matrix · number", lambda: (normal(65536, 16384),), lambda a: a * 3.14,
               into(own.each, f="times", view=lambda a, y: (a.view(-1), y.view(-1))))

    def parts(a, b):
        c = number(a.shape[0], b.shape[1])

        def launch():
            c.zero_()
            own.matmul_parts(a, b.T, c)

        return launch, c

    yield product("product, large k", (256, 524288), (524288, 256), torch.matmul, parts, 524288)
    yield product("product, small k", (32768, 64), (64, 32768), torch.matmul, mm, 64)

    def padded(*shape):
        return empty(shape[0], -(-shape[1] // 32) * 32)[:, :shape[1]]

    def irregular(a, b):
        c = empty(a.shape[0], b.shape[1])
        if ELEMENTS.narrow:
            # As torch.compile does: there are no tensor maps of rows that begin anywhere.
            rows, columns = padded(*a.shape), padded(*b.shape)

            def launch():
                own.pad_rows(a, rows)
                own.pad_rows(b, columns)
                own.matmul_padded(rows, columns.T, c)

            return launch, c
        return functools.partial(own.matmul.specialize(align=1), a, b.T, c), c

    yield product("product, irregular", (8205, 2949), (2949, 5921), torch.matmul, irregular, 2949)
    yield product("product, tall · wide", (32768, 32), (32, 32768), torch.matmul, mm, 32)

    def merged(a, b):
        c = empty(*a.shape[:-1], b.shape[1])
        return functools.partial(own.matmul, a.view(-1, a.shape[-1]), b.T, c.view(-1, b.shape[1])), c

    yield product("product, 3 modes", (16, 1024, 2048), (2048, 768), torch.matmul, merged, 2048)
    yield product("product, 4 modes", (8, 256, 512, 256), (256, 768), torch.matmul, merged, 256)
    yield Case("diagonal · matrix", lambda: (normal(4096), normal(4096, 4096)), lambda a, b: torch.diag(a) @ b,
               lambda a, b: (lambda c: (functools.partial(own.diagonal, a, b, c), c))(empty(4096, 4096)))
    symmetric = lambda: (lambda x: (x + x.T) / 2)(normal(4096, 4096))
    yield Case("product, symmetric", lambda: (symmetric(), symmetric()), torch.matmul, mm, 64.0)
    for name, cut in (("upper", torch.triu), ("lower", torch.tril)):
        def triangle(a, b, name=name):
            c = empty(4096, 4096)
            return functools.partial(own.triangular.specialize(upper=name == "upper"), a, b.T, c), c

        yield Case(f"product, {name} triangles", lambda cut=cut: (cut(normal(4096, 4096)), cut(normal(4096, 4096))),
                   lambda a, b, cut=cut: cut(a @ b), triangle, 64.0)

    def transposed(kernel, *which):
        def ours(a, b):
            c = empty(2048, 4096)
            a, b = (a.T if "a" in which else a), (b if "b" in which else b.T)
            return functools.partial(getattr(gemm, kernel).specialize(**({"to": ELEMENTS.name} if kernel == "tile_gemm" else {}), align=8 if ELEMENTS.narrow else 4), a, b, c), c
        return ours

    yield product("product, a by columns", (8192, 2048), (8192, 4096), lambda a, b: a.T @ b, transposed("tile_gemm_mn", "a"), 8192)
    yield product("product, b by columns", (2048, 8192), (4096, 8192), lambda a, b: a @ b.T, transposed("tile_gemm", "b"), 8192)
    yield product("product, both by columns", (8192, 2048), (4096, 8192), lambda a, b: a.T @ b.T, transposed("tile_gemm_mk", "a", "b"), 8192)


def element_by_element(own):
    new_gelu = lambda x: 0.5 * x * (1.0 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))
    flat = lambda x, y: (x.view(-1), y.view(-1))
    for name, f, shape in (
        ("relu", F.relu, None), ("leaky", F.leaky_relu, None), ("sigmoid", torch.sigmoid, None), ("precise_tanh", torch.tanh, None),
        ("silu", F.silu, None), ("gelu", F.gelu, None), ("selu", F.selu, None), ("hard_sigmoid", F.hardsigmoid, None),
        ("softplus", F.softplus, None), ("softsign", F.softsign, None), ("elu_1", F.elu, None), ("hard_tanh", F.hardtanh, None),
        ("new_gelu", new_gelu, (8192, 8192)),
    ):
        shown = {"leaky": "leaky relu", "precise_tanh": "tanh", "elu_1": "elu", "new_gelu": "gelu by tanh"}.get(name, name.replace("_", " "))
        yield Case(shown, lambda shape=shape: (normal(*(shape or (4096, 393216))),), f, into(own.each, f=name, view=flat))


def rows_and_norms(own):
    for name, f, of_log in (("softmax", F.softmax, False), ("log softmax", F.log_softmax, True)):
        yield Case(name, lambda: (normal(4096, 393216),), lambda x, f=f: f(x, 1), into(own.softmax, of_log=of_log), 1.0 if of_log else 1e-6)

    def by_moments(groups_of, count, group, channels):
        def ours(x, w, b):
            y, rows = empty(*x.shape), x.view(x.shape[0] * x.shape[1], -1)
            sums = number(groups_of(x), 2)

            def launch():
                sums.zero_()
                own.moments(rows, sums, group)
                own.normalize(rows, sums, w, b, y.view(rows.shape), group, float(count(x)), 1e-5)

            return launch, y
        return ours

    yield Case("batch norm", lambda: (normal(64, 64, 512, 512), normal(64), normal(64)),
               lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
               by_moments(lambda x: 64, lambda x: x.numel() // 64, 1, 64),
               exact=lambda got, x, w, b: (got[:, :2], F.batch_norm(x[:, :2].double(), None, None, w[:2].double(), b[:2].double(), training=True)))
    yield Case("instance norm", lambda: (normal(112, 64, 512, 512),), F.instance_norm,
               into(own.instance_norm, 1e-5, view=lambda x, y: (x.view(-1, 262144), y.view(-1, 262144))),
               exact=lambda got, x: (got[:4], F.instance_norm(x[:4].double())))
    yield Case("group norm", lambda: (normal(112, 64, 512, 512), normal(64), normal(64)), lambda x, w, b: F.group_norm(x, 8, w, b),
               by_moments(lambda x: 112 * 8, lambda x: x.numel() // (112 * 8), 8, 64),
               exact=lambda got, x, w, b: (got[:4], F.group_norm(x[:4].double(), 8, w.double(), b.double())))
    yield Case("RMS norm of channels", lambda: (normal(112, 64, 512, 512),), lambda x: x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5),
               into(own.rms_norm_of_channels, 1e-5, view=lambda x, y: (x.flatten(2), y.flatten(2))),
               exact=lambda got, x: (got[:4], (lambda x: x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5))(x[:4].double())))

    def frobenius(x):
        y, total = empty(*x.shape), number()

        def launch():
            total.zero_()
            own.squares(x.view(-1), total)
            own.over_root(x.view(-1), total, y.view(-1))

        return launch, y

    yield Case("Frobenius norm", lambda: (normal(112, 64, 512, 512),), lambda x: x / torch.norm(x, p="fro"), frobenius, 1e-4,
               exact=lambda got, x: (got[:2], x[:2].double() / (torch.stack([p.double().square().sum() for p in x]).sum()).sqrt()))
    for name, f, squared in (("L1 norm", lambda x: x / torch.mean(torch.abs(x), dim=1, keepdim=True), False),
                             ("L2 norm", lambda x: x / torch.norm(x, p=2, dim=1, keepdim=True), True)):
        yield Case(name, lambda: (normal(32768, 65535),), f, into(own.row_norm, squared=squared), 1e-2,
                   exact=lambda got, x, f=f: (got[::64], f(x[::64].double())))

    def layer_norm(x, w, b):
        y, rows = empty(*x.shape), x.view(16, -1)
        sums = number(16, 2)

        def launch():
            sums.zero_()
            own.moments(rows, sums, 1)
            own.normalize_all(rows, sums, w.view(-1), b.view(-1), y.view(16, -1), 1e-5)

        return launch, y

    yield Case("layer norm", lambda: (normal(16, 64, 256, 256), normal(64, 256, 256), normal(64, 256, 256)),
               lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b), layer_norm)


def pools(own):
    yield Case("max pool, 1 dimension", lambda: (normal(64, 192, 65536),), lambda x: F.max_pool1d(x, 8, 1, 4, 3),
               into(own.pool1d, shape=(64, 192, 65523), dilation=3, view=lambda x, y: (x.flatten(0, 1), y.flatten(0, 1))))
    yield Case("max pool, 2 dimensions", lambda: (normal(32, 64, 512, 512),), lambda x: F.max_pool2d(x, 4, 1, 1),
               into(own.max_pool2d, shape=(32, 64, 511, 511), view=lambda x, y: (x.flatten(0, 1), y.flatten(0, 1))))
    yield Case("max pool, 3 dimensions", lambda: (normal(16, 32, 128, 128, 128),), lambda x: F.max_pool3d(x, 3, 2, 1, 3),
               into(own.pool3d, shape=(16, 32, 62, 62, 62), dilation=3, view=lambda x, y: (x.flatten(0, 1), y.flatten(0, 1))))
    yield Case("average pool, 1 dimension", lambda: (normal(64, 128, 65536),), lambda x: F.avg_pool1d(x, 8, 1, 4),
               into(own.pool1d, shape=(64, 128, 65537), op="add", first=0.0, scale=0.125, view=lambda x, y: (x.flatten(0, 1), y.flatten(0, 1))))
    yield Case("average pool, 2 dimensions", lambda: (normal(16, 64, 2048, 2048),), lambda x: F.avg_pool2d(x, 11),
               into(own.avg_pool2d, shape=(16, 64, 186, 186), view=lambda x, y: (x.flatten(0, 1), y.flatten(0, 1))))
    yield Case("average pool, 3 dimensions", lambda: (normal(16, 32, 128, 128, 256),), lambda x: F.avg_pool3d(x, 3, 2, 1),
               into(own.pool3d, shape=(16, 32, 64, 64, 128), op="add", first=0.0, scale=1 / 27, view=lambda x, y: (x.flatten(0, 1), y.flatten(0, 1))))


def over_the_middle(own):
    middle = lambda: (normal(128, 4096, 4095),)
    for name, f, parameters in (
        ("sum", lambda x: x.sum(1), {}), ("mean", lambda x: x.mean(1), {"scale": 1 / 4096}),
        ("max", lambda x: x.amax(1), {"op": "max", "first": -1e30}), ("min", lambda x: x.amin(1), {"op": "min", "first": 1e30}),
    ):
        yield Case(f"{name} over the middle", middle, f, into(own.middle, shape=(128, 4095), **parameters), 1.0 if "m" in name[0] else 64.0)
    for name, f, sign in (("argmax", lambda x: x.argmax(1), 1.0), ("argmin", lambda x: x.argmin(1), -1.0)):
        # Of narrow types several are equal, and PyTorch may give the place of any.
        there = lambda got, x, f=f: (x.gather(1, got.long()[:, None]), x.gather(1, f(x)[:, None]))
        yield Case(f"{name} over the middle", middle, f, into(own.middle_place, shape=(128, 4095), dtype=torch.int32, sign=sign), bound=0.0,
                   exact=there if ELEMENTS.narrow else None)


def prefixes(own):
    square = lambda: (normal(32768, 32768),)
    some = lambda f: lambda got, x, *rest: (got[::256], f(x[::256].double(), *(r[::256] for r in rest)))
    without_last = lambda x: torch.cat((torch.zeros_like(x[:, :1]), x), dim=1)[:, :-1].cumsum(1)
    for name, f, operands, parameters in (
        ("prefix sums", lambda x: x.cumsum(1), square, {}),
        ("prefix products", lambda x: x.cumprod(1), lambda: (positive(32768, 32768) * 0.02 + 0.99,), {"op": "mul", "first": 1.0}),
        ("suffix sums", lambda x: x.flip(1).cumsum(1).flip(1), square, {"reverse": True}),
        ("prefix sums, exclusive", without_last, square, {"exclusive": True}),
    ):
        yield Case(name, operands, f, into(own.prefixes, **parameters), 1.0 if "products" in name else 180.0, 1e-4, exact=some(f))
    yield Case("prefix sums, masked", lambda: (normal(32768, 32768), torch.rand(32768, 32768, device="cuda") > 0.5), lambda x, m: (x * m).cumsum(1),
               into(own.masked_prefixes, view=lambda x, m, y: (x, m.view(torch.uint8), y)), 180.0, exact=some(lambda x, m: (x * m).cumsum(1)))


def losses(own):
    def loss(launch_of):
        def ours(*operands):
            y = number()

            def launch():
                y.zero_()
                launch_of(*operands, y)

            return launch, y
        return ours

    pairs = lambda f: loss(lambda a, b, y: own.mean_of_pairs.specialize(f=f)(a.view(-1), b.view(-1), y, 1 / a.numel()))
    two = lambda: (normal(32768, 32768), normal(32768, 32768))
    chunks = lambda f: lambda got, *all: (got, torch.stack([f(*(x[i : i + 1024].double() for x in all)) for i in range(0, all[0].shape[0], 1024)]).mean())
    mse = lambda a, b: torch.mean((a - b) ** 2)
    yield Case("mean square error", two, mse, pairs("squared_difference"), exact=chunks(mse))
    yield Case("Huber loss", two, F.smooth_l1_loss, pairs("huber"), exact=chunks(F.smooth_l1_loss))
    yield Case("cross entropy", lambda: (normal(32768, 4096), torch.randint(0, 4096, (32768,), device="cuda")), F.cross_entropy,
               loss(lambda x, labels, y: own.cross_entropy(x, labels, y, 1 / 32768)), exact=lambda got, x, t: (got, F.cross_entropy(x.double(), t)))
    kl = lambda a, b: F.kl_div(torch.log(a), b, reduction="batchmean")
    yield Case("KL divergence", lambda: (normal(16384, 16384).softmax(1), normal(16384, 16384).softmax(1)), kl,
               loss(lambda a, b, y: own.mean_of_pairs.specialize(f="kl")(a.view(-1), b.view(-1), y, 1 / 16384)),
               exact=lambda got, a, b: (got, kl(a.double(), b.double())))
    triplet = lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=1.0)
    yield Case("triplet loss", lambda: (normal(32768, 8192), normal(32768, 8192), normal(32768, 8192)), triplet,
               loss(lambda a, p, n, y: own.triplet(a, p, n, y, 1 / 32768)), exact=chunks(triplet))
    hinge = lambda p, t: torch.mean(torch.clamp(1 - p * t, min=0))
    yield Case("hinge loss", lambda: (normal(32768, 32768), torch.randint(0, 2, (32768,), device="cuda").to(ELEMENTS.dtype) * 2 - 1), hinge,
               loss(lambda p, t, y: own.hinge(p, t, y, 1 / p.numel())),
               exact=lambda got, p, t: (got, torch.stack([hinge(p[i : i + 1024].double(), t.double()) for i in range(0, 32768, 1024)]).mean()))


def attention(own):
    kind = ELEMENTS.name if ELEMENTS.narrow else "f16"
    typed = functools.partial(normal_of, dtype=TYPES[kind])
    weights, values = (kernel.specialize(t=kind) for kernel in (own.attention_weights, own.attention_values))

    def attention(q, k, v):
        heads = [x.flatten(0, 1) for x in (q, k, v)]
        p, o = empty(1024, 512, 512, dtype=TYPES[kind]), empty(1024, 512, 1024, dtype=TYPES[kind])

        def launch():
            weights(heads[0], heads[1], p, 1 / 32)
            values(p, heads[2], o)

        return launch, o.view(q.shape)

    yield Case(f"attention, {kind}", lambda: tuple(typed(32, 32, 512, 1024) for _ in range(3)), F.scaled_dot_product_attention, attention, 0.05, 2e-2,
               exact=lambda got, *x: (got[:1], F.scaled_dot_product_attention(*(t[:1].double() for t in x))))


def convolutions(conv, wino, first):
    def convolution(name, x_shape, outputs, filters, transposed=False, groups=1, padding=0, stride=1, dilation=1, output_padding=0):
        rank = len(x_shape) - 2
        filters, padding, stride, dilation = (tuple_of(v, rank) for v in (filters, padding, stride, dilation))
        options = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
        if output_padding:
            options["output_padding"] = output_padding
        f = getattr(F, f"conv{'_transpose' if transposed else ''}{rank}d")
        channels = x_shape[1]
        f_shape = (channels, outputs // groups, *filters) if transposed else (outputs, channels // groups, *filters)
        elements = math.prod(filters)
        stepped = transposed and any(s != 1 for s in stride)

        def ours(x, w):
            y = empty(*f(x.to("meta"), w.to("meta"), **options).shape)
            # A tile has as many outputs and channels as there are.
            bk = 16 if channels // groups > 8 or ELEMENTS.narrow else 8
            bo = next(bo for bo in (8, 16, 32, 64, 128) if bo >= min(outputs // groups, 64 if stepped else 128))
            together = channels // groups >= 8 or transposed
            parameters = dict(filter=filters, step=stride, pad=padding, dilation=dilation, groups=groups, bk=bk, bo=bo)
            if not stepped:
                parameters["together"] = together
                if transposed:
                    parameters["pad"] = tuple(d * (e - 1) - p for d, e, p in zip(dilation, filters, padding))
            c, o = channels // groups, outputs // groups
            rows = -(-c // bk) * bk * elements if together else -(-c * elements // bk) * bk
            packed = empty(rows * groups, o)
            pack = conv.pack.specialize(filter=filters, bk=bk, together=together, of_inputs=transposed, turned=transposed and not stepped, groups=groups)
            kernel = getattr(conv, f"conv{rank}d{'_transposed' if stepped else ''}").specialize(**parameters)
            by_output = w.flatten(2).transpose(0, 1) if transposed else w.flatten(2)

            def launch():
                pack(by_output, packed)
                kernel(x, packed, y)

            return launch, y

        by_winograd = not ELEMENTS.narrow and rank == 2 and groups == 1 and channels >= 16 and set(stride + dilation) == {1} and max(filters) <= 7

        def winograd(x, w):
            y = empty(*f(x.to("meta"), w.to("meta"), **options).shape)
            own_pad = tuple(e - 1 - p for e, p in zip(filters, padding)) if transposed else padding
            down, across = (-(-extent // (9 - length)) for extent, length in zip(y.shape[2:], filters))
            tiles = -(-x.shape[0] * down * across // 4) * 4
            u, m = (empty(64, outputs, columns) for columns in (channels, tiles))
            v = torch.zeros(64, channels, tiles, device="cuda")
            to_filters = wino.winograd_filters.specialize(filter=filters, turned=transposed)
            to_images = wino.winograd_images.specialize(filter=filters, pad=own_pad)
            products = wino.winograd_products.specialize(**({"bm": 64, "bn": 128} if outputs <= 64 else {}))
            to_outputs = wino.winograd_outputs.specialize(filter=filters)

            def launch():
                to_filters(w, u)
                to_images(x, v)
                products(u, v, m)
                to_outputs(m, y)

            return launch, y

        by_windows = ELEMENTS.narrow and not stepped and groups == 1 and channels % 8 == 0

        def windows(x, w):
            y = empty(*f(x.to("meta"), w.to("meta"), **options).shape)
            z, g = empty(x.shape[0], *x.shape[2:], channels), empty(outputs, elements, channels)
            of_images, of_results = math.prod(x.shape[2:]), math.prod(y.shape[2:])
            wide = lambda count: math.gcd(count, 8)
            few = rank == 2 and channels <= 16
            own_pad = tuple(d * (e - 1) - p for d, e, p in zip(dilation, filters, padding)) if transposed else padding
            columns = next(bo for bo in (16, 32, 64, 128) if bo >= min(outputs, 128))
            parameters = dict(filter=filters, step=stride, pad=own_pad, dilation=dilation, align=wide(of_results), bo=columns)
            kernel = getattr(first, f"conv{rank}d_first{'_few' if few else ''}").specialize(
                **parameters, **({"channels": channels} if few else {"bk": min(64, channels)}))
            turn = first.channels_last.specialize(align=wide(of_images))
            pack = first.filters_last.specialize(turned=transposed)
            by_output = w.flatten(2).transpose(0, 1) if transposed else w.flatten(2)

            def launch():
                pack(by_output, g)
                turn(x.flatten(2), z.view(x.shape[0], -1, channels))
                kernel(z, g.flatten(1) if few else g, y.flatten(2))

            return launch, y

        # Columns that lie more than three apart are stored more slowly than their windows are gathered.
        by_phases = ELEMENTS.narrow and stepped and stride[-1] <= 3

        def phases(x, w):
            y = empty(*f(x.to("meta"), w.to("meta"), **options).shape)
            whole = lambda shape, one: (*[one] * (3 - rank), *shape)
            reach = [padding[-1] - (e * dilation[-1] + padding[-1] * (stride[-1] - 1)) // stride[-1] for e in (0, filters[-1] - 1)]
            offsets = filters[-1] if dilation[-1] >= stride[-1] else reach[0] - reach[1] + 1
            bo = 64 if outputs % 64 == 0 and stride[-1] <= 2 else 32
            z = empty(x.shape[0], *whole(x.shape[2:], 1), channels)
            g = empty(-(-outputs // bo) * bo * stride[-1], elements // filters[-1] * offsets, channels)
            parameters = dict(filter=whole(filters, 1), step=whole(stride, 1), pad=whole(padding, 0), dilation=whole(dilation, 1), bo=bo)
            # Of 64 pixels as many beside each other as leave the fewest over.
            blocks = lambda extent, each: -(-extent // each) * each
            lines, columns = (-(-extent // s) for extent, s in zip(whole(y.shape[2:], 1)[1:], parameters["step"][1:]))
            bl, bp = min(((1, 64), (2, 32), (4, 16)), key=lambda tile: blocks(lines, tile[0]) * blocks(columns, tile[1]))
            turn = first.channels_last.specialize(align=math.gcd(math.prod(x.shape[2:]), 8))
            pack = first.filters_of_phases.specialize(groups=groups, **parameters)
            kernel = first.conv3d_transposed_first.specialize(**parameters, bl=bl, bp=bp, blocks=4 if bo * stride[-1] <= 64 else 2)

            def launch():
                pack(w.flatten(2), g)
                turn(x.flatten(2), z.view(x.shape[0], -1, channels))
                kernel(z, g, y.view(*y.shape[:2], *whole(y.shape[2:], 1)))

            return launch, y

        way = windows if by_windows else phases if by_phases else winograd if by_winograd else ours
        return Case(name, lambda: (normal(*x_shape), normal(*f_shape) / (channels // groups * elements) ** 0.5),
                    lambda x, w: f(x, w, **options), way, bound=1e-4 if by_winograd else 2e-5,
                    exact=lambda got, x, w: (got[:1], f(x[:1].double(), w.double(), **options)))

    yield convolution("convolution 2, 3 > 96, 11 × 11 step 4", (256, 3, 224, 224), 96, 11, padding=2, stride=4)
    yield convolution("convolution 3, 3 > 64, 3³", (16, 3, 64, 64, 64), 64, 3)
    yield convolution("convolution 2, 64 > 128, 3 × 3", (8, 64, 512, 1024), 128, 3)
    yield convolution("convolution 2, 64 > 128, 5 × 7", (8, 64, 512, 256), 128, (5, 7))
    yield convolution("transposed 2, 64 > 64, 3 × 3", (8, 64, 1024, 1024), 64, 3, True)
    yield convolution("transposed 3, 32 > 16, 3 × 5 × 7", (16, 32, 16, 32, 64), 16, (3, 5, 7), True)
    yield convolution("convolution 3, 3 > 64, 3 × 3 × 1", (16, 3, 256, 256, 10), 64, (3, 3, 1))
    yield convolution("convolution 3, 3 > 64, 3 × 5 × 7", (16, 3, 64, 64, 64), 64, (3, 5, 7))
    yield convolution("transposed 3, 48 > 48, 3³", (8, 48, 64, 64, 64), 48, 3, True)
    yield convolution("convolution 2, 32 > 64, 5 × 9", (8, 32, 512, 512), 64, (5, 9))
    yield convolution("convolution 2, 16 > 128, 3 × 3", (16, 16, 1024, 1024), 128, 3)
    yield convolution("transposed 1, 128 > 128, 3", (64, 128, 65536), 128, 3, True)
    yield convolution("transposed 2, 64 > 64, 3 × 7", (8, 64, 512, 512), 64, (3, 7), True)
    yield convolution("convolution 3, 3 > 64, 3 × 5 × 7, flat", (8, 3, 16, 128, 128), 64, (3, 5, 7))
    yield convolution("convolution 1, 64 > 128, 3", (32, 64, 131072), 128, 3)
    yield convolution("transposed 3, 32 > 64, 3 × 5 × 5", (16, 32, 64, 64, 64), 64, (3, 5, 5), True)
    yield convolution("transposed 2, 64 > 128, 3 × 5", (64, 64, 128, 256), 128, (3, 5), True)
    yield convolution("transposed 3, 48 > 24, 3³", (8, 48, 96, 96, 96), 24, 3, True)
    yield convolution("transposed 2, 32 > 32, 3 × 3", (8, 32, 512, 1024), 32, 3, True)
    yield convolution("transposed 3, step 2, groups, 3 × 5 × 7", (8, 32, 12, 24, 48), 32, (3, 5, 7), True, 4, (1, 2, 3), 2, output_padding=1)
    yield convolution("transposed 3, step 2, groups, 3³", (4, 32, 32, 64, 128), 32, 3, True, 4, 1, 2)
    yield convolution("transposed 1, dilation 3, 5", (32, 32, 131072), 64, 5, True, dilation=3)
    yield convolution("transposed 2, step (2, 3), groups, 3 × 5", (16, 32, 128, 256), 64, (3, 5), True, 4, (1, 2), (2, 3), (2, 1))
    yield convolution("convolution 1, step 3, dilation 4", (64, 64, 524280), 128, 3, stride=3, dilation=4)
    yield convolution("transposed 3, step 2, dilation 2, 3³", (16, 32, 16, 32, 32), 64, 3, True, 1, 1, 2, 2)
    yield convolution("transposed 2, 32 > 32, 3 × 7", (8, 32, 512, 1024), 32, (3, 7), True, padding=(1, 3))
    yield convolution("transposed 1, step 2, dilation 2, 3", (16, 32, 131072), 64, 3, True, 1, 1, 2, 2)
    yield convolution("convolution 2, 32 > 64, 5 × 9, dilation", (8, 32, 512, 512), 64, (5, 9), padding=(2, 4), dilation=(2, 3))
    yield convolution("transposed 2, step 5, dilation 2, 3 × 3", (16, 32, 64, 128), 64, 3, True, 1, 1, 5, 2)


def by_channels(own):
    def depthwise(name, x_shape, filters, padding=0):
        padding = tuple_of(padding, 2)
        channels = x_shape[1]
        f = lambda x, w: F.conv2d(x, w, padding=padding, groups=channels)

        def ours(x, w):
            y = empty(*f(x.to("meta"), w.to("meta")).shape)
            kernel = own.depthwise.specialize(rows=filters[0], columns=filters[1], pad_m=padding[0], pad_n=padding[1])
            return functools.partial(kernel, x.flatten(0, 1), w.view(channels, *filters), y.flatten(0, 1)), y

        return Case(name, lambda: (normal(*x_shape), normal(channels, 1, *filters)), f, ours,
                    exact=lambda got, x, w: (got[:1], f(x[:1].double(), w.double())))

    yield depthwise("depthwise, 3 × 3", (16, 64, 512, 512), (3, 3))
    yield depthwise("depthwise, 3 × 1", (64, 8, 512, 512), (3, 1))
    yield depthwise("depthwise, 3 × 3, wide", (64, 128, 256, 512), (3, 3))
    yield depthwise("depthwise, 3 × 7", (32, 128, 128, 256), (3, 7))

    def separable(x, w, p):
        between = empty(*x.shape)
        y = empty(x.shape[0], p.shape[0], *x.shape[2:])
        kernel = own.depthwise.specialize(rows=3, columns=3, pad_m=1, pad_n=1)

        def launch():
            kernel(x.flatten(0, 1), w.view(64, 3, 3), between.flatten(0, 1))
            own.pointwise(between.flatten(2), p.view(p.shape[0], -1), y.flatten(2))

        return launch, y

    both = lambda x, w, p: F.conv2d(F.conv2d(x, w, padding=1, groups=64), p)
    yield Case("depthwise and pointwise", lambda: (normal(16, 64, 512, 512), normal(64, 1, 3, 3), normal(128, 64, 1, 1) / 8), both, separable,
               4.0, exact=lambda got, x, w, p: (got[:1], both(x[:1].double(), w.double(), p.double())))
    yield Case("pointwise", lambda: (normal(16, 64, 1024, 1024), normal(128, 64, 1, 1) / 8), F.conv2d,
               into(own.pointwise, shape=(16, 128, 1024, 1024), view=lambda x, w, y: (x.flatten(2), w.view(128, 64), y.flatten(2))),
               exact=lambda got, x, w: (got[:1], F.conv2d(x[:1].double(), w.double())))


def cases(examples):
    load = lambda file: Typed(cutec.load(file, arch="sm_90a"))
    own = load(HERE / "operators.cute")
    yield from products(own, load(examples / "tile_gemm.cute"))
    for family in (element_by_element, rows_and_norms, pools, over_the_middle, prefixes, losses, attention):
        yield from family(own)
    yield from convolutions(load(examples / "tile_conv.cute"), cutec.load(examples / "winograd.cute", arch="sm_90a"),
                            load(examples / "tile_conv_first.cute"))
    yield from by_channels(own)


def error(case, operands, got):
    if case.exact:
        got, exact = case.exact(got, *operands)
    elif case.bound == 0:
        exact = case.formula(*operands)
    else:
        exact = case.formula(*(x.double() if x.is_floating_point() else x for x in operands))
    exact = exact.reshape(got.shape)
    worst = 0.0
    for g, e in zip(got.reshape(-1).split(1 << 28), exact.reshape(-1).split(1 << 28)):
        worst = max(worst, ((g.double() - e.double()).abs() / e.double().abs().clamp(min=case.least)).nan_to_num(nan=float("inf")).max().item())
    return worst


def measure(case, compiled, rounds):
    operands = case.operands()
    launch, y = case.ours(*operands)
    y.fill_(-1)
    launch()
    worst = error(case, operands, y)
    moved = sum(x.numel() * x.element_size() for x in (*operands, y))
    every = [(operands, launch)]
    for _ in range(sets(moved) - 1):
        more = case.operands()
        every.append((more, case.ours(*more)[0]))
    peers = {"eager": case.formula}
    if compiled:
        torch._dynamo.reset()
        peers["compiled"] = torch.compile(case.formula, dynamic=False)
    alternatives = {"ours": [launch for _, launch in every]}
    for name, f in peers.items():
        alternatives[name] = [functools.partial(f, *operands) for operands, _ in every]
    times = compare(alternatives, batch_ms=3.0, rounds=rounds)
    row = dict(case=case.name, error=worst, wrong=not worst <= case.bound)
    row["milliseconds"] = {name: statistics.median(each) for name, each in times.items()}
    row["ratios"] = {name: ratio(times, name, "ours") for name in peers}
    row["ratio"] = min(row["ratios"].values())
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", default="f32", choices=TYPES, help="of elements")
    parser.add_argument("--only", default="", help="texts, with commas between them: cases that have one of them in their name")
    parser.add_argument("--no-compiled", action="store_true", help="without torch.compile")
    parser.add_argument("--quick", action="store_true", help="five rounds")
    parser.add_argument("--json", type=pathlib.Path, help="all medians, too")
    parser.add_argument("--source", type=pathlib.Path, default=HERE.parents[1] / "examples", help="the folder of the examples")
    arguments = parser.parse_args()
    ELEMENTS.name = arguments.type
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}\n")
    print("| operator | ours, ms | eager | compiled | ratio to the faster | error |\n|---|---|---|---|---|---|")
    rows, failed = [], 0
    for case in cases(arguments.source):
        if not any(text in case.name for text in arguments.only.split(",")):
            continue
        try:
            row = measure(case, not arguments.no_compiled, 5 if arguments.quick else 11)
        except Exception as problem:
            print(f"<!-- {case.name}: {type(problem).__name__} {str(problem)[:600]} -->", flush=True)
            torch.cuda.empty_cache()
            failed += 1
            continue
        rows.append(row)
        ms = row["milliseconds"]
        print(f"| {case.name} | {ms['ours']:.3f} | {ms['eager']:.3f} | {ms.get('compiled', float('nan')):.3f} | {row['ratio']:.2f} | "
              f"{'**wrong** ' if row['wrong'] else ''}{row['error']:.1e} |", flush=True)
        torch.cuda.empty_cache()
    print(f"\n{len(rows)} operators; geometric mean of the ratios {geometric_mean([row['ratio'] for row in rows]):.2f}, to eager "
          f"{geometric_mean([row['ratios']['eager'] for row in rows]):.2f}; {sum(row['ratio'] >= 1 for row in rows)} at least as fast.")
    save(rows, arguments.json)
    return int(failed > 0 or any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
