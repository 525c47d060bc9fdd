# SPDX-License-Identifier: MIT
"""What the documents show runs as it stands."""
import doctest
import pathlib
import re
import runpy

import numpy as np
import pytest

import morello

ROOT = pathlib.Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/onnx.md", "capi/python/README.md"])
def test_page(page):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)  # pylint: disable=exec-used


def test_docstrings():
    if np.__version__.startswith("1."):
        pytest.skip("NumPy 1 prints numbers in another way")
    found = doctest.testmod(morello)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("example", sorted((ROOT / "capi/python/examples").glob("*.py")), ids=lambda path: path.name)
def test_example(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_the_page_has_every_function():
    page = (ROOT / "docs/python.md").read_text()
    for name in morello.__all__:
        if name.islower() and name not in ("version", "cpu_info"):
            assert re.search(rf"\b{name}\b", page), name
