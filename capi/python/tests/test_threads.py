# SPDX-License-Identifier: MIT
"""The GIL, threads, cancelling, and who keeps what alive."""
import gc
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import morello
from morello import Status


def test_other_threads_run_during_a_search(long_spec):
    beats, done = 0, threading.Event()

    def search():
        try:
            morello.compile(long_spec, time_budget=0.3)
        finally:
            done.set()
    thread = threading.Thread(target=search)
    thread.start()
    while not done.is_set():
        beats += 1
        time.sleep(0.001)
    thread.join()
    assert beats > 20


def test_other_threads_run_during_a_kernel(floats):
    kernel = morello.compile("matmul f32[512,512] f32[512,512]", time_budget=0.01)
    a, b, out = floats(512, 512), floats(512, 512), np.empty((512, 512), np.float32)
    running, done, during = threading.Event(), threading.Event(), 0

    def run():
        running.set()
        for _ in range(30):
            kernel(a, b, out=out)
        done.set()
    # With the GIL held by each run, the other thread would get a turn between two runs at best.
    thread = threading.Thread(target=run)
    thread.start()
    running.wait()
    while not done.is_set():
        during += 1
        time.sleep(0)
    thread.join()
    assert during > 200


def test_one_kernel_and_one_context_in_many_threads(floats):
    context = morello.Context()
    kernel = morello.compile("matmul f32[32,32] f32[32,32]")
    a, b = floats(32, 32), floats(32, 32)
    wanted, failures = kernel(a, b), []

    def work(number):
        try:
            for i in range(20):
                np.testing.assert_array_equal(kernel(a, b), wanted)
                morello.compile(f"relu f32[{number * 20 + i + 1}]", context=context)
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_parallel_kernels(floats):
    kernel = morello.compile("matmul f32[256,64] f32[64,64]", threads=2)
    a, b = floats(256, 64), floats(64, 64)
    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-3, atol=1e-4)
    with morello.Pool(2) as pool:
        np.testing.assert_allclose(kernel(a, b, pool=pool), a @ b, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="this Pool is closed"):
        kernel(a, b, pool=pool)


FORKS = """
import os, numpy, morello
kernel = morello.compile("matmul f32[256,64] f32[64,64]", threads=2)
a, b = numpy.ones((256, 64), numpy.float32), numpy.ones((64, 64), numpy.float32)
wanted = kernel(a, b)
child = os.fork()
if child == 0:
    os._exit(0 if (kernel(a, b) == wanted).all() else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_has_a_pool_of_its_own():
    # In a process without the threads of other libraries.
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=60)


def test_two_searches_run_at_once(long_spec, in_threads):
    meeting = threading.Barrier(2, timeout=30)

    def search():
        met = False

        def progress(_):
            nonlocal met
            if not met:
                meeting.wait()  # both are in the middle of their searches
                met = True
        morello.compile(long_spec, progress=progress, progress_interval=0, time_budget=0.2)
        assert met
    in_threads(2, search)


def test_progress_and_cancel(long_spec):
    seen, cancel = [], morello.Cancel()

    def progress(at):
        seen.append(at)
        cancel.cancel()
    with pytest.raises(morello.Error) as raised:
        morello.compile(long_spec, progress=progress, progress_interval=0, cancel=cancel)
    assert raised.value.status == Status.CANCELLED
    assert seen[0].seconds >= 0 and seen[0].lower_bound >= 0
    with pytest.raises(morello.Error):
        morello.compile(long_spec, cancel=cancel)
    cancel.reset()
    assert morello.compile("relu f32[3]", cancel=cancel)


def test_what_progress_raises_ends_the_search(long_spec):
    def progress(_):
        raise KeyError("enough")
    with pytest.raises(KeyError, match="enough"):
        morello.compile(long_spec, progress=progress, progress_interval=0)


def test_a_keyboard_interrupt_ends_the_search(long_spec):
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        morello.compile(long_spec, time_budget=60)


def test_budgets(long_spec):
    kernel = morello.compile(long_spec, time_budget=0.02)
    assert not kernel.stats.optimal and kernel.cost > kernel.stats.lower_bound
    assert "a budget ended the search" in kernel.explain()


def test_kernels_outlive_all_else(floats):
    context = morello.Context()
    spec = morello.Spec("add f32[9] f32[9]", context=context)
    kernel = morello.compile(spec, context=context)
    context.close()
    spec.close()
    x = floats(9)
    np.testing.assert_array_equal(kernel(x, x), x + x)
    with pytest.raises(ValueError, match="this Context is closed"):
        morello.compile("relu f32[3]", context=context)
    kernel.close()
    kernel.close()
    with pytest.raises(ValueError, match="this Kernel is closed"):
        kernel(x, x)
    assert repr(kernel) == "Kernel(closed)"


def test_closing_a_kernel_that_runs(floats):
    a, b = floats(256, 256), floats(256, 256)
    for _ in range(20):
        kernel = morello.compile("matmul f32[256,256] f32[256,256]", time_budget=0.001)
        thread = threading.Thread(target=kernel, args=(a, b))
        thread.start()
        kernel.close()
        thread.join()


def test_objects_go_when_they_are_not_needed(floats):
    kernel = morello.compile("add f32[9] f32[9]")
    x = floats(9)
    kernel(x, x)
    references = [weakref.ref(kernel), weakref.ref(kernel.spec), weakref.ref(x)]
    del kernel, x
    gc.collect()
    assert [reference() for reference in references] == [None] * 3


def test_no_leaks(floats):
    x = floats(64, 64)
    few = floats(3)
    bytes_of = morello.compile("relu f32[64,64]").to_bytes()

    def once():
        kernel = morello.Kernel.from_bytes(bytes_of)
        kernel(x)
        morello.Spec("matmul f32[64,64] f32[64,64]")
        morello.Context()
        try:
            morello.Spec("sofmax")
        except morello.SpecError:
            pass
        try:
            kernel(x, out=x)
        except morello.OperandError:
            pass
        morello.compile("relu f32[64]", progress=lambda _: None)
        morello.jit(lambda x: x + 1)(few)
        try:
            morello.jit(np.sin)(x)
        except morello.SpecError:
            pass

    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    def grown(count):
        before = resident()
        for _ in range(count):
            once()
        gc.collect()
        return resident() - before
    grown(150)
    # An object that were kept would be some 16 KiB (the kernel, its output) each time.
    assert grown(400) < 3 * 2**20
