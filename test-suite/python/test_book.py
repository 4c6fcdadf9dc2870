"""The blocks of Python in the chapters of the book that need no GPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
CHAPTERS = ["first-kernel.md", "calling.md"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_examples_run(chapter):
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / chapter).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, chapter, "exec"), {})
