#!/usr/bin/env python3
"""Runs PTX that other compilers make in the simulator, with an ABI written by hand, and compares with NumPy.

    run.py FOLDER CUTEC_SIM cute-dsl EXAMPLES     products of NVIDIA's CuTe DSL for sm_90a
    run.py FOLDER CUTEC_SIM triton                a product by TMA that Triton compiles for sm_90a
    run.py FOLDER PTXAS cubins EXAMPLES N ...     the CuTe DSL's persistent products of n × n matrices, for cutec-bench

EXAMPLES is `examples/python/CuTeDSL/cute/hopper/kernel/dense_gemm` of github.com/NVIDIA/cutlass. No GPU is needed, but a
Python with NumPy and `nvidia-cutlass-dsl`, or `triton`. FOLDER gets the PTX, which is made anew each time: its licence
forbids to hand it on. A line for each kernel says whether its result is right, and what `--check` reports. Exit code 1 where
one is wrong, or where another one is reported than `REPORTED` has. `cubins` runs nothing: it makes machine code with ABIs
beside it, and `plan.json`, of which `cutec-bench` makes a table beside cuBLAS on a GPU.
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

M, N, K = (int(extent) for extent in os.environ.get("PRODUCT", "512 512 320").split())
# Blocks that stay: four in the simulator, one on each multiprocessor of a GPU.
BLOCKS = int(os.environ.get("BLOCKS", "4"))
SCHEDULES = 3
# What `--check` reports, by the name of the kernel, where the ISA is on our side.
# The persistent product writes zeros into its accumulators between `wgmma.fence` and the first `wgmma`, and has it add to
# them; PTX ISA 9.7.15.7.1 wants the fence behind all other accesses to the registers.
REPORTED = {f"dense_gemm_persistent_{cluster}": "wgmma without wgmma.fence" for cluster in ("1x1", "2x1", "1x2")}


def cute_dsl(folder, examples, names=("dense_gemm", "dense_gemm_persistent")):
    """Kernels of the examples: name, PTX, ABI."""
    cases = [(example, cluster) for example in names for cluster in ((1, 1), (2, 1), (1, 2))]
    for example, cluster in cases:
        name = f"{example}_{cluster[0]}x{cluster[1]}"
        kept = folder / name
        kept.mkdir(parents=True, exist_ok=True)
        for old in kept.glob("*.ptx"):
            old.unlink()
        # The DSL reads the folder from the environment once.
        subprocess.run([sys.executable, __file__, "one", kept, examples / f"{example}.py", *map(str, cluster)], check=True)
        (ptx,) = kept.glob("*.ptx")
        tile, persistent = (128, 256), example.endswith("persistent")
        rows, columns = M // tile[0] // cluster[0], N // tile[1] // cluster[1]
        values = {}
        if persistent:
            # Extents of the tiles' grid, to divide by.
            values = {4: divisor(rows), 5: divisor(columns)}
            grid = (*cluster, max(1, BLOCKS // (cluster[0] * cluster[1])))
        else:
            grid = (rows * cluster[0], columns * cluster[1], 1)
        # In a cluster each block loads its part of what its neighbours need too.
        boxes = [(64, tile[0] // cluster[1]), (64, tile[1] // cluster[0]), (32, tile[0])]
        # The launch says how large clusters are, which the ABI leaves to the PTX.
        text = re.sub(r"(\.reqntid[^\n]*\n)", rf"\1.explicitcluster\n.reqnctapercluster {cluster[0]}, {cluster[1]}, 1\n", ptx.read_text())
        yield kernel(name, text, boxes, (128, 128, 64), values, grid, 232448 - 1024)


def cute_dsl_one(kept, example, cluster):
    os.environ.update(CUTE_DSL_ARCH="sm_90a", CUTE_DSL_KEEP_PTX="1", CUTE_DSL_DUMP_DIR=str(kept))
    import cuda.bindings.driver as cuda
    import cutlass
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_compact_tensor

    spec = importlib.util.spec_from_file_location("example", example)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tensors = [make_fake_compact_tensor(cutlass.BFloat16, (*shape, 1), stride_order=(1, 0, 2), assumed_align=16)
               for shape in ((M, K), (N, K), (M, N))]
    stream = cuda.CUstream(0)
    if hasattr(module, "HopperWgmmaGemmPersistentKernel"):
        product = module.HopperWgmmaGemmPersistentKernel(cutlass.Float32, (128, 256), cluster, 1, True)
        cute.compile(product, *tensors, max(1, BLOCKS // (cluster[0] * cluster[1])), stream)
    else:
        product = module.HopperWgmmaGemmKernel(cutlass.Float32, (128, 256), cluster)
        cute.compile(product, *tensors, stream)


def divisor(number):
    """Fields of what the DSL divides by: the number, a multiplier and two shifts (Granlund and Montgomery 1994)."""
    bits = (number - 1).bit_length()
    multiplier = (1 << 32) * ((1 << bits) - number) // number + 1
    return {0: number, 4: multiplier, 8: min(bits, 1) | max(bits - 1, 0) << 8}


def triton(folder):
    import triton as compiler
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    spec = importlib.util.spec_from_file_location("products", pathlib.Path(__file__).with_name("triton_products.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for warps, stages in ((4, 3), (8, 4)):
        tile = {"BM": 128, "BN": 128, "BK": 64}
        descriptors = {"a": "[128, 64]", "b": "[128, 64]", "c": "[128, 128]"}
        signature = {name: f"tensordesc<bf16{box}>" for name, box in descriptors.items()}
        signature |= {"K": "i32"} | {name: "constexpr" for name in tile}
        target = GPUTarget("cuda", 90, 32)
        options = {"num_warps": warps, "num_stages": stages}
        compiled = compiler.compile(ASTSource(module.product, signature, constexprs=tile), target=target, options=options)
        name = f"triton_{warps}_warps_{stages}_stages"
        # Five parameters for each descriptor: the map, two extents and two strides.
        ptx, boxes = compiled.asm["ptx"], [meta["block_size"][::-1] for meta in compiled.metadata.tensordesc_meta]
        boxes = [(min(box[0], 64), box[1]) for box in boxes]
        yield kernel(name, ptx, boxes, (128, 128, 128), {15: {0: K}}, (M // 128, N // 128, 1), compiled.metadata.shared)


def kernel(name, ptx, boxes, swizzles, values, grid, shared):
    """PTX and ABI: of the parameters those stay that are used. Fields of others, by the parameter's number and the offset,
    become numbers of the ABI."""
    entry = re.search(r"\.entry\s+(\w+)", ptx)[1]
    ptx = ptx.replace(entry, "k")
    head, rest = ptx.split("(", 1)
    declared, body = rest.split(")", 1)
    parameters = [line.strip().rstrip(",") for line in declared.split("\n") if line.strip()]
    kept, params, args, call, maps = [], [], [], [], 0
    for index, (argument, rows, columns) in enumerate((("a", M, K), ("b", N, K), ("c", M, N))):
        args.append({"kind": "tensor", "name": argument, "dtype": "bf16", "mutable": index == 2, "align": 16,
                     "extents": [{"static": rows}, {"static": columns}], "strides": [{"const": columns}, {"const": 1}]})
    for number, text in enumerate(parameters):
        parameter = f"k_param_{number}"
        if "[128]" in text:
            kept.append(text)
            params.append({"tensor_map": {"index": maps}})
            maps += 1
        for offset, value in values.get(number, {}).items():
            field = f"{parameter}_at_{offset}"
            body = re.sub(rf"\[{parameter}{'' if offset == 0 else rf'[+]{offset}'}\]", f"[{field}]", body)
            kept.append(f".param .u32 {field}")
            value = value - (1 << 32) if value >= 1 << 31 else value
            args.append({"kind": "scalar", "name": field, "dtype": "i32"})
            params.append({"scalar": {"arg": len(args) - 1}})
            call += ["--arg", f"{field}={value}"]
        if "[128]" not in text and re.search(rf"\b{parameter}\b", body):
            sys.exit(f"{name}: a parameter that nothing is known of: {text}")
    tensor_maps = [{"arg": index, "order": [1, 0], "box": list(box), "swizzle": swizzle, "l2_promotion": 128,
                    "oob_fill": "zeros"} for index, (box, swizzle) in enumerate(zip(boxes, swizzles))]
    threads = int(re.search(r"\.(?:reqntid|maxntid)\s+(\d+)", body)[1])
    abi = {"cutec_abi": 1, "kernels": [{
        "name": "k", "entry": "k", "target": "sm_90a", "source": name, "args": args, "symbols": [],
        "tensor_maps": tensor_maps, "params": params, "promises": [], "grid": [{"const": extent} for extent in grid],
        "block": [{"const": threads}, {"const": 1}, {"const": 1}], "smem_bytes": shared}]}
    return name, head + "(\n" + ",\n".join(kept) + "\n)" + body, abi, call


def run(folder, simulator, name, ptx, abi, call):
    """Whether the result is right, and what is reported."""
    import numpy as np
    path, interface = folder / f"{name}.ptx", folder / f"{name}.json"
    path.write_text(ptx)
    interface.write_text(json.dumps(abi))
    out = {argument: folder / f"{name}.{argument}.npy" for argument in "abc"}
    command = [simulator, path, "--abi", interface, "--arg", f"a=normal:{M}x{K}", "--arg", f"b=normal:{N}x{K}", *call]
    for argument, file in out.items():
        command += ["--out", f"{argument}={file}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    a, b, c = ((np.load(out[argument]).view("u2").astype("u4") << 16).view("f4").astype("f8") for argument in "abc")
    exact = a @ b.T
    right = bool((abs(c - exact) <= 2.0**-8 * abs(exact) + 1e-3 * K**0.5).all())
    check = subprocess.run([*command, "--check", "--schedules", str(SCHEDULES)], capture_output=True, text=True, check=False)
    report = "" if check.returncode == 0 else check.stderr.strip().split("\n")[0]
    return right, report


def cubins(folder, ptxas, examples, size):
    """The persistent products of one size: cases of a plan."""
    for name, ptx, abi, call in cute_dsl(folder, examples, ("dense_gemm_persistent",)):
        path = folder / f"{name}_{size}"
        path.with_suffix(".ptx").write_text(ptx)
        subprocess.run([ptxas, "-arch=sm_90a", path.with_suffix(".ptx"), "-o", path.with_suffix(".cubin")], check=True)
        path.with_suffix(".abi.json").write_text(json.dumps(abi))
        scalars = {key: int(value) for key, value in (text.split("=") for text in call[1::2])}
        yield {"file": f"{path.name}.cubin", "kernel": "k", "label": f"CuTe DSL {name}", "matmul": {"b_is": "nk"},
               "sizes": [[size] * 3], "scalars": scalars}


def main():
    match sys.argv[1:]:
        case ["one", kept, example, rows, columns]:
            return cute_dsl_one(kept, example, (int(rows), int(columns)))
        case [folder, ptxas, "cubins", examples]:
            return print(json.dumps(list(cubins(pathlib.Path(folder), ptxas, pathlib.Path(examples), M))))
        case [folder, ptxas, "cubins", examples, *sizes]:
            cases = []
            for size in sizes:
                # The extents are this program's.
                environment = os.environ | {"PRODUCT": f"{size} {size} {size}", "BLOCKS": "132"}
                command = [sys.executable, __file__, folder, ptxas, "cubins", examples]
                made = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
                cases += json.loads(made.strip().split("\n")[-1])
            pathlib.Path(folder, "plan.json").write_text(json.dumps({"cases": cases}, indent=1))
            return 0
        case [folder, simulator, "cute-dsl", examples]:
            folder = pathlib.Path(folder)
            kernels = cute_dsl(folder, pathlib.Path(examples))
        case [folder, simulator, "triton"]:
            folder = pathlib.Path(folder)
            folder.mkdir(parents=True, exist_ok=True)
            kernels = triton(folder)
        case _:
            sys.exit(__doc__)
    wrong = 0
    for name, *rest in kernels:
        right, report = run(folder, simulator, name, *rest)
        print(f"{name}: {'right' if right else 'WRONG'}; {report or 'nothing reported'}", flush=True)
        wrong += not (right and re.search(REPORTED.get(name, "^$"), report))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
