"""Looks at the links of all pages: files and headings that they name are there, every page is in the book, every picture on a page, and
every page that has examples among the tests. Argument: the checkout."""
import glob
import os
import re
import sys

checkout = os.path.abspath(sys.argv[1])
wrong, links = [], 0
TOPS = "docs|examples|scripts|frontend|compiler|runtime|dialects|test-suite|editors|fuzz"


def read(path):
    with open(os.path.join(checkout, path), encoding="utf-8") as file:
        return file.read()


def prose(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def slug(heading):
    """The anchor of a heading, as mdBook and GitHub make it."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return "".join(c for c in heading.strip().lower().replace(" ", "-") if c.isalnum() or c in "-_")


def anchors(path):
    found, seen = set(), {}
    for heading in re.findall(r"^#+ (.*)$", prose(read(path)), re.MULTILINE):
        name = slug(heading)
        found.add(name if name not in seen else f"{name}-{seen[name]}")
        seen[name] = seen.get(name, 0) + 1
    return found


def relative(path):
    return os.path.relpath(path, checkout)


pages = sorted(relative(path) for pattern in ("*.md", "docs/*.md", "examples/*.md", "editors/*.md", "fuzz/*.md", "test-suite/*/*.md")
               for path in glob.glob(os.path.join(checkout, pattern)))
for page in pages:
    text = prose(read(page))
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"[a-z]+:", target):
            continue
        links += 1
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(os.path.join(checkout, path)):
            wrong.append(f"{page}: there is no {target}")
        elif anchor and anchor not in anchors(path):
            wrong.append(f"{page}: {path} has no heading {anchor}")
        elif page.startswith("docs/") and not path.startswith("docs/"):
            wrong.append(f"{page}: {target} is no page of the book; in backticks it becomes a link")
    for path in re.findall(rf"`((?:{TOPS})/(?!NAME)[\w./-]+)`", text):
        links += 1
        if not os.path.exists(os.path.join(checkout, path)) and not glob.glob(os.path.join(checkout, path + "*")):
            wrong.append(f"{page}: there is no {path}")

documents = {os.path.basename(page) for page in pages if page.startswith("docs/")} - {"SUMMARY.md"}
listed = re.findall(r"\]\(([\w-]+\.md)\)", read("docs/SUMMARY.md"))
for name in sorted(documents - set(listed)):
    wrong.append(f"docs/SUMMARY.md lacks {name}")
for name in sorted({name for name in listed if listed.count(name) > 1}):
    wrong.append(f"docs/SUMMARY.md has {name} twice")

shown = "".join(read(page) for page in pages)
for picture in glob.glob(os.path.join(checkout, "docs/pictures/*")):
    if f"pictures/{os.path.basename(picture)})" not in shown:
        wrong.append(f"no page shows {relative(picture)}")

tests = "".join(read(relative(path)) for path in glob.glob(os.path.join(checkout, "test-suite/book/*.test")))
for page in pages:
    if re.search(r"^```console$|^```cute [\w-]+\.cute", read(page), re.MULTILINE):
        if f"/{os.path.basename(page)}" not in tests:
            wrong.append(f"test-suite/book has no test of {page}")

if wrong:
    sys.exit("\n".join(wrong))
print(f"{links} links of {len(pages)} pages")
