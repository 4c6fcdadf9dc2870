"""Runs `cutec layout -` over the vectors and compares text with text. Arguments: the program, the folder of
vectors; with --list it prints the lines that differ: number, expression, result here, result there.

The Rust tests compare values; here every parenthesis counts, and what differs is sorted by reason."""
import ast
import gzip
import os
import re
import subprocess
import sys
from collections import Counter

program, folder = sys.argv[1:3]
with gzip.open(os.path.join(folder, "layout.tsv.gz"), "rt", encoding="utf-8") as file:
    vectors = [line.rstrip("\n").split("\t") for line in file]
with open(os.path.join(folder, "differences.tsv"), encoding="utf-8") as file:
    intended = {line.split("\t")[0] for line in file if not line.startswith("#")}
run = subprocess.run([program, "layout", "-"], input="".join(line[0] + "\n" for line in vectors),
                     stdout=subprocess.PIPE, encoding="utf-8", timeout=60, check=True)
results = run.stdout.split("\n")[:-1]
assert len(results) == len(vectors), f"{len(results)} results for {len(vectors)} lines"


def leaves(text):
    return re.findall(r"[^(),:]+", text)


def without_unit_strides(text):
    """The shape, and the strides of the modes whose extent is not 1."""
    shape, _, stride = text.partition(":")
    pairs = zip(leaves(shape), leaves(stride))
    return shape, [pair for pair in pairs if pair[0] != "1"]


def without_nesting(text):
    """Tuples of one element taken for the element, as Python reads them."""
    return [ast.literal_eval(part) for part in text.split(":")]


def reason(expression, found, wanted):
    if found == wanted or wanted == "error" and found.startswith("error: "):
        return "equal"
    if expression in intended:
        return "intended"
    if without_unit_strides(found) == without_unit_strides(wanted):
        return "stride of extent 1"
    if without_nesting(found) == without_nesting(wanted):
        return "nesting of rank 1"
    return "wrong"


reasons = Counter()
for number, ((expression, wanted), found) in enumerate(zip(vectors, results), 1):
    why = reason(expression, found, wanted)
    reasons[why] += 1
    if why == "wrong" or why != "equal" and "--list" in sys.argv:
        print(number, expression, found, wanted, why, sep="\t")
for why in ("equal", "intended", "stride of extent 1", "nesting of rank 1", "wrong"):
    print(f"{why}: {reasons[why]}")
