"""Tries the examples of a page: what it shows is what happens.

    python3 page.py CUTEC PAGE        in an empty folder, which becomes that of the page's files

CUTEC is the program, beside which stand its sisters. In the page

    ```cute NAME.cute            is written to that file, tested by `cutec test NAME.cute`, and in the style of `cutec fmt`
    ```cute NAME.cute sm_90a     the same for another target
    ```cute NAME.cute shown      is written, and only commands of the page use it (it may be wrong)
    ```LANGUAGE PATH             where the checkout has PATH: is a part of that file, word for word
    ```console                   has commands behind `$`, and below each what it prints. A line `...` stands for any
                                 lines, `…` within a line for anything
    <!-- $ COMMAND -->           is run and not shown

In a table whose last heading is `here`, what stands in backticks in that column is code that is compiled: each piece between `…` occurs in a file
of the page, an example, the standard library or a command.

A picture `pictures/NAME.svg` that a command of the page writes as NAME.svg is what the command draws, and every picture of a page is
written by one of its commands. With UPDATE=1 in the environment the page and its pictures are written anew."""
import os
import re
import subprocess
import sys

program, page = (os.path.abspath(argument) for argument in sys.argv[1:])
checkout = os.path.dirname(os.path.abspath(__file__)).split("/test-suite/")[0]
pictures = os.path.join(checkout, "docs", "pictures")
update = os.environ.get("UPDATE") == "1"
environment = dict(os.environ, PATH=os.path.dirname(program) + os.pathsep + os.environ["PATH"], CUDA_VISIBLE_DEVICES="", LC_ALL="C.UTF-8")
environment.pop("UPDATE", None)
wrong, compiled, commands, files = [], [], 0, 0


def lines(output):
    return [line.rstrip() for line in output.rstrip().split("\n")]


def run(command):
    result = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                            timeout=120, env=environment, stdin=subprocess.DEVNULL)
    return lines(result.stdout), result.returncode


def matches(expected, found):
    """Whether lines are what they are to be, where `...` stands for any lines and `…` for any characters."""
    if not expected:
        return not found
    if expected[0] == "...":
        return any(matches(expected[1:], found[at:]) for at in range(len(found) + 1))
    if not found:
        return False
    pattern = ".*".join(re.escape(part) for part in expected[0].split("…"))
    return bool(re.fullmatch(pattern, found[0])) and matches(expected[1:], found[1:])


def console(block):
    global commands
    out = []
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block + "\n", re.MULTILINE):
        commands += 1
        found, _ = run(command)
        expected = lines(expected)
        if not matches(expected, found):
            wrong.append("\n".join(["$ " + command, *found]))
            expected = found
        out += ["$ " + command, *([] if expected == [""] else expected)]
    return "\n".join(out)


def source(info, block):
    global files
    words = info.split()
    if len(words) < 2:
        return
    path = os.path.join(checkout, words[1])
    if os.path.exists(path):
        files += 1
        with open(path, encoding="utf-8") as file:
            if block + "\n" not in file.read():
                wrong.append(f"this is no part of {words[1]}:\n{block}")
    elif "/" in words[1]:
        wrong.append(f"there is no {words[1]}")
    else:
        files += 1
        compiled.append(block)
        with open(words[1], "w", encoding="utf-8") as file:
            file.write(block + "\n")
        if words[0] == "cute" and words[2:] != ["shown"]:
            target = f" --arch {words[2]}" if words[2:] else ""
            found, code = run(f"cutec test --color never --check{target} {words[1]}")
            if code != 0:
                wrong.append("\n".join([f"{words[1]} fails:", *found]))
            found, code = run(f"cutec fmt --diff {words[1]}")
            if found != [""] or code != 0:
                wrong.append("\n".join([f"{words[1]} is not in the style of `cutec fmt`:", *found]))


def part(match):
    global commands
    if match.group("hidden"):
        commands += 1
        found, code = run(match.group("hidden"))
        if code != 0:
            wrong.append("\n".join(["$ " + match.group("hidden"), *found]))
    elif match.group("info") == "console":
        return "```console\n" + console(match.group("block").rstrip("\n")) + "\n```"
    else:
        source(match.group("info"), match.group("block").rstrip("\n"))
    return match.group(0)


def tables(text):
    """What stands in the last column, headed `here`, of tables."""
    inside = False
    for line in text.split("\n"):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            inside = False
        elif cells[-1] == "here":
            inside = True
        elif inside:
            yield from (span.replace("\\|", "|") for span in re.findall(r"`([^`]+)`", cells[-1]))


def one_line(code):
    return " ".join(code.split())


with open(page, encoding="utf-8") as file:
    text = file.read()
updated = re.sub(r"^<!-- \$ (?P<hidden>.*) -->$|^```(?P<info>.*)\n(?P<block>(?:.*\n)*?)```$",
                 lambda match: part(match), text, flags=re.MULTILINE)

said = list(tables(text))
if said:
    sources = [os.path.join(folder, name) for top in ("examples", "frontend/std")
               for folder, _, names in os.walk(os.path.join(checkout, top)) for name in names if name.endswith(".cute")]
    compiled += [open(path, encoding="utf-8").read() for path in sources]
    compiled += re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    compiled = one_line(" ".join(compiled))
    for span in said:
        for piece in span.split("…"):
            if one_line(piece) not in compiled:
                wrong.append(f"no code that is compiled has `{piece.strip()}`, of `{span}` in the column `here`")

for name in sorted(set(re.findall(r"\bpictures/([\w.-]+\.svg)\b", text))):
    checked_in = os.path.join(pictures, name)
    if not os.path.exists(name):
        wrong.append(f"no command of the page draws {name}")
        continue
    with open(name, encoding="utf-8") as file:
        drawn = file.read()
    if update:
        with open(checked_in, "w", encoding="utf-8") as file:
            file.write(drawn)
    elif not os.path.exists(checked_in) or open(checked_in, encoding="utf-8").read() != drawn:
        wrong.append(f"docs/pictures/{name} is not what the page's command draws")

if update:
    with open(page, "w", encoding="utf-8") as file:
        file.write(updated)
elif wrong:
    sys.exit(f"{os.path.basename(page)} says otherwise:\n" + "\n".join(wrong))
print(f"{commands} commands and {files} files of {os.path.basename(page)}")
if wrong:
    print("\n".join(wrong))
