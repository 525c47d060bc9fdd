# SPDX-License-Identifier: MIT
"""What tests share: random arrays whose seed is printed with a failure, and small kernels."""
import concurrent.futures

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


@pytest.fixture
def in_threads():
    """Calls a function so many times at once; what one raises is raised."""
    def run(count, function):
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            for call in [pool.submit(function) for _ in range(count)]:
                call.result()
    return run


@pytest.fixture(scope="session")
def add():
    return morello.compile("add f32[3,5] f32[3,5]")


#: Takes seconds to prove on every target, the fastest with a margin of tens: what searches are watched on.
LONG = "matmul f32[1023,1021]{0,1} f32[1021,1019]"


@pytest.fixture(scope="session")
def long_spec():
    return morello.Spec(LONG)
