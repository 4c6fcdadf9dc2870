#!/usr/bin/env python3
"""Compares what the simulator counts with what Nsight Compute counts, for the same PTX on the same arguments.

    counters.py FOLDER      (the kernels that CASES names, compiled into it: cutec examples/NAME.cute -o FOLDER/NAME.ptx)

Needs a GPU, `ncu`, and in FOLDER or on the path `cutec-sim` and `cutec-launch`. Prints a table in Markdown;
exit code 1 where a count differs.
"""
import csv
import io
import json
import os
import shutil
import subprocess
import sys

# Sizes such that every tile is whole.
CASES = [
    ("relu", ["x=normal:1024x4096", "y=zeros:1024x4096"]),
    ("matmul_naive", ["a=normal:256x256", "b=normal:256x256", "c=zeros:256x256"]),
    ("sgemm_tiled", ["a=normal:256x256", "b=normal:256x256", "c=zeros:256x256"]),
    ("sgemm_padded", ["a=normal:256x256", "b=normal:256x256", "c=zeros:256x256"]),
    ("gemm_1_base", ["a=normal:512x1024", "b=normal:512x1024", "c=zeros:512x512"]),
    ("gemm", ["a=normal:512x1024", "b=normal:512x1024", "c=zeros:512x512"]),
]

# What is compared: name, what of the simulator's instructions, metric of Nsight Compute. The wavefronts of
# `smsp__sass` are those of the instruction alone; `l1tex__data_pipe` adds cycles in which others had the banks.
ROWS = [
    ("bank passes of loads", ("wavefronts", ["ld.shared"]),
     "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    ("bank passes of ldmatrix", ("wavefronts", ["ldmatrix"]),
     "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum"),
    ("bank passes of stores", ("wavefronts", ["st.shared"]),
     "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    ("bank passes of cp.async", ("wavefronts", ["cp.async"]),
     "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"),
    ("sectors of loads and cp.async", ("sectors", ["ld.global", "cp.async"]),
     "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("requests of loads and cp.async", ("global_requests", ["ld.global", "cp.async"]),
     "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ("sectors of stores", ("sectors", ["st.global"]), "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    ("requests of stores", ("global_requests", ["st.global"]), "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    ("cp.async", ("executed", ["cp.async.ca", "cp.async.cg"]), "smsp__inst_executed_op_ldgsts.sum"),
    ("ldmatrix", ("executed", ["ldmatrix"]), "smsp__inst_executed_op_ldsm.sum"),
    ("mma", ("executed", ["mma.sync"]), "sm__inst_executed_pipe_tensor_op_hmma.sum"),
]


def program(folder, name):
    beside = os.path.join(folder, name)
    return beside if os.access(beside, os.X_OK) else shutil.which(name) or sys.exit(f"no {name}")


def simulated(folder, ptx, arguments):
    command = [program(folder, "cutec-sim"), ptx, "--json"]
    command += [part for argument in arguments for part in ("--arg", argument)]
    launches = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    totals = []
    for launch in launches:
        for instruction in launch["instructions"]:
            words = instruction["text"].split()
            words = words[1:] if words[0].startswith("@") else words
            totals.append((words[0], instruction["counts"]))
    return totals


def measured(folder, ptx, arguments):
    metrics = ",".join(metric for _, _, metric in ROWS)
    command = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--metrics", metrics, "-c", "1",
               program(folder, "cutec-launch"), ptx, "--device", "cuda"]
    command += [part for argument in arguments for part in ("--arg", argument)]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    lines = [line for line in output.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    if len(rows) < 2:
        sys.exit(f"ncu measured nothing of {ptx}:\n{output}")
    return rows[1]


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    wrong = 0
    print("| kernel | count | simulator | Nsight Compute | |\n|---|---|---|---|---|")
    for name, arguments in CASES:
        ptx = os.path.join(folder, f"{name}.ptx")
        if not os.path.exists(ptx):
            continue
        ours, theirs = simulated(folder, ptx, arguments), measured(folder, ptx, arguments)
        for label, (count, prefixes), metric in ROWS:
            found = sum(counts[count] for text, counts in ours if any(text.startswith(p) for p in prefixes))
            expected = number(theirs.get(metric, ""))
            if expected is None:
                print(f"| {name} | {label} | {found} | not measured | |")
            elif found or (expected and label != "mma"):
                # Conversions of f32 to f16 are counted on the tensor pipe too.
                wrong += found != expected
                print(f"| {name} | {label} | {found} | {expected:.0f} | {'' if found == expected else 'differs'} |")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
