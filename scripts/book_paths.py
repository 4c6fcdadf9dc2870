#!/usr/bin/env python3
"""Preprocessor of mdBook: what a page names in backticks and the checkout has becomes a link, `docs/tile.md` to the page,
`examples/gemm.cute` to the repository. mdBook gives the book as JSON on standard input, and takes it back."""
import json
import os
import re
import sys

REPOSITORY = "https://github.com/cutec/cutec/blob/main/"
checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def link(match):
    path = match.group(1)
    if not os.path.exists(os.path.join(checkout, path)):
        return match.group(0)
    target = path[len("docs/"):] if path.startswith("docs/") and path.endswith(".md") else REPOSITORY + path
    return f"[`{path}`]({target})"


def linked(text):
    """The text, where a path in backticks outside of code and links is a link."""
    parts = re.split(r"(^```.*?^```$|\[[^\]]*\]\([^)]*\)|<!--.*?-->)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if at % 2 else re.sub(r"`([\w.-]+(?:/[\w.-]+)+)`", link, part) for at, part in enumerate(parts))


def walk(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            chapter["content"] = linked(chapter["content"])
            walk(chapter["sub_items"])


if sys.argv[1:2] == ["supports"]:
    sys.exit(0)
_, book = json.load(sys.stdin)
walk(book.get("items") or book.get("sections"))
json.dump(book, sys.stdout)
