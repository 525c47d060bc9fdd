# SPDX-License-Identifier: MIT
"""Kernels against NumPy, and what they refuse."""
import pickle

import numpy as np
import pytest

import morello
from morello import Dtype, Status
from morello.arrays import numpy_dtype


def random_array(rng, tensor):
    """Small numbers that every element type has."""
    values = rng.integers(0 if tensor.dtype == Dtype.U8 else -4, 5, tensor.shape)
    try:
        dtype = numpy_dtype(tensor.dtype)
    except ImportError as error:
        pytest.skip(str(error))
    dense = values.astype(dtype)
    if tensor.strides is None or not tensor.shape:
        return dense
    strides = [stride * dtype.itemsize for stride in tensor.strides]
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides))
    array = np.ndarray(tensor.shape, dtype, np.zeros(extent, dtype), strides=strides)
    array[...] = dense
    return array


def f32(x):
    return np.asarray(x).astype(np.float32)


@pytest.mark.parametrize("text, reference", [
    ("matmul f32[5,7] f32[7,9]", lambda a, b: a @ b),
    ("matmul f32[5,7]{0,1} f32[7,9]", lambda a, b: a @ b),
    ("matmul f32[5,7]{strides=11,1} f32[7,9]{0,1} -> f32[5,9]{0,1}", lambda a, b: a @ b),
    ("matmul f32[2,5,7] f32[2,7,9] + bias f32[9] -> relu", lambda a, b, c: np.maximum(a @ b + c, 0)),
    ("matmul bf16[5,8] bf16[8,9] -> f32[5,9]", lambda a, b: f32(a) @ f32(b)),
    ("matmul bf16[5,8] bf16[8,9] -> bf16[5,9]", lambda a, b: f32(a) @ f32(b)),
    ("matmul f16[5,8] f16[8,9]", lambda a, b: f32(a) @ f32(b)),
    ("matmul u8[5,8] i8[8,9]", lambda a, b: a.astype(np.int32) @ b.astype(np.int32)),
    ("matmul u8[5,8] i8[8,9] * f32[9]", lambda a, b, c: a.astype(np.int32) @ b.astype(np.int32) * c),
    ("add i32[3,1] i32[4]", lambda a, b: a + b),
    ("sub i8[3,4] i8[3,4]", lambda a, b: a - b),
    ("reduce_max f32[5,6,7] axis=1", lambda a: a.max(1)),
    ("transpose i32[2,3,4] perm=1,0,2", lambda a: a.transpose(1, 0, 2)),
    ("mul f32[] f32[3]", lambda a, b: a * b),
    ("exp f32[3,5] -> f16[3,5]", lambda a: np.exp(a).astype(np.float16)),
])
def test_against_numpy(rng, text, reference):
    kernel = morello.compile(text)
    inputs = [random_array(rng, tensor) for tensor in kernel.operands[:-1]]
    result, wanted = kernel(*inputs), np.asarray(reference(*inputs))
    assert result.shape == wanted.shape
    assert result.dtype == numpy_dtype(kernel.operands[-1].dtype)
    np.testing.assert_allclose(f32(result), f32(wanted), rtol=1e-2 if result.itemsize == 2 else 1e-5)
    np.testing.assert_allclose(f32(kernel.spec.evaluate(*inputs)), f32(wanted), rtol=1e-2)


def test_bf16_as_bits_of_uint16(floats):
    kernel = morello.compile("relu bf16[4,8]")
    bits = (floats(4, 8).view(np.uint32) >> 16).astype(np.uint16)
    out = np.empty_like(bits)
    assert kernel(bits, out=out) is out
    np.testing.assert_array_equal(out, np.where(bits >> 15, 0, bits))


def test_bf16_without_its_module(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    kernel = morello.compile("relu bf16[4,8]")
    with pytest.raises(ImportError, match="install ml_dtypes, or pass uint16"):
        kernel(np.zeros((4, 8), np.uint16))


def test_outputs_that_are_given(floats):
    a, b = floats(6, 4), floats(4, 5)
    memory = np.zeros((6, 16), np.float32)
    strided = morello.compile("matmul f32[6,4] f32[4,5] -> f32[6,5]{strides=16,1}")
    strided(a, b, out=memory[:, :5])
    np.testing.assert_allclose(memory[:, :5], a @ b, rtol=1e-5)
    assert not memory[:, 5:].any()


def test_accumulates(floats):
    a, b, c = floats(6, 4), floats(4, 5), floats(6, 5)
    kernel = morello.compile("matmul f32[6,4] f32[4,5] += f32[6,5]")
    assert kernel.spec.accumulates
    wanted = c + a @ b
    np.testing.assert_allclose(kernel(a, b, out=c), wanted, rtol=1e-5)
    with pytest.raises(morello.OperandError, match="pass it by out="):
        kernel(a, b)


def test_packs(floats):
    kernel = morello.compile("matmul f32[6,16] f32[16,24]{*} -> f32[6,24]")
    a, b = floats(6, 16), floats(16, 24)
    packed = kernel.pack(1, b)
    assert packed.address % 64 == 0
    np.testing.assert_allclose(kernel(a, packed), a @ b, rtol=1e-4, atol=1e-5)
    again = morello.Kernel.from_bytes(kernel.to_bytes())
    np.testing.assert_array_equal(again(a, packed), kernel(a, packed))
    with pytest.raises(morello.OperandError, match="free layout: pass what Kernel.pack"):
        kernel(a, b)
    with pytest.raises(morello.OperandError, match="its layout is not free"):
        kernel.pack(0, a)
    with pytest.raises(morello.OperandError, match="operand 7"):
        kernel.pack(7, a)
    with pytest.raises(morello.OperandError, match="got the shape"):
        kernel.pack(1, a)
    other = morello.compile("matmul f32[6,16] f32[16,32]{*} -> f32[6,32]")
    with pytest.raises(morello.OperandError, match="another kernel"):
        other(a, packed)


@pytest.mark.parametrize("change, message", [
    (lambda x: x[:2], r"input 0 \(f32\[3,5\]\): got the shape \(2, 5\)"),
    (lambda x: x.astype(np.float64), "elements of type float64"),
    (lambda x: x.astype(">f4"), "elements of type >f4"),
    (np.asfortranarray, "got strides of"),
    (lambda x: np.repeat(x, 2, 1)[:, ::2], "got strides of"),
    (lambda x: x[::-1, :], "got strides of"),
    (lambda x: None, "got a NoneType"),
    (lambda x: x.tolist(), "got a list"),
    (lambda x: 3, "got a int"),
])
def test_inputs_that_do_not_fit(add, floats, change, message):
    with pytest.raises(morello.OperandError, match=message):
        add(change(floats(3, 5)), floats(3, 5))


def test_calls_that_do_not_fit(add, floats):
    x, y = floats(3, 5), floats(3, 5)
    with pytest.raises(morello.OperandError, match="1 inputs; the Spec has 2"):
        add(x)
    with pytest.raises(morello.OperandError, match="shares memory"):
        add(x, y, out=x)
    y.flags.writeable = False
    with pytest.raises(morello.OperandError, match="read-only"):
        add(x, x, out=y)
    memory = np.zeros(61, np.uint8)[1:].view(np.float32).reshape(3, 5)
    with pytest.raises(morello.OperandError) as raised:
        add(memory, x)
    assert raised.value.status == Status.MISALIGNED


def test_errors_of_specs():
    with pytest.raises(morello.SpecError) as raised:
        morello.Spec("relu f32[3]\n -> sofmax")
    assert (raised.value.status, raised.value.line, raised.value.column) == (Status.SYNTAX_ERROR, 2, 5)
    assert isinstance(raised.value, ValueError)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    with pytest.raises(morello.SpecError):
        morello.compile("relu f64[3]")
    with pytest.raises(ValueError, match="zero byte"):
        morello.Spec("relu\0")
    with pytest.raises(ValueError, match="isa 'sse'"):
        morello.compile("relu f32[3]", isa="sse")
    with pytest.raises(ValueError, match="settings of the context"):
        morello.compile("relu f32[3]", max_isa="avx2", context=morello.Context())


def test_caps(floats):
    kernel = morello.compile("add f32[9] f32[9]", max_isa="avx2")
    assert kernel.isa == morello.Isa.AVX2
    with pytest.raises(morello.Error) as raised:
        morello.compile("add f32[9] f32[9]", isa="avx512", max_isa="avx2")
    assert raised.value.status == Status.ISA_UNAVAILABLE
    searched = morello.compile("add f32[9] f32[9]", isa="avx512", search_only=True)
    assert searched.isa == morello.Isa.AVX512 and "avx512" in searched.program and not searched.code
    with pytest.raises(morello.Error):
        searched(floats(9), floats(9))


def test_explains():
    kernel = morello.compile("matmul f32[16,16] f32[16,16]")
    text = kernel.explain(plan=True)
    for part in (str(kernel.spec), kernel.name, kernel.program.strip(), kernel.plan.strip(), "proven", "a search of"):
        assert part in text
    assert kernel.cost >= kernel.stats.lower_bound > 0 and kernel.stats.optimal
    assert str(kernel) == "matmul f32[16,16] f32[16,16] -> f32[16,16]"
    assert repr(kernel).startswith("Kernel('matmul f32[16,16] f32[16,16] -> f32[16,16]', isa=")
    assert kernel.spec.flops == 2 * 16 ** 3
    assert morello.Spec(str(kernel)) == kernel.spec and len({kernel.spec, morello.Spec(str(kernel))}) == 1


def test_stored(tmp_path, floats):
    kernel = morello.compile("matmul f32[6,16] f32[16,24] -> relu")
    a, b = floats(6, 16), floats(16, 24)
    kernel.save(tmp_path / "k.mkrn")
    assert (tmp_path / "k.mkrn").read_bytes() == kernel.to_bytes()
    for again in (morello.Kernel.load(tmp_path / "k.mkrn"), pickle.loads(pickle.dumps(kernel))):
        assert again.stats.stored and again.spec == kernel.spec and "stored" in again.explain()
        np.testing.assert_array_equal(again(a, b), kernel(a, b))
    damaged = bytearray(kernel.to_bytes())
    damaged[-1] ^= 1
    with pytest.raises(morello.Error) as raised:
        morello.Kernel.from_bytes(bytes(damaged))
    assert raised.value.status == Status.CORRUPT_KERNEL
    with pytest.raises(morello.Error) as raised:
        morello.Kernel.load(tmp_path / "none")
    assert raised.value.status == Status.IO_ERROR


def test_cache_directory(tmp_path):
    said = []
    context = morello.Context(cache_directory=tmp_path / "cache", log=lambda *each: said.append(each))
    assert not morello.compile("relu f32[77]", context=context).stats.stored
    assert morello.compile("relu f32[77]", cache_directory=tmp_path / "cache").stats.stored
    assert all(level in (1, 2) and isinstance(text, str) for level, text in said)


def test_tables(tmp_path):
    path, seen = tmp_path / "t.mtab", []
    morello.precompute("add f32[<=8] f32[<=8]", path, isa="avx2", workers=1, progress=seen.append)
    in_memory = morello.precompute_table("add f32[<=8] f32[<=8]", isa="avx2")
    assert in_memory.to_bytes() == path.read_bytes()
    again = morello.precompute_table(["add f32[<=8] f32[<=8]"], in_memory, isa="avx2", progress=seen.append)
    assert seen[-1].found == seen[-1].members and again.to_bytes() == in_memory.to_bytes()
    assert seen and seen[-1].done == seen[-1].members
    table = morello.Table.load(path)
    assert table.families == ["add f32[<=8] f32[<=8] -> f32[<=8]"] or len(table.families) == 1
    assert table.info.isa == morello.Isa.AVX2 and table.info.points > 0 and "avx2" in repr(table)
    assert table.covers("add f32[8] f32[8]") and not table.covers("add f32[80] f32[80]")
    assert table.coverage("add f32[<=8] f32[<=8]") == (8, 8)
    assert table.miss("add f32[8] f32[8]") == "" and "80 is beyond" in table.miss("add f32[80] f32[80]")
    assert table.info.parts == 1 and table.part(0).to_bytes() == table.to_bytes()
    assert table.verify(2).failures == 0
    assert table.plot().startswith("<svg") and table.dump(json=True).startswith("{")
    kernel = morello.compile("add f32[8] f32[8]", isa="avx2", table=table)
    assert kernel.stats.table_use == morello.TableUse.ANSWERED and "a table" in kernel.explain()
    assert morello.compile("add f32[80] f32[80]", isa="avx2", table=table).stats.table_reason == \
        morello.TableReason.SPEC
    again = morello.Table.from_bytes(path.read_bytes())
    again.merge(table).save(tmp_path / "both.mtab")
    assert (tmp_path / "both.mtab").read_bytes() == path.read_bytes()
    with pytest.raises(morello.Error) as raised:
        morello.Table.from_bytes(b"no table")
    assert raised.value.status == Status.CORRUPT_TABLE
    with pytest.raises(morello.Error):
        table.plot(x="nothing")
    table.close()
    with pytest.raises(ValueError, match="this Table is closed"):
        table.info  # pylint: disable=pointless-statement


def test_graph_builder(floats):
    with morello.Graph() as graph:
        x = graph.input(morello.Tensor(Dtype.F32, (2, 4)))
        y = graph.apply("softmax axis=1", [graph.apply("mul", [x, graph.constant(0.5)])])
        with pytest.raises(morello.SpecError):
            graph.apply("softmax axis=7", [y])
        spec = graph.finish(y)
    assert str(spec) == "mul f32[2,4] 0.5 -> softmax axis=1 -> f32[2,4]"
    a = floats(2, 4)
    wanted = np.exp(a / 2) / np.exp(a / 2).sum(1, keepdims=True)
    np.testing.assert_allclose(morello.compile(spec)(a), wanted, rtol=1e-5)


def test_effort():
    spec = "matmul f32[161,197] f32[197,183] -> f32[161,183]"
    quick, exact = (morello.compile(spec, isa="avx2", effort=effort, search_only=True) for effort in ("quick", 0))
    assert quick.stats.effort == morello.Effort.QUICK and exact.stats.effort == 0
    assert exact.stats.optimal and quick.stats.expanded < exact.stats.expanded
    for effort in ("quickly", -1):
        with pytest.raises(ValueError, match="effort"):
            morello.compile(spec, effort=effort)


def test_arguments_of_other_types():
    spec = "relu f32[4]"
    for other in (None, b"relu f32[4]", 3):
        with pytest.raises(TypeError, match="a Spec is a str such as"):
            morello.compile(other)
    with pytest.raises(TypeError, match="table is a Table, as Table.load"):
        morello.compile(spec, table="t.mtab")
    with pytest.raises(TypeError, match="context is a Context, not str"):
        morello.compile(spec, context="avx2")
    for budget in (-1, float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="time_budget is a number of seconds from 0, or None"):
            morello.compile(spec, time_budget=budget)
    morello.compile(spec, time_budget=1e300, memory_budget=1 << 30)
    for function in (3, "relu f32[4]"):
        with pytest.raises(TypeError, match="jit is of a function"):
            morello.jit(function)
        with pytest.raises(TypeError, match="jit is of a function"):
            morello.jit(threads=1)(function)


def test_breakdown_and_tools():
    with pytest.raises(morello.Error, match="magic"):
        morello.Context(tools="magic")
    kernel = morello.compile("matmul f32[8,8] f32[8,8]", context=morello.Context(tools="gdb,unwind"))
    found = kernel.breakdown()
    assert sum(found["resources"].values()) == pytest.approx(found["cycles"], abs=0.01)
    assert morello.Kernel.from_bytes(kernel.to_bytes()).breakdown() == {}


@pytest.mark.parametrize("layout", ["", "{*}"])
def test_run_time_size(rng, layout):
    kernel = morello.compile(f"matmul f32[?<=20,8] f32[8,24]{layout}", effort="quick")
    assert kernel.largest_size == kernel.spec.largest_size == 20
    assert kernel.cost_at_size(1) < kernel.cost_at_size(20) == kernel.cost
    b = rng.standard_normal((8, 24)).astype(np.float32)
    weights = kernel.pack(1, b) if layout else b
    for size in (1, 5, 19, 20):
        a = rng.standard_normal((size, 8)).astype(np.float32)
        np.testing.assert_allclose(kernel(a, weights), a @ b, rtol=1e-4, atol=1e-5)
        assert kernel.spec.at_size(size).operands[0].shape == (size, 8)
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_allclose(again(a, weights), a @ b, rtol=1e-4, atol=1e-5)


def test_run_time_size_refused():
    kernel = morello.compile("relu f32[?<=4,3]")
    with pytest.raises(morello.OperandError, match="1 to 4"):
        kernel(np.zeros((5, 3), np.float32))
    with pytest.raises(morello.OperandError, match="shape"):
        kernel(np.zeros((3, 3), np.float32), size=2)
    fill = morello.compile("fill 3 -> f32[?<=4]")
    with pytest.raises(morello.OperandError, match="size="):
        fill()
    assert fill(size=3).shape == (3,)
    with pytest.raises(morello.OperandError, match="no run-time size"):
        morello.compile("relu f32[3]")(np.zeros(3, np.float32), size=3)


def test_several_outputs(floats):
    x = floats(5, 37)
    kernel = morello.compile("x f32[5,37]; m = reduce_max x axis=1; s = reduce_sum x axis=1; m, s")
    assert [str(tensor) for tensor in kernel.spec.outputs] == ["f32[5]", "f32[5]"]
    result = kernel(x)
    assert isinstance(result, tuple) and (result[0] == x.max(1)).all()
    np.testing.assert_allclose(result[1], x.sum(1), rtol=1e-5, atol=1e-5)
    m, s = np.empty(5, np.float32), np.empty(5, np.float32)
    assert kernel(x, out=(m, s))[0] is m and (m == result[0]).all() and (s == result[1]).all()
    evaluated = kernel.spec.evaluate(x)
    assert (evaluated[0] == result[0]).all()
    np.testing.assert_allclose(evaluated[1], result[1], rtol=1e-5, atol=1e-5)
    loaded = morello.Kernel.from_bytes(kernel.to_bytes())
    assert (loaded(x)[1] == result[1]).all()
    with pytest.raises(morello.OperandError, match="shares memory with operand 1 .output 0."):
        kernel(x, out=(m, m))
    for out in (m, (m,), (m, s, s)):
        with pytest.raises(morello.OperandError, match="out has to be 2 arrays"):
            kernel(x, out=out)
    with pytest.raises(morello.OperandError, match=r"out\[1\] .* got the shape"):
        kernel(x, out=(m, np.empty(6, np.float32)))
    adds = morello.compile("y = exp f32[3]; z = neg y; y += f32[3], z -> f32[3]")
    assert adds.spec.accumulating == (True, False)
    with pytest.raises(morello.OperandError, match="adds to its output"):
        adds(floats(3))


def test_several_outputs_of_a_run_time_size(floats):
    kernel = morello.compile("x f32[?<=6,9]; m = reduce_max x axis=1; s = reduce_sum x axis=1; m, s", effort="quick")
    for size in (1, 4, 6):
        x = floats(size, 9)
        m, s = kernel(x)
        assert m.shape == (size,) and (m == x.max(1)).all()
        np.testing.assert_allclose(s, x.sum(1), rtol=1e-5, atol=1e-5)


def test_graph_builder_with_several_outputs(floats):
    with morello.Graph() as graph:
        x = graph.input(morello.Tensor(Dtype.F32, (2, 4)))
        y = graph.apply("exp", [x])
        s = graph.apply("reduce_sum axis=1", [y])
        spec = graph.finish_outputs([s, y], [None, morello.Tensor(Dtype.F16, (2, 4))])
        assert str(spec) == "v0 = exp f32[2,4]; v1 = reduce_sum v0 axis=1; v1 -> f32[2], v0 -> f16[2,4]"
        with pytest.raises(morello.Error, match="are the same value"):
            graph.finish_outputs([s, y, s])
    assert morello.Spec(str(spec)) == spec


def test_tables_of_quick_searches():
    spec = "matmul f32[12,24] f32[24,16]"
    table = morello.precompute_table("matmul f32[<=12,24] f32[24,16]", isa="avx2", effort="quick")
    assert table.info.effort == morello.Effort.QUICK and table.covers(spec)
    quick = morello.compile(spec, isa="avx2", effort="quick", table=table, search_only=True)
    assert quick.stats.table_use == morello.TableUse.ANSWERED and not quick.stats.optimal
    exact = morello.compile(spec, isa="avx2", table=table, search_only=True)
    assert exact.stats.table_reason == morello.TableReason.EFFORT and exact.stats.optimal and exact.cost <= quick.cost
    with pytest.raises(morello.Error, match="options.effort is 7"):
        morello.precompute_table("relu f32[<=4]", effort=7)
