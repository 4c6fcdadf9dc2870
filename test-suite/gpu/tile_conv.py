#!/usr/bin/env python3
"""The convolutions of examples/tile_conv.cute against cuDNN (through PyTorch), of images with channels first, on a GPU; and those of
examples/tile_conv_last.cute, of images in bf16 and tf32 with channels last, against the faster of cuDNN's with channels last and first.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/tile_conv.py [--source examples/tile_conv.cute] [--last examples/tile_conv_last.cute] [--only TEXT]
                                [--only-last [--arch sm_80] | --only-winograd | --only-filters]

With channels last, images of 3 channels have zeros as others, so that a pixel begins at 16 bytes, and the filters of a transposed
convolution are turned; both is done before, for cuDNN nothing is. Beside them runs the kernel of threads, examples/hopper/conv.cute, in bf16.

Each time of the former has the packing of the filters in it. f32 is exact on both sides. Operands are normal and exceed twice the L2 cache;
eager PyTorch, torch.compile and ours take turns (rounds.py), each a CUDA graph, and the ratio is that to the faster of the two, the median of those of 11
rounds. Convolutions without steps are done by Winograd's way too (examples/winograd.cute), in f32; that of the filters is in its time.
"""

import argparse
import pathlib
import statistics

import cutec
import torch
import torch.nn.functional as F
from rounds import compare, ratio

HERE = pathlib.Path(__file__).resolve().parent
TF32 = {"product": "plus_tf32", "outputs_last": False}

# Name, n, c, outputs, image, filter, arguments of PyTorch, transposed, parameters of all kernels, of f32, tf32 and bf16.
LAYERS = [
    ("3 > 96, 11 × 11, step 4", 256, 3, 96, (224, 224), (11, 11), {"stride": 4, "padding": 2}, False,
     {"step": (4, 4), "pad": (2, 2), "together": False, "bo": 96, "bp": 64}, {"bk": 16}, {"bk": 32}, {"bk": 32}),
    ("64 > 128, 3 × 3", 8, 64, 128, (512, 1024), (3, 3), {}, False, {}, {}, {"bk": 32, "bp": 256}, {"bk": 32, "bp": 256}),
    ("16 > 128, 3 × 3", 14, 16, 128, (1024, 1024), (3, 3), {}, False, {}, {}, {"bp": 64}, {"bp": 256}),
    ("transposed 64 > 128, 3 × 5", 64, 64, 128, (128, 256), (3, 5), {}, True,
     {"pad": (2, 4)}, {}, {"bk": 32, "bp": 256}, {"bk": 32, "bp": 256}),
    ("transposed 32 > 64, step 5", 16, 32, 64, (64, 128), (3, 3), {"stride": 5, "padding": 1, "dilation": 2}, True,
     {"step": (5, 5), "pad": (1, 1), "dilation": (2, 2)}, {"bp": 64}, {"bk": 32, "product": "plus_tf32"}, {"bk": 32}),
]


# Others without steps.
WINOGRAD = [
    ("256 > 256, 3 × 3", 32, 256, 256, (56, 56), (3, 3), {"padding": 1}, False),
    ("64 > 64, 3 × 3", 32, 64, 64, (224, 224), (3, 3), {"padding": 1}, False),
    ("128 > 128, 5 × 5", 16, 128, 128, (112, 112), (5, 5), {"padding": 2}, False),
]


# The same for channels last: name, n, c, outputs, image, filter, arguments of PyTorch, transposed; then channels with those that are
# zeros, of bf16 and of tf32, of which the best one counts.
LAST = [
    ("3 > 96, 11 × 11, step 4", 256, 3, 96, (224, 224), (11, 11), {"stride": 4, "padding": 2}, False, ((8, 16), (4, 8))),
    ("64 > 128, 3 × 3", 8, 64, 128, (512, 1024), (3, 3), {}, False, ((64,), (64,))),
    ("16 > 128, 3 × 3", 14, 16, 128, (1024, 1024), (3, 3), {}, False, ((16,), (16,))),
    ("transposed 64 > 128, 3 × 5", 64, 64, 128, (128, 256), (3, 5), {}, True, ((64,), (64,))),
    ("256 > 256, 3 × 3", 32, 256, 256, (56, 56), (3, 3), {"padding": 1}, False, ((256,), (256,))),
    ("512 > 512, 3 × 3, step 2", 32, 512, 512, (57, 57), (3, 3), {"stride": 2}, False, ((512,), (512,))),
]


def against_cudnn(launches, conv):
    """Milliseconds of ours and of the faster of two peers, and how much faster ours is; `launches` are ours, for each set of operands, and those."""
    compiled = torch.compile(conv)
    alternatives = {
        "ours": [ours for ours, _ in launches],
        "eager": [lambda operands=operands: conv(*operands) for _, operands in launches],
        "compiled": [lambda operands=operands: compiled(*operands) for _, operands in launches],
    }
    times = compare(alternatives, rounds=11)
    middle = {name: statistics.median(found) for name, found in times.items()}
    peer = min(("eager", "compiled"), key=middle.get)
    return middle["ours"], middle[peer], ratio(times, peer, "ours")


def by_winograd(source, only) -> int:
    """Those without steps, in f32. Returns how many are wrong."""
    module, wrong = cutec.load(source), 0
    torch.backends.cudnn.allow_tf32 = False
    for name, n, c, o, image, filters, options, transposed, *_ in LAYERS + WINOGRAD:
        if only not in name or pair(options.get("stride", 1)) != (1, 1):
            continue
        conv = F.conv_transpose2d if transposed else F.conv2d
        pad = pair(options.get("padding", 0))
        x = torch.randn(n, c, *image, device="cuda")
        f = torch.randn(*((c, o) if transposed else (o, c)), *filters, device="cuda") / (c * filters[0] * filters[1]) ** 0.5
        y = torch.full_like(conv(x, f, **options), float("nan"))
        down, across = (-(-extent // (9 - length)) for extent, length in zip(y.shape[2:], filters))
        tiles = -(-n * down * across // 4) * 4
        u, m = (torch.empty(64, o, columns, device="cuda") for columns in (c, tiles))
        v = torch.zeros(64, c, tiles, device="cuda")
        to_filters = module.winograd_filters.specialize(filter=filters, turned=transposed)
        own_pad = tuple(length - 1 - own for length, own in zip(filters, pad)) if transposed else pad
        to_images = module.winograd_images.specialize(filter=filters, pad=own_pad)
        to_outputs = module.winograd_outputs.specialize(filter=filters)

        def ours():
            to_filters(f, u)
            to_images(x, v)
            module.winograd_products(u, v, m)
            to_outputs(m, y)

        ours()
        error = 0.0
        for at in (0, n - 1):
            exact = conv(x[at : at + 1].double(), f.double(), **options)
            error = max(error, ((y[at] - exact[0]).abs().max() / exact.abs().max()).item())
        ms, peer, faster = against_cudnn([(ours, (x, f))], lambda x, f: conv(x, f, **options))
        wrong += not error < 1e-4
        print(f"| {name} | f32, Winograd | {peer:.3f} | {ms:.3f} | {faster:.2f} | {error:.1e} |", flush=True)
        del x, f, y, u, v, m, exact
        torch.cuda.empty_cache()
    return wrong


def pair(value) -> tuple[int, int]:
    """A number for both modes of pixels."""
    return value if isinstance(value, tuple) else (value, value)


def variants_of(kind, c, o, filters, step, pad, arch):
    """Kernels of examples/tile_conv_last.cute with their parameters, of which the best one counts."""
    width = 64 if kind == "bf16" else 32
    common = {"filter": filters, "step": step, "pad": pad, **({} if kind == "bf16" else {"t": "tf32", "u": "f32"})}
    # Of sm_80: rows, outputs, columns and stages.
    by_threads = [(128, 128, 1, 3), (256, 128, 1, 3), (128, 256, 1, 3), (256, 128, 0.5, 4), (128, 128, 0.5, 4), (128, 64, 1, 4), (256, 64, 1, 4), (128, 96, 1, 3)]
    tiles = [(256, 128, 1), (128, 128, 1), (128, 256, 1), (256, 64, 1), (128, 64, 1), (128, 96, 1), (256, 96, 1), (64, 128, 2), (64, 96, 2), (64, 64, 2), (64, 256, 1)]
    # Columns that no output has are wasted; half as many again are tolerable.
    fits = lambda bo: bo * -(-o // bo) < 1.5 * o
    if arch == "sm_80":
        for bp, bo, part, stages in by_threads:
            bk = int(width * part)
            if fits(bo):
                few = {"channels": c} if c < bk else {}
                yield "conv2d_few" if few else "conv2d_last", {**common, **few, "bp": bp, "bo": bo, "bk": bk, "stages": stages, "group": 8, "blocks": 1}
        return
    for bp, bo, blocks in tiles:
        if not fits(bo):
            continue
        for group in (1, 8) if o > bo else (8,):
            tile = {"bp": bp, "bo": bo, "group": group, "blocks": blocks, "stages": 8 if blocks == 1 else 3}
            if c < width:
                yield "conv2d_few", {**common, **tile, "channels": c, "bk": width}
            else:
                yield "conv2d_last", {**common, **tile, "bk": width}


def channels_last(source, of_threads, only, arch) -> int:
    """Those whose channels lie side by side, filters too. Returns how many are wrong."""
    module, threads, wrong = cutec.load(source, arch=arch), cutec.load(of_threads), 0
    torch.backends.cudnn.benchmark = True
    for name, n, c, o, image, filters, options, transposed, padded in LAST:
        if only not in name:
            continue
        for kind, widths, bound in zip(("bf16", "tf32"), padded, (1.2e-2, 4e-3)):
            t = torch.bfloat16 if kind == "bf16" else torch.float32
            torch.backends.cudnn.allow_tf32 = False
            conv = F.conv_transpose2d if transposed else F.conv2d
            step, pad = pair(options.get("stride", 1)), pair(options.get("padding", 0))
            x32 = torch.randn(n, c, *image, device="cuda")
            f32 = torch.randn(*((c, o) if transposed else (o, c)), *filters, device="cuda") / (c * filters[0] * filters[1]) ** 0.5
            x, f = x32.to(t), f32.to(t)
            expected = conv(x.float(), f.float(), **options)
            by_output, own_pad = f, pad
            if transposed:
                by_output, own_pad = f.transpose(0, 1).flip(2, 3), (filters[0] - 1, filters[1] - 1)
            padded_to = lambda of, width: F.pad(of, (0, 0, 0, 0, 0, width - c)).permute(0, 2, 3, 1).contiguous()
            images = {width: padded_to(x, width) for width in widths}
            all_filters = {width: padded_to(by_output, width) for width in widths}
            y = torch.full((n, *expected.shape[2:], o), float("nan"), dtype=t, device="cuda")
            torch.backends.cudnn.allow_tf32 = kind == "tf32"
            last = [of.contiguous(memory_format=torch.channels_last) for of in (x, f)]
            alternatives = {
                "cuDNN, channels last": [lambda: conv(*last, **options)],
                "cuDNN, channels first": [lambda: conv(x, f, **options)],
            }
            choices = [(width, *choice) for width in widths for choice in variants_of(kind, width, o, filters, step, own_pad, arch)]
            for width, kernel, parameters in choices:
                pixels, weights = images[width], all_filters[width]
                special = getattr(module, kernel).specialize(**parameters)
                matrix = weights.flatten(1) if kernel == "conv2d_few" else weights
                shown = " ".join([f"c {width}"] + [f"{key} {parameters[key]}" for key in ("bp", "bo", "bk", "blocks", "group")])
                launch = lambda special=special, pixels=pixels, matrix=matrix: special(pixels, matrix, y.view(-1, o))
                try:
                    special.compile(pixels, matrix, y.view(-1, o))
                except Exception as error:  # a tile that does not fit
                    print(f"<!-- {shown}: {str(error).splitlines()[0]} -->")
                    continue
                alternatives[f"tiles {shown}"] = [launch]
            square = len(set(own_pad)) == len(set(step)) == len(set(filters)) == 1
            if kind == "bf16" and square and arch == "native":
                pixels, weights = images[max(widths)], all_filters[max(widths)]
                for tile in ({}, {"bm": 256}, {"bm": 128, "bn": 256}, {"schedule": "sm90_pingpong"}):
                    few = {"bc": 32} if max(widths) <= 32 else {}
                    special = threads.conv2d.specialize(r=filters[0], pad=own_pad[0], step=step[0], **few, **tile)
                    alternatives[f"threads {tile}"] = [lambda special=special, pixels=pixels, weights=weights: special(pixels, weights, y)]
            errors = {}
            for which, launches in alternatives.items():
                if which.startswith("cuDNN"):
                    continue
                y.fill_(float("nan"))
                launches[0]()
                errors[which] = ((y.permute(0, 3, 1, 2).float() - expected).abs().max() / expected.abs().max()).item()
                if not errors[which] < bound:
                    print(f"<!-- {name}, {kind}, {which}: error {errors[which]:.1e} -->")
                    wrong += 1
            times = compare(alternatives, rounds=7)
            middle = {which: statistics.median(found) for which, found in times.items()}
            best = lambda prefix: min((which for which in middle if which.startswith(prefix)), key=middle.get, default=None)
            peer, ours, hand = best("cuDNN"), best("tiles"), best("threads")
            beside = "" if hand is None else f" {hand}: {middle[hand]:.3f} ms, {ratio(times, peer, hand):.2f}"
            print(f"| {name}, {peer.removeprefix('cuDNN, ')} | {kind} | {middle[peer]:.3f} | {middle[ours]:.3f} | {ratio(times, peer, ours):.2f} "
                  f"| {errors[ours]:.1e} | {ours};{beside}", flush=True)
            del x32, f32, x, f, expected, images, all_filters, pixels, weights, y, last, alternatives
            torch.cuda.empty_cache()
    return wrong


# Gradients of filters without steps, channels last: name, n, c, outputs, image, filter, pad.
FILTERS = [
    ("64 > 128, 3 × 3", 8, 64, 128, (512, 1024), (3, 3), (1, 1)),
    ("16 > 128, 3 × 3", 14, 16, 128, (1024, 1024), (3, 3), (1, 1)),
    ("64 > 128, 3 × 5", 64, 64, 128, (128, 256), (3, 5), (1, 2)),
    ("256 > 256, 3 × 3", 32, 256, 256, (56, 56), (3, 3), (1, 1)),
    ("512 > 512, 3 × 3", 32, 512, 512, (28, 28), (3, 3), (1, 1)),
    ("128 > 512, 1 × 1", 64, 128, 512, (56, 56), (1, 1), (0, 0)),
]


def gradients_of_filters(source, only) -> int:
    """Of convolutions in bf16. Returns how many are wrong."""
    module, wrong = cutec.load(source), 0
    torch.backends.cudnn.benchmark = True
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    for name, n, c, o, image, filters, pad in FILTERS:
        if only not in name:
            continue
        x, w = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in ((n, c, *image), (o, c, *filters)))
        dy = torch.randn_like(F.conv2d(x, w, padding=pad))
        gradient = lambda dy, x, w: torch.ops.aten.convolution_backward(
            dy, x, w, None, [1, 1], list(pad), [1, 1], False, [0, 0], 1, [False, True, False])[1]
        last = [of.contiguous(memory_format=torch.channels_last) for of in (dy, x, w)]
        expected = gradient(*(of.float() for of in (dy, x, w)))
        alternatives = {
            "cuDNN, channels last": [lambda: gradient(*last)],
            "cuDNN, channels first": [lambda: gradient(dy, x, w)],
        }
        df = torch.zeros(o, filters[0] * filters[1], c, device="cuda")
        wide, volume = min(64, c), lambda of: of.unsqueeze(2)
        together = next(count for count in (4, 3, 5, 2, 1) if filters[1] % count == 0)
        errors = {}
        for rows in (128, 256):
            for tile in ((8, 8), (4, 16), (16, 4)):
                for waves in (1, 2, 3):
                    tiles = -(-o // rows) * -(-c // wide) * filters[0] * filters[1] // together
                    parts = max(1, waves * multiprocessors // tiles)
                    kernel = module.conv3d_filters_last.specialize(filter=(1, *filters), pad=(0, *pad), bo=rows, bc=wide, bh=tile[0], bw=tile[1])
                    which = f"bo {rows} bh {tile[0]} bw {tile[1]} parts {parts}"

                    def launch(kernel=kernel, parts=parts):
                        df.zero_()
                        kernel(volume(last[1]), volume(last[0]), df, parts)

                    launch()
                    found = df.view(o, *filters, c).permute(0, 3, 1, 2)
                    errors[which] = ((found - expected).abs().max() / expected.abs().max()).item()
                    if not errors[which] < 4e-3:
                        print(f"<!-- {name}, {which}: error {errors[which]:.1e} -->")
                        wrong += 1
                    alternatives[which] = [launch]
        times = compare(alternatives, rounds=7)
        middle = {which: statistics.median(found) for which, found in times.items()}
        best = lambda cudnn: min((which for which in middle if which.startswith("cuDNN") == cudnn), key=middle.get)
        peer, ours = best(True), best(False)
        print(f"| {name}, {peer.removeprefix('cuDNN, ')} | bf16 | {middle[peer]:.3f} | {middle[ours]:.3f} | {ratio(times, peer, ours):.2f} "
              f"| {errors[ours]:.1e} | {ours}", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=str(HERE.parent.parent / "examples/tile_conv.cute"))
    parser.add_argument("--last", default=str(HERE.parent.parent / "examples/tile_conv_last.cute"))
    parser.add_argument("--only", default="")
    parser.add_argument("--only-last", action="store_true")
    parser.add_argument("--arch", default="native", help="what those with channels last are compiled for")
    parser.add_argument("--only-winograd", action="store_true")
    parser.add_argument("--only-filters", action="store_true", help="the gradients of filters")
    arguments = parser.parse_args()
    module = cutec.load(arguments.source)
    print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}\n")
    print("| layer | type | cuDNN ms | cutec ms | ratio | error |\n|---|---|---|---|---|---|")
    examples = HERE.parent.parent / "examples"
    if arguments.only_filters:
        return 1 if gradients_of_filters(arguments.last, arguments.only) else 0
    wrong = 0 if arguments.only_last else by_winograd(examples / "winograd.cute", arguments.only)
    if arguments.only_winograd:
        return 1 if wrong else 0
    torch.backends.cudnn.allow_tf32 = False
    if not arguments.only_last:
        torch.backends.cudnn.allow_tf32 = False
        wrong += gradients_of_filters(arguments.last, arguments.only)
    wrong += channels_last(arguments.last, str(examples / "hopper/conv.cute"), arguments.only, arguments.arch)
    torch.backends.cudnn.benchmark = False
    for name, n, c, o, image, filters, options, transposed, common, *each in LAYERS:
        if arguments.only_last or arguments.only not in name:
            continue
        conv = F.conv_transpose2d if transposed else F.conv2d
        stepped = transposed and options.get("stride", 1) != 1
        x32 = torch.randn(n, c, *image, device="cuda")
        elements = filters[0] * filters[1]
        f32 = torch.randn(*((c, o) if transposed else (o, c)), *filters, device="cuda") / (c * elements) ** 0.5
        torch.backends.cudnn.allow_tf32 = False
        expected = conv(x32, f32, **options)
        for kind, own, bound in zip(("f32", "tf32", "bf16"), each, (1e-5, 4e-3, 1.2e-2)):
            t = torch.bfloat16 if kind == "bf16" else torch.float32
            x, f, y = x32.to(t), f32.to(t), torch.full(expected.shape, float("nan"), dtype=t, device="cuda")
            torch.backends.cudnn.allow_tf32 = kind == "tf32"
            parameters = {"bk": 16, **common, **own, **({"t": "bf16"} if kind == "bf16" else {})}
            if kind == "tf32" and not stepped:
                parameters |= TF32
            bk, together, outputs_last = parameters["bk"], parameters.get("together", True), parameters.get("outputs_last", True)
            rows = -(-c // bk) * bk * elements if together else -(-c * elements // bk) * bk
            packed = torch.empty((rows, o) if outputs_last else (o, rows), dtype=t, device="cuda")
            pack = module.pack.specialize(
                t=parameters.get("t", "f32"), filter=filters, bk=bk, together=together, outputs_last=outputs_last,
                of_inputs=transposed, turned=transposed and not stepped)
            kernel = (module.conv2d_transposed if stepped else module.conv2d).specialize(filter=filters, **parameters)
            by_output = f.flatten(2).transpose(0, 1) if transposed else f.flatten(2)

            def ours(x=x, by_output=by_output, packed=packed, y=y, pack=pack, kernel=kernel):
                pack(by_output, packed)
                kernel(x, packed, y)

            ms, peer, faster = against_cudnn([(ours, (x, f))], lambda x, f: conv(x, f, **options))
            error = ((y.float() - expected).abs().max() / expected.abs().max()).item()
            wrong += not error < bound
            print(f"| {name} | {kind} | {peer:.3f} | {ms:.3f} | {faster:.2f} | {error:.1e} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
