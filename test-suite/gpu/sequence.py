#!/usr/bin/env python3
"""The kernels of examples/sequence, and examples/tile_scan.cute, against PyTorch, eager and compiled, and against copies of as many bytes, on a Hopper GPU.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/sequence.py [--source examples/sequence] [--only TEXT] [--quick] [--compiled] [--json FILE]

Each result is checked against f64. Operands are normal and rotate through more than twice the L2 cache; rounds alternate, each a
CUDA graph; ratios are medians of the rounds', above 1 where ours is faster. "copy" is the bandwidth that ours has, over that of
PyTorch's copy of as many bytes. The exit status is 1 where a result is wrong.
"""

import argparse
import functools
import pathlib
import statistics
import sys

import cutec
import torch
import torch.nn.functional as F

from rounds import compare, normal, ratio, save, sets

HERE = pathlib.Path(__file__).resolve().parent
BF16 = torch.bfloat16


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="cuda")


class Case:
    """A row of the table: what it is, the bytes it moves or the operations it takes, ours by variant and theirs, each a list of
    launches, one for each set of operands, and the largest error of ours."""

    def __init__(self, name: str, work: float, unit: str, ours: dict, theirs: dict, error: float, bound: float):
        self.name, self.work, self.unit, self.ours, self.theirs = name, work, unit, ours, theirs
        self.error, self.bound = error, bound


def worst(found: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error, relative to the larger of the reference and its root mean square."""
    exact = exact.double()
    unit = exact.square().mean().sqrt().item()
    return ((found.double() - exact).abs() / exact.abs().clamp(min=max(unit, 1e-30))).nan_to_num(nan=float("inf")).max().item()


def every(function, operands):
    return [functools.partial(function, *each) for each in operands]


# Whether functions are compiled too, which takes seconds each.
with_compiled = False


def peers(function, operands, differentiated=None) -> dict:
    """A function of PyTorch as it is, and by torch.compile for shapes as they are; where `differentiated` is given, what that makes of
    the function."""
    made = differentiated or (lambda it: it)
    found = {"eager": every(made(function), operands)}
    if with_compiled:
        found["compiled"] = every(made(torch.compile(function, dynamic=False)), operands)
    return found


def copies(moved: float, count: int):
    """Copies that read and write as many bytes."""
    half = int(moved) // 4
    pairs = [(empty(half, dtype=BF16), empty(half, dtype=BF16)) for _ in range(count)]
    return [functools.partial(y.copy_, x) for x, y in pairs]


def norm_gradient_formula(center: bool):
    def formula(x, dy, w, mean, rstd):
        normal = ((x.float() - mean[:, None]) if center else x.float()) * rstd[:, None]
        g = dy.float() * w.float()
        dx = g - normal * (g * normal).mean(1, keepdim=True)
        if center:
            dx = dx - g.mean(1, keepdim=True)
        return (rstd[:, None] * dx).to(x.dtype), (dy.float() * normal).sum(0).to(w.dtype), dy.float().sum(0).to(w.dtype) if center else None

    return formula


def norms(folder: pathlib.Path, m: int, n: int, center: bool):
    module = cutec.load(folder / "norm_gradients.cute")
    moved = 6 * m * n
    operands = []
    for _ in range(sets(moved, most=6)):
        x, dy, w = normal(m, n), normal(m, n), normal(n)
        mean = x.float().mean(1) if center else torch.zeros(m, device="cuda")
        rstd = (x.float() - mean[:, None]).square().mean(1).add(1e-5).rsqrt()
        operands.append((x, dy, w, mean, rstd, empty(m, n, dtype=BF16), empty(n, dtype=BF16), empty(n, dtype=BF16)))
    count = torch.cuda.get_device_properties(0).multi_processor_count
    variants = {f"{threads} threads, {group} a row": dict(threads=threads, group=group, vecs=n // (8 * group))
                for threads, group in ((512, n // 32), (512, n // 16), (384, n // 32)) if group <= threads and threads % group == 0}
    ours = {}
    for name, variant in variants.items():
        parts = count
        scratch = [(empty(parts, n), empty(parts, n)) for _ in operands]
        if center:
            first = module.layer_norm_gradient.specialize(**variant)

            def launch(one, sums, first=first):
                x, dy, w, mean, rstd, dx, dw, db = one
                first(x, dy, w, mean, rstd, dx, *sums)
                module.layer_norm_weights(*sums, dw, db)
        else:
            first = module.rms_norm_gradient.specialize(**variant)

            def launch(one, sums, first=first):
                x, dy, w, _, rstd, dx, dw, _ = one
                first(x, dy, w, rstd, dx, sums[0])
                module.rms_norm_weights(sums[0], dw)
        ours[name] = every(launch, zip(operands, scratch))
    formula = norm_gradient_formula(center)
    x, dy, w, mean, rstd, dx, dw, db = operands[0]
    exact = norm_gradient_f64(center, x, dy, w, mean, rstd)
    error = 0.0
    for launches in ours.values():
        launches[0]()
        error = max(error, worst(dx, exact[0]), worst(dw, exact[1]), worst(db, exact[2]) if center else 0.0)
    theirs = peers(formula, [one[:5] for one in operands])
    if center:
        theirs["eager"] = every(lambda x, dy, w, mean, rstd: torch.ops.aten.native_layer_norm_backward(
            dy, x, [n], mean[:, None], rstd[:, None], w, w, [True, True, True]), [one[:5] for one in operands])
    theirs["copy"] = copies(moved, len(operands))
    return Case(f"{'LayerNorm' if center else 'RMSNorm'} gradient {m} × {n}", moved, "GB/s", ours, theirs, error, 1e-2)


def norm_gradient_f64(center, x, dy, w, mean, rstd):
    x, dy, w, mean, rstd = (each.double() for each in (x, dy, w, mean, rstd))
    normal = (x - mean[:, None] if center else x) * rstd[:, None]
    g = dy * w
    dx = g - normal * (g * normal).mean(1, keepdim=True) - (g.mean(1, keepdim=True) if center else 0.0)
    return rstd[:, None] * dx, (dy * normal).sum(0), dy.sum(0)


def dropped(folder: pathlib.Path, m: int, n: int, gradient: bool):
    module = cutec.load(folder / "dropout_norm.cute")
    keep, seed = 0.9, 17
    moved = (10 if gradient else 8) * m * n
    operands = []
    for _ in range(sets(moved, most=6)):
        operands.append((normal(m, n), normal(m, n), normal(m, n), normal(n), empty(m, n, dtype=BF16), empty(m, n, dtype=BF16),
                         empty(m).fill_(1.0)))
    mask = empty(m, n)
    module.dropout_mask(mask, keep, seed)
    x, second, third, w, a, b, rstd = operands[0]
    count = torch.cuda.get_device_properties(0).multi_processor_count
    ours = {}
    if gradient:
        # Of h, dy and dh: dx and dresidual.
        sums = [empty(count, n) for _ in operands]
        for threads, group in ((512, n // 32), (512, n // 16), (384, n // 32)):
            if threads % group != 0:
                continue
            stage = threads // group * n * 3 * 2
            kernel = module.dropout_rms_norm_gradient.specialize(threads=threads, group=group, vecs=n // (8 * group), stages=min(3, 220_000 // stage))
            ours[f"{threads} threads, {group} a row"] = every(
                lambda h, dy, dh, w, dx, dresidual, rstd, part, kernel=kernel: kernel(
                    h, dy, dh, w, rstd, dx, dresidual, part, keep, seed), [(*one, part) for one, part in zip(operands, sums)])
        rstd.copy_(x.float().square().mean(1).add(1e-5).rsqrt())
        exact = norm_gradient_f64(False, x, second, w, torch.zeros_like(rstd), rstd)[0] + third.double()
        error = 0.0
        for launches in ours.values():
            launches[0]()
            error = max(error, worst(b, exact), worst(a, exact * mask.double() / keep))

        def peer(h, dy, dh, w, _a, _b, rstd, where):
            normal = h.float() * rstd[:, None]
            g = dy.float() * w.float()
            total = dh.float() + rstd[:, None] * (g - normal * (g * normal).mean(1, keepdim=True))
            return total.to(BF16), (total * where / keep).to(BF16), (dy.float() * normal).sum(0)

        masks = [(torch.rand(m, n, device="cuda") < keep) for _ in operands]
        theirs = peers(peer, [(*one, where) for one, where in zip(operands, masks)])
    else:
        for threads in (128, 256):
            kernel = module.dropout_rms_norm.specialize(threads=threads, group=threads, vecs=n // (8 * threads))
            ours[f"threads={threads}"] = every(
                lambda x, residual, _third, w, h, y, rstd, kernel=kernel: kernel(x, residual, w, h, y, rstd, 1e-5, keep, seed), operands)
        error = 0.0
        exact = second.double() + x.double() * mask.double() / keep
        for launches in ours.values():
            launches[0]()
            h = a.double()
            error = max(error, worst(a, exact), worst(b, h * (h.square().mean(1, keepdim=True) + 1e-5).rsqrt() * w.double()))

        def peer(x, residual, _third, w, *_):
            h = residual + F.dropout(x, 1 - keep)
            return h, F.rms_norm(h, (n,), w, 1e-5)

        theirs = peers(peer, operands)
    theirs["copy"] = copies(moved, len(operands))
    return Case(f"dropout + residual + RMSNorm{' gradient' if gradient else ''} {m} × {n}", moved, "GB/s", ours, theirs, error, 1e-2)


def rotated(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Of shape (tokens, heads, d), by (tokens, d / 2), in f32 or f64."""
    a, b = x.to(cosines.dtype).chunk(2, -1)
    c, s = cosines[:, None], sines[:, None]
    return torch.cat((a * c - b * s, b * c + a * s), -1)


def rotary(folder: pathlib.Path, tokens: int, heads: int, append: bool):
    module = cutec.load(folder / "rotary.cute")
    d, kv = 128, 8
    n = (heads + 2 * kv) * d
    moved = 4 * tokens * (n if append else heads * d)
    frequencies = (500000.0 ** (-torch.arange(d // 2, dtype=torch.float64, device="cuda") * 2 / d)).float()
    cosines, sines = empty(tokens, d // 2), empty(tokens, d // 2)
    module.rotary_tables(frequencies, cosines, sines)
    positions = torch.arange(tokens, dtype=torch.int32, device="cuda")
    slots = torch.randperm(tokens, dtype=torch.int32, device="cuda")
    ours, operands = {}, []
    for _ in range(sets(moved, most=6)):
        if append:
            operands.append((normal(tokens, n), empty(tokens, heads, d, dtype=BF16), empty(tokens, kv, d, dtype=BF16), empty(tokens, kv, d, dtype=BF16)))
        else:
            operands.append((normal(tokens, heads, d), empty(tokens, heads, d, dtype=BF16)))
    angles = positions.double()[:, None] * frequencies.double()
    exact_cosines, exact_sines = angles.cos(), angles.sin()
    one, error = operands[0], 0.0
    for threads in (32, 64, 128):
        if append:
            kernel = module.rotary_append.specialize(threads=threads)
            ours[f"threads={threads}"] = every(
                lambda qkv, q, k, v, kernel=kernel: kernel(qkv, positions, slots, cosines, sines, q, k, v), operands)
        else:
            kernel = module.rotary.specialize(threads=threads)
            ours[f"threads={threads}"] = every(lambda x, y, kernel=kernel: kernel(x, positions, cosines, sines, y), operands)
        ours[f"threads={threads}"][0]()
        if append:
            q, k, v = one[0].view(tokens, -1, d).split((heads, kv, kv), 1)
            where = slots.long()
            error = max(error, worst(one[1], rotated(q, exact_cosines, exact_sines)),
                        worst(one[2][where], rotated(k, exact_cosines, exact_sines)), worst(one[3][where], v))
        else:
            error = max(error, worst(one[1], rotated(one[0], exact_cosines, exact_sines)))

    def peer(x, *results):
        if not append:
            return rotated(x, cosines, sines).to(BF16)
        q, k, v = x.view(tokens, -1, d).split((heads, kv, kv), 1)
        results[1].index_copy_(0, slots.long(), rotated(k, cosines, sines).to(BF16))
        results[2].index_copy_(0, slots.long(), v)
        return rotated(q, cosines, sines).to(BF16)

    theirs = {**peers(peer, operands), "copy": copies(moved, len(operands))}
    name = f"rotary of q, k and v into a cache, {tokens} × ({heads} + 2 · {kv}) × {d}" if append else f"rotary {tokens} × {heads} × {d}"
    return Case(name, moved, "GB/s", ours, theirs, error, 1e-2)


def rotary_gradient(folder: pathlib.Path, tokens: int, heads: int):
    """Of rows that hold q, k and v."""
    module = cutec.load(folder / "rotary.cute")
    d, kv = 128, 8
    n = (heads + 2 * kv) * d
    moved = 4 * tokens * n
    frequencies = (500000.0 ** (-torch.arange(d // 2, dtype=torch.float64, device="cuda") * 2 / d)).float()
    cosines, sines = empty(tokens, d // 2), empty(tokens, d // 2)
    module.rotary_tables(frequencies, cosines, sines)
    positions = torch.arange(tokens, dtype=torch.int32, device="cuda")
    operands = [(normal(tokens, heads, d), normal(tokens, kv, d), normal(tokens, kv, d), empty(tokens, n, dtype=BF16))
                for _ in range(sets(moved, most=6))]
    angles = positions.double()[:, None] * frequencies.double()
    dq, dk, dv, found = operands[0]
    exact = torch.cat([rotated(x, angles.cos(), -angles.sin()) for x in (dq, dk)] + [dv.double()], 1).view(tokens, n)
    ours, error = {}, 0.0
    for threads in (32, 64, 128):
        kernel = module.rotary_gradient.specialize(threads=threads)
        ours[f"threads={threads}"] = every(
            lambda dq, dk, dv, rows, kernel=kernel: kernel(dq, dk, dv, positions, cosines, sines, rows), operands)
        found.fill_(float("nan"))
        ours[f"threads={threads}"][0]()
        error = max(error, worst(found, exact))

    def peer(dq, dk, dv, _rows):
        return torch.cat((rotated(dq, cosines, -sines).to(BF16), rotated(dk, cosines, -sines).to(BF16), dv), 1).view(tokens, n)

    theirs = {**peers(peer, operands), "copy": copies(moved, len(operands))}
    return Case(f"rotary gradient of q, k and v, {tokens} × ({heads} + 2 · {kv}) × {d}", moved, "GB/s", ours, theirs, error, 1e-2)


def kept_logits(folder: pathlib.Path, m: int, v: int):
    """The gradient of logits that were kept, in place."""
    module = cutec.load(folder / "cross_entropy.cute")
    moved = 4 * m * v
    targets = torch.randint(0, v, (m,), dtype=torch.int32, device="cuda")
    targets[::17] = -100
    # Launches write what they read: not the values are what is timed, and from the second on they are gradients of gradients.
    operands = [(normal(m, v), empty(m), empty(m).fill_(1.0 / m)) for _ in range(sets(moved, most=2))]
    for logits, lse, _ in operands:
        lse.copy_(torch.logsumexp(logits.float(), 1))
    logits, lse, scale = operands[0]
    rows = torch.arange(0, m, max(1, m // 61), device="cuda")
    exact = (logits[rows].double() - lse[rows].double()[:, None]).exp()
    exact[torch.arange(len(rows), device="cuda"), targets[rows].clamp(min=0).long()] -= 1.0
    exact = torch.where(targets[rows] >= 0, scale[rows], 0.0).double()[:, None] * exact
    ours = {"in place": every(lambda logits, lse, scale: module.cross_entropy_dlogits_kept(targets, lse, scale, logits), operands)}
    ours["in place"][0]()
    error = worst(logits[rows], exact)
    wide = targets.long()

    def peer(logits, lse, scale):
        slopes = (logits.float() - lse[:, None]).exp()
        slopes = slopes.scatter_add(1, wide.clamp(min=0)[:, None], -torch.ones_like(lse)[:, None])
        return (slopes * torch.where(wide >= 0, scale, 0.0)[:, None]).to(BF16)

    theirs = {**peers(peer, operands), "copy": copies(moved, len(operands))}
    return Case(f"gradient of kept logits {m} × {v}", moved, "GB/s", ours, theirs, error, 1e-2)


def cross_entropy(folder: pathlib.Path, m: int, v: int, k: int, gradient: bool):
    module = cutec.load(folder / "cross_entropy.cute")
    x = normal(m, k)
    w = normal(v, k) * k**-0.5
    targets = torch.randint(0, v, (m,), dtype=torch.int32, device="cuda")
    targets[::17] = -100
    wide = targets.long()
    lse, loss, mean = empty(m), empty(m), empty(2)
    counter = torch.zeros(1, dtype=torch.int32, device="cuda")
    sample = torch.arange(0, m, max(1, m // 61), device="cuda")
    exact = x[sample].double() @ w.double().T
    exact_lse = exact.logsumexp(1)
    exact_loss = torch.where(wide[sample] >= 0, exact_lse - exact.gather(1, wide[sample, None].clamp(min=0))[:, 0], 0.0)
    ours, error = {}, 0.0

    def forward(kernel, bn):
        tops, sums, picked = empty(-(-v // bn), m), empty(-(-v // bn), m), torch.zeros(m, device="cuda")

        def launch():
            kernel(x, w, targets, tops, sums, picked)
            module.cross_entropy_loss(tops, sums, picked, targets, lse, loss, mean, counter, v)

        return launch

    variants = {"pingpong": dict(bn=128, schedule="sm90_pingpong"), "cooperative": dict(bn=256, schedule="sm90_cooperative")}
    launches = {name: forward(module.cross_entropy_parts.specialize(**variant), variant["bn"]) for name, variant in variants.items()}
    for launch in launches.values():
        lse.fill_(float("nan"))
        loss.fill_(float("nan"))
        launch()
        error = max(error, worst(lse[sample], exact_lse), worst(loss[sample], exact_loss))
    flop = 2.0 * m * v * k
    if not gradient:
        def peer(x, w):
            return F.cross_entropy((x @ w.T).float(), wide)

        return Case(f"cross entropy {m} × {v} × {k}", flop, "TFLOP/s", {name: [launch] for name, launch in launches.items()},
                    peers(peer, [(x, w)]), error, 1e-3)
    # Loss and gradient, in parts of the columns.
    scale = torch.where(targets >= 0, 1.0 / (targets >= 0).sum(), 0.0).float()
    dx, dw = empty(m, k), empty(v, k, dtype=BF16)
    first_forward = launches["pingpong"]
    for parts, variant in ((4, variants["pingpong"]), (4, variants["cooperative"])):
        of_logits = module.cross_entropy_dlogits.specialize(**variant)
        columns = -(-v // (8 * parts)) * 8
        dlogits = empty(m, columns, dtype=BF16)

        def launch(columns=columns, dlogits=dlogits, of_logits=of_logits):
            first_forward()
            for first in range(0, v, columns):
                n = min(columns, v - first)
                part = dlogits[:, :n] if n == columns else dlogits.view(-1)[: m * n].view(m, n)
                rows = w[first : first + n]
                of_logits(x, rows, targets, lse, scale, part, first, v)
                module.cross_entropy_dx(part, rows.t(), dx, first > 0)
                module.cross_entropy_dw(part.t(), x.t(), dw[first : first + n])

        ours[f"{parts} parts, {variant['schedule'][5:]}"] = [launch]
    # With the logits kept.
    kept = empty(m, v, dtype=BF16)
    for name, variant in variants.items():
        of_logits = module.cross_entropy_logits.specialize(**variant)
        tops, sums, picked = empty(-(-v // variant["bn"]), m), empty(-(-v // variant["bn"]), m), torch.zeros(m, device="cuda")

        def launch(of_logits=of_logits, tops=tops, sums=sums, picked=picked):
            of_logits(x, w, targets, kept, tops, sums, picked)
            module.cross_entropy_loss(tops, sums, picked, targets, lse, loss, mean, counter, v)
            module.cross_entropy_dlogits_kept(targets, lse, scale, kept)
            module.cross_entropy_dx(kept, w.t(), dx, False)
            module.cross_entropy_dw(kept.t(), x.t(), dw)

        ours[f"logits kept, {name}"] = [launch]
    exact_logits = (exact - exact_lse[:, None]).exp()
    exact_logits.scatter_add_(1, wide[sample, None].clamp(min=0), -torch.ones(len(sample), 1, dtype=torch.float64, device="cuda"))
    exact_dx = (exact_logits * scale[sample, None].double()) @ w.double()
    some = torch.arange(0, v, max(1, v // 61), device="cuda")
    columns = x.double() @ w[some].double().T
    all_lse = lse.double()
    exact_dw = ((columns - all_lse[:, None]).exp() - (wide[:, None] == some[None, :]).double()) * scale[:, None].double()
    exact_dw = exact_dw.T @ x.double()
    for each in ours.values():
        dx.fill_(float("nan"))
        each[0]()
        error = max(error, worst(dx[sample][wide[sample] >= 0], exact_dx[wide[sample] >= 0]), worst(dw[some], exact_dw))

    def of_loss(x, w):
        return F.cross_entropy((x @ w.T).float(), wide)

    def with_gradient(function):
        def both(x, w):
            x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
            return torch.autograd.grad(function(x, w), (x, w))

        return both

    return Case(f"cross entropy with gradient {m} × {v} × {k}", 3 * flop, "TFLOP/s", ours, peers(of_loss, [(x, w)], with_gradient), error, 3e-2)


def by_chunks(x, log_decay, weight, b, c, chunk: int = 128):
    """y(i) = sum over j <= i of exp(log_decay(j + 1) + … + log_decay(i)) · weight(j) · (c(i) · b(j)) · x(j), of shapes (batches, length,
    heads, …), and the last states."""
    batches, length, heads, p = x.shape
    n = b.shape[-1]
    parts = length // chunk
    x = (x * weight[..., None]).view(batches, parts, chunk, heads, p)
    b, c = (each.expand(-1, -1, heads, -1).reshape(batches, parts, chunk, heads, n) for each in (b, c))
    sums = log_decay.view(batches, parts, chunk, heads).cumsum(2)
    between = sums[:, :, :, None] - sums[:, :, None]
    causal = torch.ones(chunk, chunk, dtype=torch.bool, device=x.device).tril()[None, None, :, :, None]
    scores = torch.einsum("zcihn,zcjhn->zcijh", c, b) * torch.where(causal, between, float("-inf")).exp().to(x.dtype)
    y = torch.einsum("zcijh,zcjhp->zcihp", scores, x)
    ends = torch.einsum("zcjhn,zcjhp->zchpn", b * (sums[:, :, -1:] - sums).exp().to(x.dtype)[..., None], x)
    totals = sums[:, :, -1].cumsum(1)
    earlier = torch.ones(parts, parts, dtype=torch.bool, device=x.device).tril(-1)[None, :, :, None]
    shifted = F.pad(totals[:, :-1], (0, 0, 1, 0))
    decays = torch.where(earlier, shifted[:, :, None] - totals[:, None], float("-inf")).exp()
    before = torch.einsum("zckh,zkhpn->zchpn", decays.to(x.dtype), ends)
    last = torch.einsum("zkh,zkhpn->zhpn", (totals[:, -1:] - totals).exp().to(x.dtype), ends)
    y = y + torch.einsum("zcihn,zchpn->zcihp", c * sums.exp().to(x.dtype)[..., None], before)
    return y.reshape(batches, length, heads, p), last


def mamba2(folder: pathlib.Path, batches: int, length: int, heads: int):
    module = cutec.load(folder / "mamba2_ssd.cute")
    p, n = 64, 128
    x, b, c = normal(batches, length, heads, p), normal(batches, length, 1, n), normal(batches, length, 1, n)
    dt, bias = normal(batches, length, heads), torch.randn(heads, device="cuda") - 4
    a, d = -torch.rand(heads, device="cuda") * 15 - 1, torch.randn(heads, device="cuda")
    y, initial = torch.empty_like(x), torch.zeros(batches, heads, p, n, device="cuda")
    last = torch.empty_like(initial)
    moved = 2.0 * (x.numel() + y.numel() + b.numel() + c.numel() + dt.numel()) + 8.0 * initial.numel()
    # Of one head of each sequence, which in f64 has room.
    steps = F.softplus(dt.double() + bias.double())
    few = slice(0, heads, max(1, heads // 4))
    exact, exact_last = by_chunks(x[:, :, few].double(), (steps * a.double())[:, :, few], steps[:, :, few], b.double(), c.double())
    exact = exact + x[:, :, few].double() * d[few, None].double()
    ours, error = {}, 0.0
    variants = [(segments, cluster, stages) for segments in ((1,) if batches > 1 else (1, 2)) for cluster, stages in ((1, 4), (1, 3), (2, 4), (4, 4))]
    for segments, cluster, stages in variants:
        scan = module.mamba2_ssd.specialize(cluster=cluster, stages=stages)
        ahead = module.mamba2_states.specialize(cluster=cluster)
        states, ends = empty(batches, segments, heads, p, n), empty(batches, segments, heads, p, n)
        totals = empty(batches, segments, heads)

        def launch(segments=segments, scan=scan, ahead=ahead, states=states, ends=ends, totals=totals):
            if segments == 1:
                scan(x, dt, bias, a, b, c, d, initial[:, None], y, last[:, None])
            else:
                ahead(x, dt, bias, a, b, ends, totals)
                module.mamba2_pass(initial, ends, totals, states, last)
                scan(x, dt, bias, a, b, c, d, states, y, ends)

        y.fill_(float("nan"))
        last.fill_(float("nan"))
        launch()
        error = max(error, worst(y[:, :, few], exact), worst(last[:, few], exact_last))
        ours[f"{segments} segments, clusters of {cluster}, {stages} stages"] = [launch]

    def peer(x, dt, b, c):
        steps = F.softplus(dt.float() + bias)
        y, _ = by_chunks(x, steps * a, steps.to(x.dtype), b, c)
        return y + x * d[:, None].to(x.dtype)

    theirs = {**peers(peer, [(x, dt, b, c)]), "copy": copies(moved, 2)}
    return Case(f"Mamba-2 SSD {batches} × {length} × {heads} × {p}, states of {n}", moved, "GB/s", ours, theirs, error, 3e-2)


def selective_scan(folder: pathlib.Path, batches: int, length: int, channels: int):
    """At the tile level; PyTorch has nothing that computes it but step by step."""
    module = cutec.load(folder.parent / "tile_scan.cute")
    n = 16
    x, delta, z = (normal(batches, length, channels) for _ in range(3))
    b, read = (normal(batches, length, n) for _ in range(2))
    a, d = -torch.rand(channels, n, device="cuda") * 15 - 1, torch.randn(channels, device="cuda")
    y, state = torch.empty_like(x), empty(batches, channels, n)
    moved = 2.0 * (4 * x.numel() + 2 * b.numel()) + 4.0 * (state.numel() + a.numel())
    h, exact = torch.zeros(batches, channels, n, dtype=torch.float64, device="cuda"), torch.empty_like(x, dtype=torch.float64)
    for t in range(length):
        step = F.softplus(delta[:, t].double())[:, :, None]
        h = torch.exp(step * a.double()) * h + step * x[:, t, :, None].double() * b[:, t, None].double()
        out = (h * read[:, t, None].double()).sum(2) + d.double() * x[:, t].double()
        exact[:, t] = out * F.silu(z[:, t].double())
    ours, error = {}, 0.0
    for rows, side in [(32, 8), (32, 16), (32, 4), (16, 8), (16, 16), (64, 4)]:
        scan = module.tile_selective_scan.specialize(rows=rows, channels=side)
        y.fill_(float("nan"))
        launch = functools.partial(scan, x, delta, a, b, read, d, z, y, state)
        launch()
        error = max(error, worst(y, exact), worst(state, h))
        ours[f"tiles of {rows} × {side}"] = [launch]
    return Case(f"selective scan {batches} × {length} × {channels}, {n} states", moved, "GB/s", ours, {"copy": copies(moved, 2)}, error, 3e-2)


def linear_attention(folder: pathlib.Path, batches: int, length: int, heads: int):
    module = cutec.load(folder / "linear_attention.cute")
    d = 128
    q, k, v = (normal(batches, length, heads, d) for _ in range(3))
    gates = F.logsigmoid(torch.randn(batches, length, heads, device="cuda") + 3)
    o, states, ends = torch.empty_like(v), torch.zeros(batches, 1, heads, d, d, device="cuda"), empty(batches, 1, heads, d, d)
    moved = 8.0 * q.numel() + 4.0 * gates.numel() + 8.0 * states.numel()
    one = torch.ones_like(gates)
    few = slice(0, 2)
    exact, _ = by_chunks(v[:, :, few].double(), gates[:, :, few].double(), one[:, :, few].double(), k[:, :, few].double(), q[:, :, few].double())
    ours, error = {}, 0.0
    for stages in (3, 4):
        kernel = module.linear_attention.specialize(stages=stages)
        ours[f"{stages} stages"] = [lambda kernel=kernel: kernel(q, k, v, gates, states, o, ends, d**-0.5)]
        o.fill_(float("nan"))
        ours[f"{stages} stages"][0]()
        error = max(error, worst(o[:, :, few], exact * d**-0.5))

    def peer(q, k, v):
        return by_chunks(v, gates, one.to(v.dtype), k, q)[0] * d**-0.5

    theirs = {**peers(peer, [(q, k, v)]), "copy": copies(moved, 2)}
    return Case(f"linear attention with gates {batches} × {length} × {heads} × {d}", moved, "GB/s", ours, theirs, error, 3e-2)


def hstu(folder: pathlib.Path, lengths: list, heads: int, d: int, biased: bool):
    module = cutec.load(folder / "hstu.cute")
    rows, longest = sum(lengths), max(lengths)
    q, k, v = (normal(rows, heads, d) for _ in range(3))
    starts = torch.tensor([sum(lengths[:i]) for i in range(len(lengths) + 1)], dtype=torch.int32, device="cuda")
    targets = torch.zeros(len(lengths), dtype=torch.int32, device="cuda")
    bias = torch.randn(heads, longest, device="cuda")
    o = torch.empty_like(q)
    alpha, scale = d**-0.5, 1.0 / longest
    ours, error = {}, 0.0
    start, end = int(starts[-2]), int(starts[-1])
    distance = torch.arange(end - start, device="cuda")[:, None] - torch.arange(end - start, device="cuda")[None]
    scores = alpha * torch.einsum("ihd,jhd->hij", q[start:end, :2].double(), k[start:end, :2].double())
    if biased:
        scores = scores + bias[:2, distance.clamp(min=0)].double()
    exact = torch.einsum("hij,jhd->ihd", torch.where(distance >= 0, F.silu(scores), 0.0), v[start:end, :2].double()) * scale
    for bn, warpgroups in ((128, 2), (64, 3), (128, 3), (64, 2)):
        if d * bn * warpgroups > 128 * 128 * 2:
            continue
        special = {"d": d, "bn": bn, "warpgroups": warpgroups}
        if biased:
            kernel = module.hstu_attention.specialize(**special)
            launch = functools.partial(kernel, q, k, v, starts, targets, bias, o, alpha, scale, 0, longest)
        else:
            kernel = module.hstu_attention_unbiased.specialize(**special)
            launch = functools.partial(kernel, q, k, v, starts, targets, o, alpha, scale, longest)
        o.fill_(float("nan"))
        launch()
        error = max(error, worst(o[start:end, :2], exact))
        ours[f"{bn} keys, {warpgroups} warpgroups"] = [launch]
    padded = [F.pad(x, (0, 0, 0, 0, 0, longest)) for x in (q, k, v)]
    place = (starts[:-1, None] + torch.arange(longest, device="cuda")).long()
    distance = torch.arange(longest, device="cuda")[:, None] - torch.arange(longest, device="cuda")[None]

    def peer(q, k, v):
        q, k, v = (x[place].transpose(1, 2) for x in (q, k, v))
        scores = alpha * (q @ k.transpose(-1, -2))
        if biased:
            scores = scores + bias[:, distance.clamp(min=0)].to(q.dtype)
        return (torch.where(distance >= 0, F.silu(scores), 0.0) @ v) * scale

    flop = sum(2.0 * length * (length + 1) * d * heads for length in lengths)
    name = f"HSTU{' with bias' if biased else ''}, {len(lengths)} sequences of {min(lengths)} to {longest}, {heads} × {d}"
    return Case(name, flop, "TFLOP/s", ours, peers(peer, [padded]), error, 3e-2)


def hstu_gradient(folder: pathlib.Path, lengths: list, heads: int, d: int, biased: bool):
    module = cutec.load(folder / "hstu_gradient.cute")
    rows, longest = sum(lengths), max(lengths)
    q, k, v, g = (normal(rows, heads, d) for _ in range(4))
    starts = torch.tensor([sum(lengths[:i]) for i in range(len(lengths) + 1)], dtype=torch.int32, device="cuda")
    targets = torch.zeros(len(lengths), dtype=torch.int32, device="cuda")
    bias = torch.randn(heads, longest, device="cuda")
    alpha, scale = d**-0.5, 1.0 / longest
    dq32, dq, dk, dv, dbias = empty(rows, heads, d), torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), torch.empty_like(bias)
    turns = torch.zeros(heads, (rows + 64 * len(lengths)) // 64 + 1, dtype=torch.int32, device="cuda")

    def formula(q, k, v, bias, g, place):
        """The gradients of one head and one sequence, in f64."""
        q, k, v, g = (x.double() for x in (q, k, v, g))
        distance = place[:, None] - place[None]
        x = alpha * q @ k.T + (bias.double()[distance.clamp(min=0)] if biased else 0.0)
        sigmoid = x.sigmoid()
        seen = distance >= 0
        slopes = torch.where(seen, (g @ v.T) * scale * sigmoid * (1 + x * (1 - sigmoid)), 0.0)
        dbias = torch.zeros_like(bias, dtype=torch.float64).index_add_(0, distance.clamp(min=0).flatten(), slopes.flatten())
        return alpha * slopes @ k, alpha * slopes.T @ q, scale * torch.where(seen, x * sigmoid, 0.0).T @ g, dbias

    exact_dbias = torch.zeros(longest, dtype=torch.float64, device="cuda")
    for start, length in zip(starts.tolist(), lengths):
        one = slice(start, start + length)
        *exact, sums = formula(q[one, 0], k[one, 0], v[one, 0], bias[0], g[one, 0], torch.arange(length, device="cuda"))
        exact_dbias += sums
    ours, error = {}, 0.0
    clear, rounds_dq = module.hstu_gradient_begin.specialize(d=d), module.hstu_gradient_queries.specialize(d=d)
    # In order each warpgroup of a block has sums of its own.
    parts = empty(2 * len(lengths) * -(-longest // 128) * heads, longest) if biased else dbias
    variants = [{}, dict(ordered=1)]
    for variant in variants:
        kernel = (module.hstu_gradient if biased else module.hstu_gradient_unbiased).specialize(d=d, **variant)

        def launch(kernel=kernel, ordered=variant.get("ordered", 0)):
            sums = parts if ordered else dbias
            clear(dq32, sums)
            if ordered:
                turns.zero_()
            if biased:
                kernel(q, k, v, g, starts, targets, bias, dq32, dk, dv, sums, turns, alpha, scale, 0, longest)
                if ordered:
                    module.hstu_gradient_bias(sums, dbias)
            else:
                kernel(q, k, v, g, starts, targets, dq32, dk, dv, turns, alpha, scale, longest)
            rounds_dq(dq32, dq, alpha * scale)

        for x in (dq, dk, dv):
            x.fill_(float("nan"))
        launch()
        found = [worst(x[one, 0], y) for x, y in zip((dq, dk, dv), exact)] + ([worst(dbias[0], exact_dbias)] if biased else [])
        print(f"HSTU gradient {d} {variant}: errors {', '.join(f'{each:.1e}' for each in found)}", file=sys.stderr)
        error = max(error, *found)
        ours[", ".join(f"{name}={value}" for name, value in variant.items()) or "default"] = [launch]
    padded = [F.pad(x, (0, 0, 0, 0, 0, longest)) for x in (q, k, v, g)]
    place = (starts[:-1, None] + torch.arange(longest, device="cuda")).long()
    distance = torch.arange(longest, device="cuda")[:, None] - torch.arange(longest, device="cuda")[None]

    def peer(q, k, v, g, bias):
        q, k, v, g = (x[place].transpose(1, 2) for x in (q, k, v, g))
        scores = alpha * (q @ k.transpose(-1, -2))
        if biased:
            scores = scores + bias[:, distance.clamp(min=0)].to(q.dtype)
        return (((torch.where(distance >= 0, F.silu(scores), 0.0) @ v) * scale) * g).sum()

    def with_gradient(function):
        def all_of_them(q, k, v, g):
            inputs = [x.detach().requires_grad_() for x in (q, k, v)] + ([bias.detach().requires_grad_()] if biased else [])
            return torch.autograd.grad(function(*inputs[:3], g, inputs[3] if biased else bias), inputs)

        return all_of_them

    flop = sum(5.0 * length * (length + 1) * d * heads for length in lengths)
    name = f"HSTU gradient{' with bias' if biased else ''}, {len(lengths)} sequences of {min(lengths)} to {longest}, {heads} × {d}"
    return Case(name, flop, "TFLOP/s", ours, peers(peer, [padded], with_gradient), error, 5e-2)


def attention_gradient(folder: pathlib.Path, batches: int, length: int, heads: int, key_heads: int, d: int, causal: bool):
    module = cutec.load(folder / "attention_gradient.cute")
    aten = torch.ops.aten
    q, g = normal(batches, length, heads, d), normal(batches, length, heads, d)
    k, v = normal(batches, length, key_heads, d), normal(batches, length, key_heads, d)
    scale = d**-0.5
    tq, tg = q.transpose(1, 2), g.transpose(1, 2)
    tk, tv = (x.repeat_interleave(heads // key_heads, 2).transpose(1, 2) for x in (k, v))
    theirs = {}
    found = aten._scaled_dot_product_flash_attention(tq, tk, tv, 0.0, causal, False, scale=scale)
    o, lse = found[0].transpose(1, 2).contiguous(), found[1].float().contiguous()
    theirs["FlashAttention-2"] = [lambda: aten._scaled_dot_product_flash_attention_backward(
        tg, tq, tk, tv, found[0], found[1], found[2], found[3], found[4], found[5], 0.0, causal, found[6], found[7], scale=scale)]
    try:
        by_cudnn = aten._scaled_dot_product_cudnn_attention(tq, tk, tv, None, True, 0.0, causal, False, scale=scale)
        backward = functools.partial(
            aten._scaled_dot_product_cudnn_attention_backward, tg, tq, tk, tv, by_cudnn[0], by_cudnn[1], by_cudnn[6], by_cudnn[7], None,
            by_cudnn[2], by_cudnn[3], by_cudnn[4], by_cudnn[5], 0.0, causal, scale=scale)
        backward()
        theirs["cuDNN"] = [backward]
    except (RuntimeError, TypeError) as error:
        print(f"cuDNN: {str(error).splitlines()[0]}", file=sys.stderr)
    padded = -(-length // 64) * 64
    sums, products = empty(batches, heads, padded), empty(batches, heads, padded)
    dq32, dq, dk, dv = empty(*q.shape), torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    turns = torch.zeros(batches, heads, padded // 64, dtype=torch.int32, device="cuda")
    rows = module.attention_gradient_rows.specialize(d=d)
    # What the last head of queries gives to its keys is all that these get where no heads share keys.
    one = (slice(0, 1), slice(None), slice(heads - 1, heads))
    x, y = q[one][0, :, 0].double(), g[one][0, :, 0].double()
    a, b = k[0, :, -1].double(), v[0, :, -1].double()
    weights = x @ a.T * scale
    if causal:
        weights.masked_fill_(torch.ones_like(weights, dtype=torch.bool).triu(1), float("-inf"))
    weights = weights.softmax(1)
    exact_dv = weights.T @ y
    slopes = y @ b.T
    slopes = weights * (slopes - (weights * slopes).sum(1, keepdim=True)) * scale
    exact_dq, exact_dk = slopes @ a, slopes.T @ x
    del weights, slopes

    def errors(dq, dk, dv):
        """Of dq, dk and dv, of shape (batches, length, heads, d): of the first sequence and the last head."""
        yield worst(dq[0, :, -1], exact_dq)
        if key_heads == heads:
            yield worst(dk[0, :, -1], exact_dk)
            yield worst(dv[0, :, -1], exact_dv)

    # Early rows of a causal gradient are much larger than the root mean square, and so are their errors: what is allowed is what the peers have.
    allowed = max(error for launches in theirs.values() for error in errors(*(x.transpose(1, 2) for x in launches[0]()[:3])))
    ours, error = {}, 0.0
    variants = {"any order": {}, "ordered": dict(ordered=1)}
    for name, variant in variants.items():
        ordered = variant.get("ordered", 0)
        kernel = module.attention_gradient.specialize(d=d, causal=int(causal), **variant)

        def launch(kernel=kernel, ordered=ordered):
            rows(o, g, lse, sums, products, dq32)
            if ordered:
                turns.zero_()
            kernel(q, k, v, g, sums, products, dq32, dk, dv, turns, scale, 0)
            module.attention_gradient_queries(dq32.view(-1), dq.view(-1), scale)

        launch()
        error = max(error, *errors(dq, dk, dv))
        ours[name] = [launch]
        if ordered:
            before = dq.clone()
            launch()
            error = error if torch.equal(before, dq) else float("inf")
    tiles = cutec.load(folder.parent / "tile_attention_gradient.cute")
    delta = empty(batches, heads, length)
    counter = torch.zeros(2, device="cuda", dtype=torch.int32)
    of_rows = tiles.tile_attention_delta.specialize(d=d)
    of_keys, of_queries = (kernel.specialize(d=d, causal=causal) for kernel in (tiles.tile_attention_dkv, tiles.tile_attention_dq))

    def by_tiles():
        of_rows(o, g, delta)
        of_keys(q, k, v, g, lse, delta, dk, dv, scale, counter)
        of_queries(q, k, v, g, lse, delta, dq, scale, counter)

    by_tiles()
    error = max(error, *errors(dq, dk, dv))
    ours["tiles, ordered"] = [by_tiles]
    theirs = {{"FlashAttention-2": "eager", "cuDNN": "compiled"}[peer]: launches for peer, launches in theirs.items()}
    flop = 10.0 * batches * heads * length * length * d / (2 if causal else 1)
    name = f"attention gradient{', causal' if causal else ''} {batches} × {length} × {heads} (eager: FlashAttention-2, compiled: cuDNN)"
    print(f"{name}: errors of the peers {allowed:.1e}", file=sys.stderr)
    return Case(name, flop, "TFLOP/s", ours, theirs, error, max(3e-2, 1.25 * allowed))


def cases(folder: pathlib.Path):
    """Names and what makes them."""
    for center in (True, False):
        for m, n in ((32768, 1024), (16384, 2048), (8192, 4096), (16384, 4096), (8192, 8192)):
            name = f"{'LayerNorm' if center else 'RMSNorm'} gradient {m} × {n}"
            yield name, functools.partial(norms, folder, m, n, center)
    for m, n in ((8192, 4096), (8192, 8192)):
        for gradient in (False, True):
            yield f"dropout + residual + RMSNorm{' gradient' if gradient else ''} {m} × {n}", functools.partial(dropped, folder, m, n, gradient)
    yield "rotary", functools.partial(rotary, folder, 16384, 32, False)
    yield "rotary append", functools.partial(rotary, folder, 8192, 32, True)
    yield "rotary gradient", functools.partial(rotary_gradient, folder, 8192, 32)
    yield "kept logits", functools.partial(kept_logits, folder, 8192, 32768)
    for batches, length, heads in ((8, 4096, 80), (1, 16384, 80)):
        yield f"Mamba-2 {batches} × {length}", functools.partial(mamba2, folder, batches, length, heads)
    for batches, length, channels in ((8, 4096, 4096), (1, 4096, 4096)):
        yield f"selective scan {batches} × {length}", functools.partial(selective_scan, folder, batches, length, channels)
    yield "linear attention", functools.partial(linear_attention, folder, 8, 4096, 16)
    for d, biased in ((128, False), (128, True), (64, False), (64, True)):
        yield f"HSTU {d}", functools.partial(hstu, folder, [4096] * 8, 8, d, biased)
    for d, biased in ((128, False), (128, True), (64, False), (64, True)):
        yield f"HSTU gradient {d}", functools.partial(hstu_gradient, folder, [4096] * 8, 8, d, biased)
    yield "HSTU gradient jagged", functools.partial(hstu_gradient, folder, [200 + 487 * i % 3900 for i in range(16)], 8, 128, True)
    yield "HSTU jagged", functools.partial(hstu, folder, [200 + 487 * i % 3900 for i in range(16)], 8, 128, True)
    for length, d, causal in ((8192, 128, False), (8192, 128, True), (2048, 128, True), (8192, 64, False), (8192, 64, True)):
        name = f"attention gradient {length} {d}{' causal' if causal else ''}"
        yield name, functools.partial(attention_gradient, folder, 16384 // length, length, 2048 // d, 2048 // d, d, causal)
    for m, v, k in ((8192, 32768, 4096), (8192, 128256, 4096)):
        for gradient in (False, True):
            yield f"cross entropy{' gradient' if gradient else ''} {v}", functools.partial(cross_entropy, folder, m, v, k, gradient)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=str(HERE.parent.parent / "examples/sequence"))
    parser.add_argument("--only", default="", help="cases whose names hold one of these, between commas")
    parser.add_argument("--quick", action="store_true", help="five rounds")
    parser.add_argument("--compiled", action="store_true", help="torch.compile too, some seconds for each case")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    global with_compiled
    with_compiled = arguments.compiled
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}\n")
    print("| | ours | variant | copy | eager | compiled | error |\n|---|---|---|---|---|---|---|")
    rows, wrong = [], 0
    for name, make in cases(pathlib.Path(arguments.source)):
        if not any(text in name for text in arguments.only.split(",")):
            continue
        try:
            case = make()
            times = compare({**case.theirs, **case.ours}, rounds=5 if arguments.quick else 11)
        except Exception as error:  # noqa: BLE001: the others are to run too
            print(f"| {name} | failed: {str(error)[:300]} | | | | | |".replace("\n", " "), flush=True)
            wrong += 1
            torch.cuda.empty_cache()
            continue
        middle = {who: statistics.median(each) for who, each in times.items()}
        best = min(case.ours, key=middle.get)
        speed = case.work / middle[best] * (1e-6 if case.unit == "GB/s" else 1e-9)
        against = {peer: ratio(times, peer, best) for peer in case.theirs}
        right = case.error <= case.bound
        wrong += not right
        others = ", ".join(f"{who} {middle[who] * 1e3:.1f}" for who in case.ours)
        print(f"| {case.name} | {speed:.0f} {case.unit} | {best} | {against.get('copy', float('nan')):.3f} | {against.get('eager', float('nan')):.2f} | "
              f"{against.get('compiled', float('nan')):.2f} | {case.error:.1e}{'' if right else ' **wrong**'} | µs: {others}", flush=True)
        rows.append({"name": case.name, "speed": speed, "unit": case.unit, "variant": best, "error": case.error, **against})
        del case, times
        torch.cuda.empty_cache()
    save(rows, arguments.json)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
