"""The blocks of Python in the documents, but for those that need a GPU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cutec

CHECKOUT = Path(__file__).resolve().parents[2]
# What stands in a block that runs elsewhere: frameworks and clusters have tests of their own.
ELSEWHERE = re.compile(r"torch|jax|concurrent|tvm_ffi|cutec\.tune")


def blocks():
    for page in ["README.md", "docs/first-kernel.md", "docs/calling.md", "docs/python.md"]:
        text = (CHECKOUT / page).read_text(encoding="utf-8")
        found = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        tried = [block for block in found if not ELSEWHERE.search(block)]
        assert tried, f"{page} has no example that runs here"
        yield from (pytest.param(page, block, id=f"{page}-{at}") for at, block in enumerate(tried))


@pytest.mark.parametrize("page, block", list(blocks()))
def test_examples_run(page, block, monkeypatch):
    monkeypatch.chdir(CHECKOUT)
    exec(compile(block, page, "exec"), {"cutec": cutec})
