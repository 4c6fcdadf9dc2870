"""What the tests of the Python package share. scripts/wheel.sh installs the wheel and runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutec

KERNELS = """
/// y = max(x, 0)
kernel relu(x: tensor<f32, (m, n)>, y: mut tensor<f32, (m, n)>)
launch tiles(m / 4, n / 64)
{
    let at = (tile.m, tile.n);
    y.tile((4, 64), at) = max(x.tile((4, 64), at), 0.0);
}

/// y = x * by * more
kernel scale<by = 2>(x: tensor<f32, n>, y: mut tensor<f32, n>, more: f32)
launch tiles(n / 128)
{ y.tile(128, tile.m) = x.tile(128, tile.m) * f32(by) * more; }

/// x = x + 1, the first `count` elements
kernel count_up(x: mut tensor<i32, n>, count: i32)
launch grid(ceil_div(count, 32)), block(32)
{
    let i = block_idx.x * 32 + thread_idx.x;
    if i < count { x[i] = x[i] + 1; }
}

/// y = x, of any element type
kernel copy<t = f16>(x: tensor<t, n>, y: mut tensor<t, n>)
launch tiles(n / 256)
{ y.tile(256, tile.m) = x.tile(256, tile.m); }
"""


@pytest.fixture(scope="session")
def mod() -> cutec.Module:
    """Small kernels."""
    return cutec.loads(KERNELS)


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of examples."""
    return Path(__file__).resolve().parents[2] / "examples"
