# SPDX-License-Identifier: MIT
"""What tests share: random arrays whose seed is printed with a failure, and small kernels."""
import numpy as np
import pytest

import morello


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=1)


def pytest_report_header(config):
    return f"morello {morello.__version__}, seed {config.getoption('--seed')}, {morello.cpu_info().name}"


@pytest.fixture
def rng(request):
    return np.random.default_rng(request.config.getoption("--seed"))


@pytest.fixture
def floats(rng):
    return lambda *shape: rng.standard_normal(shape, dtype=np.float32)


@pytest.fixture(scope="session")
def add():
    return morello.compile("add f32[3,5] f32[3,5]")


#: Takes seconds to prove on every target, the fastest with a margin of tens: what searches are watched on.
LONG = "matmul f32[1023,1021]{0,1} f32[1021,1019]"


@pytest.fixture(scope="session")
def long_spec():
    return morello.Spec(LONG)
