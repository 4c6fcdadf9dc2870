#!/usr/bin/env python3
"""The convolutions of examples/tile_conv.cute against cuDNN (through PyTorch), of images with channels first, on a GPU; and those of
examples/tile_conv_last.cute, of images in bf16 with channels last.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/tile_conv.py [--source examples/tile_conv.cute] [--last examples/tile_conv_last.cute] [--only TEXT]

Each time of the former has the packing of the filters in it. f32 is exact on both sides. Operands are normal and exceed twice the L2 cache;
eager PyTorch, torch.compile and ours take turns (rounds.py), each a CUDA graph, and the ratio is that to the faster of the two, the median of those of 11
rounds.
"""

import argparse
import pathlib
import statistics

import cutec
import torch
import torch.nn.functional as F
from rounds import compare, normal, ratio, sets

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


# The same for channels last: name, n, c, outputs, image, filter, arguments of PyTorch, parameters.
LAST = [
    ("64 > 128, 3 × 3, channels last", 8, 64, 128, (512, 1024), (3, 3), {}, {}),
    ("256 > 256, 3 × 3, channels last", 32, 256, 256, (56, 56), (3, 3), {"padding": 1}, {"pad": (1, 1)}),
    ("512 > 512, 3 × 3, step 2, channels last", 32, 512, 512, (57, 57), (3, 3), {"stride": 2}, {"step": (2, 2)}),
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


def channels_last(source, only) -> int:
    """Those of bf16 whose channels lie side by side, filters too. Returns how many are wrong."""
    module, wrong = cutec.load(source), 0
    for name, n, c, o, image, filters, options, parameters in LAST:
        if only not in name:
            continue
        bytes_of_one = 2 * n * (c + o) * image[0] * image[1]
        operands = []
        for _ in range(sets(bytes_of_one)):
            x, f = normal(n, c, *image), (normal(o, c, *filters) / (c * filters[0] * filters[1]) ** 0.5)
            operands.append(tuple(y.contiguous(memory_format=torch.channels_last) for y in (x, f)))
        expected = F.conv2d(operands[0][0].float(), operands[0][1].float(), **options)
        for bo in (128, 256):
            kernel = module.conv2d_last.specialize(filter=filters, bo=bo, **parameters)
            launches, results = [], []
            for x, f in operands:
                y = torch.full(expected.shape, float("nan"), dtype=torch.bfloat16, device="cuda")
                results.append(y.contiguous(memory_format=torch.channels_last))
                views = [view.permute(0, 2, 3, 1) for view in (x, f, results[-1])]
                launches.append((lambda views=views: kernel(*views), (x, f)))
            ms, peer, faster = against_cudnn(launches, lambda x, f: F.conv2d(x, f, **options))
            error = ((results[0].float() - expected).abs().max() / expected.abs().max()).item()
            wrong += not error < 1.2e-2
            print(f"| {name}, {bo} outputs a tile | bf16 | {peer:.3f} | {ms:.3f} | {faster:.2f} | {error:.1e} |", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", default=str(HERE.parent.parent / "examples/tile_conv.cute"))
    parser.add_argument("--last", default=str(HERE.parent.parent / "examples/tile_conv_last.cute"))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    module = cutec.load(arguments.source)
    print(f"{torch.cuda.get_device_name()}, cuDNN {torch.backends.cudnn.version()}\n")
    print("| layer | type | cuDNN ms | cutec ms | ratio | error |\n|---|---|---|---|---|---|")
    torch.backends.cudnn.allow_tf32 = False
    wrong = channels_last(arguments.last, arguments.only)
    for name, n, c, o, image, filters, options, transposed, common, *each in LAYERS:
        if arguments.only not in name:
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
