"""Runs the commands of the `console` blocks of a page, and compares what they print with the lines below.

Arguments: the program `cutec`, the page. With UPDATE=1 in the environment it writes the page anew."""
import os
import re
import subprocess
import sys

program, page = sys.argv[1:]
with open(page, encoding="utf-8") as file:
    text = file.read()


def lines(output):
    return [line.rstrip() for line in output.rstrip().split("\n")]


def run(command):
    command = re.sub(r"\bcutec\b", program, command, count=1)
    result = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            encoding="utf-8", timeout=60)
    return lines(result.stdout)


count, wrong = 0, []


def block(match):
    global count
    out = []
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", match.group(1), re.MULTILINE):
        count += 1
        found = run(command)
        if found != lines(expected):
            wrong.append("\n".join(["$ " + command, *found]))
        out += ["$ " + command, *found]
    return "```console\n" + "\n".join(out) + "\n```"


updated = re.sub(r"```console\n(.*?)```", block, text, flags=re.DOTALL)
if os.environ.get("UPDATE") == "1":
    with open(page, "w", encoding="utf-8") as file:
        file.write(updated)
elif wrong:
    sys.exit("these print something else:\n" + "\n".join(wrong))
print(f"{count} commands of {os.path.basename(page)}")
