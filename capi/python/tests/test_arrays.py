# SPDX-License-Identifier: MIT
"""Operands that are no NumPy arrays."""
import array
import copy
import pickle

import numpy as np
import pytest

import morello


class Exporter:
    """Another library's tensor: DLPack, and nothing else."""

    def __init__(self, values, device=(1, 0), versioned=True):
        self.values, self.device, self.versioned = values, device, versioned

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("no options")
        return self.values.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack(add, floats, versioned):
    x, y, out = floats(3, 5), floats(3, 5), np.empty((3, 5), np.float32)
    given = Exporter(out, versioned=versioned)
    assert add(Exporter(x, versioned=versioned), y, out=given) is given
    np.testing.assert_array_equal(out, x + y)
    with pytest.raises(morello.OperandError, match="got strides"):
        add(Exporter(np.asfortranarray(x)), y)
    with pytest.raises(morello.OperandError, match="elements of type float64"):
        add(Exporter(x.astype(float)), y)
    with pytest.raises(morello.OperandError, match="device 2"):
        add(Exporter(x, (2, 0)), y)


def test_dlpack_read_only(add, floats):
    out = floats(3, 5)
    out.flags.writeable = False
    with pytest.raises(morello.OperandError, match="read-?only"):
        add(floats(3, 5), floats(3, 5), out=Exporter(out))


def test_dlpack_of_every_type(rng):
    for dtype in (np.int8, np.uint8, np.int32, np.float16):
        name = {np.int8: "i8", np.uint8: "u8", np.int32: "i32", np.float16: "f16"}[dtype]
        x = rng.integers(0, 100, (4, 6)).astype(dtype)
        kernel = morello.compile(f"transpose {name}[4,6]")
        np.testing.assert_array_equal(kernel(Exporter(x)), x.T)


def test_buffers(floats):
    kernel = morello.compile("add f32[4] f32[4]")
    x, out = floats(4), array.array("f", [0] * 4)
    kernel(array.array("f", x), memoryview(x), out=out)
    np.testing.assert_array_equal(np.asarray(out), x + x)
    with pytest.raises(morello.OperandError, match="elements of type uint8"):
        kernel(bytes(4), x)
    copy = morello.compile("move u8[4]")
    np.testing.assert_array_equal(copy(b"abcd"), np.frombuffer(b"abcd", np.uint8))
    with pytest.raises(morello.OperandError, match="read-only"):
        copy(b"abcd", out=b"wxyz")


def test_scalars(floats):
    kernel = morello.compile("mul f32[3] f32[]")
    x = floats(3)
    for two in (2, 2.0, np.float32(2), np.array(2, np.float32)):
        np.testing.assert_array_equal(kernel(x, two), 2 * x)


def test_jax(add, floats):
    jax = pytest.importorskip("jax")
    x, y = floats(3, 5), floats(3, 5)
    np.testing.assert_array_equal(add(jax.numpy.asarray(x), y), x + y)
    with pytest.raises(morello.OperandError, match="read-only"):
        add(x, y, out=jax.numpy.asarray(x))
    bf16 = jax.numpy.asarray(floats(4, 4), jax.numpy.bfloat16)
    np.testing.assert_array_equal(np.asarray(morello.compile("relu bf16[4,4]")(bf16)), np.asarray(jax.nn.relu(bf16)))


def test_torch(add, floats):
    torch = pytest.importorskip("torch")
    x, y, out = floats(3, 5), floats(3, 5), torch.zeros(3, 5)
    assert add(torch.from_numpy(x), y, out=out) is out
    np.testing.assert_array_equal(out.numpy(), x + y)


def test_the_short_way(add, floats):
    """What plain_runner() takes, and what it leaves to those who say what is wrong."""
    x, y = floats(3, 5), floats(3, 5)
    taken = add._run_plain(add.pointer, (x, y), None)
    np.testing.assert_array_equal(taken, x + y)
    out = np.zeros((3, 5), np.float32)
    assert add._run_plain(add.pointer, (x, x), out) is out
    np.testing.assert_array_equal(out, x + x)
    frozen = out.copy()
    frozen.setflags(write=False)
    wide = floats(3, 10)
    left = [((x,), None), ((x, y, y), None), ((x, y.T), None), ((x, y.astype(float)), None), ((x, wide[:, ::2]), None),
            ((x, wide[:, :5]), None), ((x, [y]), None), ((x, y.tolist()), None), ((x, np.asfortranarray(y)), None),
            ((x, y), frozen), ((x, y), x), ((x, y), wide[:, :5]), ((x, y), out.reshape(5, 3)), ((x, y), "out")]
    for inputs, given in left:
        before = [np.array(each) for each in inputs]
        assert add._run_plain(add.pointer, inputs, given) is None
        for each, same in zip(inputs, before):
            np.testing.assert_array_equal(each, same)
        with pytest.raises(morello.OperandError):
            add(*inputs, out=given)
    assert morello.compile("move f32[4,4]{0,1} -> f32[4,4]")._run_plain is None


def test_packed_arrays_are_copied(rng):
    """By copy and by pickle, into memory of their own."""
    kernel = morello.compile("matmul f32[3,40] f32[40,30]{*}", effort="quick")
    a, b = rng.standard_normal((3, 40), np.float32), rng.standard_normal((40, 30), np.float32)
    packed = kernel.pack(1, b)
    wanted = kernel(a, packed)
    for other in (copy.deepcopy(packed), copy.copy(packed), pickle.loads(pickle.dumps(packed))):
        assert other.address != packed.address and other.address % 64 == 0
        assert np.array_equal(kernel(a, other), wanted)
    other.bytes[:] = 0
    assert np.array_equal(kernel(a, packed), wanted)


@pytest.mark.parametrize("dtype, wrong, right", [
    ("i8", [3.7, 300, -129, float("nan"), float("inf")], [3, -128, 2.0]), ("u8", [-1, 256], [255]),
    ("i32", [2.9, 2 ** 31], [2 ** 31 - 1, -2 ** 31]), ("f32", [1e60, -1e60], [1e-60, float("inf"), 3]),
    ("f16", [1e6], [65504, -0.0])])
def test_numbers_are_what_the_element_type_has(dtype, wrong, right):
    kernel = morello.compile(f"move {dtype}[] -> {dtype}[]")
    for number in wrong:
        with pytest.raises(morello.OperandError, match="no integer|out of its range"):
            kernel(number)
    for number in right:
        assert kernel(number) == np.asarray(number).astype(kernel.operands[0].dtype.name.lower().replace(
            "f", "float").replace("u8", "uint8").replace("i8", "int8").replace("i32", "int32"))


def test_masked_arrays_are_refused():
    kernel = morello.compile("relu f32[3]")
    with pytest.raises(morello.OperandError, match="masked"):
        kernel(np.ma.array(np.ones(3, np.float32), mask=[1, 0, 0]))
