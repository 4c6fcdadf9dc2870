"""Shows what a line of the source became at each level: lines.py FOLDER LINE, for the folder of `--emit all`."""
import json
import os
import sys

folder, line = sys.argv[1:]
with open(os.path.join(folder, "lines.json"), encoding="utf-8") as file:
    links = json.load(file)
for level, numbers in links["lines"][links["source"]][line].items():
    with open(os.path.join(folder, links["levels"][level]), encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number in numbers:
        print(f"{level}: {lines[number - 1]}")
