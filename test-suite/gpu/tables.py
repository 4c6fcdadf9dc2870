#!/usr/bin/env python3
"""Puts the results of a run into the tables of a document.

    tables.py docs/performance.md results.json

`results.json` is what `run.sh --json` wrote. Every row whose first cells name a kernel, what it was compiled for and
a size of the run gets its figures anew, by the headings of its table; what the run does not have stays. Prints the rows
of tables with these headings that the run has no figures for.
"""
import json
import sys


def rate(result, side):
    value = result[side]
    return f"{value / 1e12:.1f} TFLOP/s" if result["unit"] == "flops" else f"{value / 1e9:.0f} GB/s"


def number(value):
    if value is None:
        return "–"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}" if value else "0.0e0"


def beside(cell, results, key):
    """The figure of the kernel that a cell names, at the same size."""
    name = cell.split("`")[1] if "`" in cell else None
    return name, results.get((name, *key[1:]))


def figures(heading, cell, result, results, key):
    accuracy = result["accuracy"]
    name, other = beside(cell, results, key)
    return {
        "ours": lambda: rate(result, "ours"),
        "cuBLAS": lambda: rate(result, "peer"),
        "copy of as many bytes": lambda: rate(result, "peer"),
        "ratio": lambda: f"{result['ratio']:.3f}",
        "error vs f64": lambda: number(accuracy["ours"]),
        "cuBLAS's error": lambda: number(accuracy["peer"]),
        "ours vs cuBLAS": lambda: number(accuracy["difference"]),
        "beside": lambda: f"`{name}` {rate(other, 'ours')}" if other else cell,
    }.get(heading, lambda: cell)()


def main():
    document, measured = sys.argv[1:]
    with open(measured, encoding="utf-8") as file:
        results = {(r["kernel"], r["arch"], "×".join(map(str, r["size"]))): r for r in json.load(file)}
    with open(document, encoding="utf-8") as file:
        lines = file.read().split("\n")
    headings, missing = [], []
    for at, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells[:3] == ["kernel", "compiled for", "size"]:
            headings = cells
        elif not cells:
            headings = []
        elif headings and len(cells) == len(headings) and not cells[0].startswith("---"):
            key = tuple(cells[:3])
            if key not in results:
                missing.append(line)
                continue
            new = [figures(heading, cell, results[key], results, key) for heading, cell in zip(headings, cells)]
            if "ours / beside" in headings:
                _, other = beside(cells[headings.index("beside")], results, key)
                if other:
                    new[headings.index("ours / beside")] = f"{results[key]['ours'] / other['ours']:.3f}"
            lines[at] = "| " + " | ".join(new) + " |"
    with open(document, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    print("\n".join(missing))


if __name__ == "__main__":
    main()
