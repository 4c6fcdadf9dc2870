"""Makes the seeds of a fuzz target from the repository's own tests: seeds.py TARGET FOLDER"""
import gzip
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def texts(*patterns):
    """The texts of the files that match."""
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return [path.read_text(encoding="utf-8") for path in paths]


def layout_expr():
    with gzip.open(ROOT / "test-suite/vectors/layout.tsv.gz", "rt") as lines:
        expressions = [line.split("\t")[0] for line in lines]
    # One of each operation and length of text, and a few hundred in all.
    chosen = {}
    for expression in expressions:
        chosen.setdefault((re.match(r"\w*", expression).group(), len(expression) // 4), expression)
    for text in texts("docs/layout.md", "dialects/layout/tests/properties/*.rs"):
        chosen.update((found, found) for found in re.findall(r"""["']([^"'\n]*[(<][^"'\n]*)["']""", text))
    return list(chosen.values())


def ptx_sim():
    header = ".version 8.0\n.target sm_80\n.address_size 64\n"
    declarations = (".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<99>; .reg .b64 %rd<99>; "
                    ".reg .f32 %f<99>; .reg .f64 %fd<9>;")
    seeds = texts("runtime/src/sim/tests/ptx/*.ptx")
    # What the simulator's tests write as strings becomes the body of a kernel.
    for text in texts("runtime/src/sim/tests/*.rs"):
        for found in re.findall(r'"((?:[^"\\]|\\.)*;(?:[^"\\]|\\.)*)"', text):
            body = re.sub(r"\\\s*\n\s*", " ", found).replace("{{", "{").replace("}}", "}")
            seeds.append(f"{header}.visible .entry k(.param .u64 p) {{ {declarations}\n{body}\nret; }}\n")
    return seeds


def cute_source():
    seeds = texts("examples/*.cute", "frontend/tests/**/*.cute", "test-suite/*/*.cute")
    # What is large on purpose says nothing that a small one does not, and takes as long as a fault.
    seeds = [text for text in seeds if "// RUN: timeout" not in text]
    for text in texts("docs/language.md"):
        seeds += re.findall(r"```cute(?:-emits)?\n(.*?)```", text, re.S)
        seeds += [f"fn f() {{\n{found}\n}}" for found in re.findall(r"```cute-statements\n(.*?)```", text, re.S)]
    return seeds


def mlir_text():
    seeds = []
    for text in texts("test-suite/*/*.mlir"):
        # Files of many cases are cut into them, and those into functions.
        for part in re.split(r"^// -----.*$", text, flags=re.M):
            part = re.sub(r"^\s*//.*\n", "", part, flags=re.M)
            seeds += [part] + re.findall(r"^func\.func .*?^}\n", part, re.S | re.M)
    return seeds


def main():
    target, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(dict.fromkeys(globals()[target]())):
        (folder / f"{number:04}").write_text(seed, encoding="utf-8")


main()
