#!/usr/bin/env python3
"""Runs the lit files of NVIDIA's public `cute` dialect with cutec's cute-opt.

    run.py CUTLASS [--cute-opt PATH] [--llvm DIR] [--only TEXT] [-v]

CUTLASS is a checkout of https://github.com/NVIDIA/cutlass; nothing of it is
part of this repository. A file passes when all of its RUN lines do. A file with
-verify-diagnostics that fails, but refuses exactly the lines that it expects to
be refused, counts as `wording`: the text of an error is ours. An operation that
goes on over several lines is refused on any of them, such as the one with a type
that is no type. A file that fails and is listed in differences.tsv counts as
`differs`, by the class that README.md explains.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDERS = ("Dialect", "Transforms", "Conversion")
OUTCOMES = ("passed", "wording", "differs", "failed")
RUN = re.compile(r"//\s*RUN:\s?(.*)$")
EXPECTED = re.compile(r"//\s*expected-error(?:-re)?\s*(@[^\s{]+)?\s*(\d+\s*)?\{\{")
ERROR = re.compile(r"^(?:within split at [^\n]*?:(\d+) offset )?[^\s:]*:(\d+):\d+: error: (?!expected [a-z]+ \")", re.M)


def run_lines(text):
    lines, pending = [], ""
    for line in text.splitlines():
        match = RUN.search(line)
        if not match:
            continue
        pending += match.group(1).strip()
        if pending.endswith("\\"):
            pending = pending[:-1] + " "
            continue
        lines.append(pending)
        pending = ""
    return lines


def expected_lines(text):
    """Lines on which the file expects an error."""
    lines = text.splitlines()
    found = set()
    for number, line in enumerate(lines, 1):
        for match in EXPECTED.finditer(line):
            at = match.group(1) or ""
            if at in ("@below", "@above"):
                step = 1 if at == "@below" else -1
                line_at = number + step
                while 0 < line_at <= len(lines) and EXPECTED.search(lines[line_at - 1]):
                    line_at += step
                found.add(line_at)
            elif at == "@unknown":
                found.add(0)
            else:
                found.add(number + int(at[1:] or 0))
    return found


def refused_lines(tools, path, line):
    """Lines on which cute-opt reports an error."""
    command = re.sub(r"--?verify-diagnostics", "", line).split("|")[0]
    output = shell(tools, path, command)[1]
    found = {(int(m.group(1)) - 1 if m.group(1) else 0) + int(m.group(2)) for m in ERROR.finditer(output)}
    lines = path.read_text().splitlines()
    return {operation_line(lines, number) for number in found}


def operation_line(lines, number):
    """The line on which the operation begins that line `number` may go on with its types."""
    while 1 < number <= len(lines) and lines[number - 1].lstrip().startswith((":", "->")):
        number -= 1
    return number


def shell(tools, path, command):
    """One RUN line; the substitutions are those of the files' lit configuration."""
    command = command.replace("%s", f"'{path}'")
    with tempfile.TemporaryDirectory() as scratch:
        command = command.replace("%t", os.path.join(scratch, "t"))
        environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], env=environment,
                              capture_output=True, text=True, errors="replace", timeout=120)
    return done.returncode, done.stdout + done.stderr


def test(tools, path):
    """`passed`, `wording` or `failed`, with the output of what failed."""
    text = path.read_text()
    for line in run_lines(text):
        code, output = shell(tools, path, line)
        if code == 0:
            continue
        if "-verify-diagnostics" in line:
            expected, refused = expected_lines(text), refused_lines(tools, path, line)
            if expected == refused:
                return "wording", output
            missing, extra = sorted(expected - refused), sorted(refused - expected)
            output += f"\nnot refused: {missing}\nrefused, but should not be: {extra}\n"
        return "failed", f"$ {line}\n{output}"
    return "passed", ""


def differences():
    """The class of each file that fails by decision."""
    lines = (pathlib.Path(__file__).parent / "differences.tsv").read_text().splitlines()
    listed = [line.split("\t") for line in lines if not line.startswith("#")]
    return {file: reason for reason, file in listed}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cutlass", type=pathlib.Path)
    parser.add_argument("--cute-opt", type=pathlib.Path, default=pathlib.Path("target/release/cute-opt"))
    parser.add_argument("--llvm", type=pathlib.Path, default=pathlib.Path("/usr/lib/llvm-22"))
    parser.add_argument("--only", default="", help="files whose path contains this text")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what failed")
    arguments = parser.parse_args()
    root = arguments.cutlass / "cutlass_compiler/cute_ir/test"
    if not root.is_dir():
        sys.exit(f"{root} is not there: give the path of a checkout of NVIDIA/cutlass")
    files = [p for folder in FOLDERS for p in sorted((root / folder).rglob("*.mlir")) if arguments.only in str(p)]
    with tempfile.TemporaryDirectory() as tools:
        programs = {"cute-opt": arguments.cute_opt, "FileCheck": arguments.llvm / "bin/FileCheck",
                    "not": arguments.llvm / "bin/not"}
        for name, program in programs.items():
            os.symlink(program.resolve(), os.path.join(tools, name))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda path: test(tools, path), files))
    listed, classes, table = differences(), {}, {}
    for path, (outcome, output) in zip(files, results):
        name = path.relative_to(root)
        reason = listed.get(str(name))
        if reason and outcome == "failed":
            outcome = "differs"
            classes.setdefault(reason, []).append(name)
        elif reason:
            print(f"{name} is listed in differences.tsv, but passes")
        row = table.setdefault(str(name.parent), dict.fromkeys(OUTCOMES, 0))
        row[outcome] += 1
        if arguments.verbose and outcome == "failed":
            print(f"--- {name}\n{output}")
        elif outcome in ("wording", "failed"):
            print(f"{outcome}: {name}")
    for reason, names in classes.items():
        print(f"\ndiffers ({reason}):")
        for name in names:
            print(f"  {name}")
    total = dict.fromkeys(OUTCOMES, 0)
    print(f"\n{'folder':55}" + "".join(f"{outcome:>9}" for outcome in OUTCOMES))
    for folder, row in table.items():
        print(f"{folder:55}" + "".join(f"{row[outcome]:9}" for outcome in OUTCOMES))
        total = {outcome: total[outcome] + row[outcome] for outcome in OUTCOMES}
    print(f"{'all':55}" + "".join(f"{total[outcome]:9}" for outcome in OUTCOMES))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
