#!/usr/bin/env python3
"""Between `cutec tune` and `cutec-bench`, for tune.sh.

tune_table.py FOLDER CUTEC FILE ARCH    compiles what the plans in FOLDER choose, and the defaults, and writes tuned.json,
                                        a plan of cutec-bench
tune_table.py FOLDER --results          prints what cutec-bench found: tuned beside the defaults, both beside cuBLAS
"""

import json
import pathlib
import subprocess
import sys

WANTED = 1.3


def sizes(folder):
    """Kernel, size as [m, n, k], chosen parameters and what the search found, of all plans."""
    for kernel in ["gemm", "sgemm"]:
        plan = json.loads((folder / f"{kernel}.plan.json").read_text())
        for found in plan["kernels"]:
            for size in found["sizes"]:
                extents = dict(zip(found["symbols"], size["extents"]))
                yield found["kernel"], [extents[name] for name in "mnk"], size


def compile_all(folder, cutec, file, arch):
    cases = []
    for kernel, size, found in sizes(folder):
        name = f"{kernel}_" + "x".join(map(str, size))
        for label, parameters in [("defaults", {}), ("tuned", found["chosen"])]:
            path = f"{name}.{label}.ptx"
            defines = [word for pair in parameters.items() for word in ("-D", "=".join(pair))]
            command = [cutec, file, "--kernel", kernel, "--arch", arch, *defines, "-o", str(folder / path)]
            subprocess.run(command, check=True)
            case = {"file": path, "kernel": kernel, "label": f"{kernel} {label}", "matmul": {"b_is": "nk"}, "sizes": [size]}
            if kernel == "sgemm":
                case["scalars"] = {"alpha": 1.0, "beta": 0.0}
            cases.append(case)
    (folder / "tuned.json").write_text(json.dumps({"cases": cases}, indent=1))


def show(folder):
    rows = json.loads((folder / "tuned.results.json").read_text())
    print("\n| kernel | m×n×k | defaults / cuBLAS | tuned / cuBLAS | tuned / defaults | |\n|---|---|---|---|---|---|")
    by_label = {(row["kernel"], tuple(row["size"])): row for row in rows}
    for kernel, size, found in sizes(folder):
        default = by_label.get((f"{kernel} defaults", tuple(size)), {}).get("ratio")
        tuned = by_label.get((f"{kernel} tuned", tuple(size)), {}).get("ratio")
        text = "×".join(map(str, size))
        if not default or not tuned:
            print(f"| {kernel} | {text} | {default} | {tuned} | | not measured |")
            continue
        verdict = "ok" if tuned >= WANTED * default else f"below {WANTED}"
        chosen = ", ".join(f"{name}={value}" for name, value in found["chosen"].items())
        print(f"| {kernel} | {text} | {default:.3f} | {tuned:.3f} | {tuned / default:.2f} | {verdict}: {chosen} |")


def main():
    folder = pathlib.Path(sys.argv[1])
    if sys.argv[2:] == ["--results"]:
        show(folder)
    else:
        compile_all(folder, *sys.argv[2:5])


main()
