# SPDX-License-Identifier: MIT
"""What becomes of a model that is several kernels: what is computed ahead, what is packed, what is stored, and where."""
import concurrent.futures
import random

import numpy as np
import pytest

import morello
from morello.memory import ALIGNMENT, arranged

onnx = pytest.importorskip("onnx")
import morello.onnx  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order
from onnx_models import check, info, make, model_of  # noqa: E402  pylint: disable=wrong-import-position


def texts(program):
    return [str(spec) for spec in program.specs]


@pytest.fixture
def convolutions(floats):
    """A chain, of which a value is read by two."""
    nodes = [make("Conv", ["x", "w1", "b1"], ["a"], pads=[1, 1, 1, 1]), make("Relu", ["a"], ["b"]),
             make("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1]), make("Add", ["c", "b"], ["d"]),
             make("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
             make("Conv", ["e", "w3"], ["y"])]
    return model_of(nodes, [info("x", [2, 3, 12, 12])], [info("y", [2, 8, 6, 6])],
                    [("w1", floats(16, 3, 3, 3) / 5), ("b1", floats(16)), ("w2", floats(16, 16, 3, 3) / 8),
                     ("w3", floats(8, 16, 1, 1))])


def test_weights_are_packed_and_what_is_known_is_computed_ahead(floats):
    nodes = [make("Transpose", ["w"], ["t"]), make("Gemm", ["x", "t", "b"], ["a"], beta=2.0),
             make("BatchNormalization", ["a", "g", "h", "m", "v"], ["y"])]
    model = model_of(nodes, [info("x", [8, 16])], [info("y", [8, 12])],
                     [("w", floats(12, 16)), ("b", floats(12)), *((name, np.abs(floats(12)) + 1) for name in "ghmv")])
    program = check(model, floats(8, 16), kernels=1)
    assert texts(program) == ["matmul f32[8,16] f32[16,12]{*} + bias f32[12] * f32[1,12] + f32[1,12] -> f32[8,12]"]
    # Parameters that are computed are no constants.
    computed = model_of([make("BatchNormalization", ["x", "g", "h", "m", "v"], ["y"])],
                        [info("x", [4, 6]), info("v", [6])], [info("y", [4, 6])],
                        [(name, np.abs(floats(6)) + 1) for name in "ghm"])
    check(computed, floats(4, 6), np.abs(floats(6)) + 1, kernels=1)


def test_operators_of_old_models_are_computed_ahead_as_their_versions_say(floats):
    nodes = [make("Unsqueeze", ["b"], ["u"], axes=[1, 2]), make("Add", ["x", "u"], ["y"])]
    check(model_of(nodes, [info("x", [2, 5, 3, 3])], [info("y", [2, 5, 3, 3])], [("b", floats(5))], opset=9),
          floats(2, 5, 3, 3), kernels=1)


def test_what_several_kernels_read_is_computed_once(convolutions, floats):
    program = check(convolutions, floats(2, 3, 12, 12))
    assert sum("[16,3,3,3]" in text for text in texts(program)) == 1, texts(program)
    assert sum("[16,16,3,3]" in text for text in texts(program)) == 1, texts(program)


def test_what_is_cut_off_computes_no_product_that_the_rest_needs_too(floats):
    # The norm of a convolution over its channels does not fit a kernel with it. ONNX's evaluator leaves out the last
    # channel of each sum, so a model of the norm alone says what is right.
    conv, norm = make("Conv", ["x", "w"], ["a"]), make("LRN", ["a"], ["y"], size=5)
    of_x, of_a, of_y = info("x", [1, 3, 9, 9]), info("a", [1, 8, 7, 7]), info("y", [1, 8, 7, 7])
    weights, x = [("w", floats(8, 3, 3, 3))], floats(1, 3, 9, 9)
    program = morello.onnx.compile(model_of([conv, norm], [of_x], [of_y], weights))
    assert sum("conv2d" in text for text in texts(program)) == 1, texts(program)
    a, = check(model_of([conv], [of_x], [of_a], weights), x)(x)
    squares = np.pad(np.square(a), ((0, 0), (2, 2), (0, 0), (0, 0)))
    want = a / (1 + 1e-4 / 5 * sum(squares[:, i:i + 8] for i in range(5))) ** 0.75
    np.testing.assert_allclose(program(x)[0], want, rtol=1e-4, atol=1e-4)


def test_what_is_shared_computes_nothing_that_is_shared_too(floats):
    # The chain is cut; before it, what its end reads again, and before that, what its end reads as well.
    nodes = [make("MatMul", ["x", "w"], ["r"]), make("Sigmoid", ["r"], ["s"]), make("MatMul", ["s", "v"], ["x0"]),
             *(make("Tanh", [f"x{i}"], [f"x{i + 1}"]) for i in range(24)),
             make("Add", ["x24", "x0"], ["t"]), make("Add", ["t", "r"], ["y"])]
    program = check(model_of(nodes, [info("x", [8, 6])], [info("y", [8, 10])],
                             [("w", floats(6, 10)), ("v", floats(10, 10) / 4)]), floats(8, 6))
    assert sum(text.count("matmul") for text in texts(program)) == 2, texts(program)


def test_products_in_factors_of_others_have_kernels_of_their_own_where_that_costs_less(floats):
    def attention(rows, size=64, heads=2):
        nodes = []
        for name, perm in (("q", [1, 0, 2]), ("k", [1, 2, 0]), ("v", [1, 0, 2])):
            nodes += [make("MatMul", ["x", "w" + name], [name]), make("Mul", [name, "b"], [name + "b"]),
                      make("Reshape", [name + "b", "s"], [name + "s"]), make("Transpose", [name + "s"], [name + "t"], perm=perm)]
        nodes += [make("MatMul", ["qt", "kt"], ["a"]), make("Softmax", ["a"], ["p"]), make("MatMul", ["p", "vt"], ["c"]),
                  make("Transpose", ["c"], ["d"], perm=[1, 0, 2]), make("Reshape", ["d", "t"], ["y"])]
        weights = [*(("w" + name, floats(size, size) / 8) for name in "qkv"), ("b", np.float32(0.5)),
                   ("s", np.array([rows, heads, size // heads], np.int64)), ("t", np.array([rows, size], np.int64))]
        return model_of(nodes, [info("x", [rows, size])], [info("y", [rows, size])], weights)
    check(attention(4), floats(4, 64), kernels=1)
    program = check(attention(500), floats(500, 64), kernels=4)
    assert sum("* 0.5 ->" in text for text in texts(program)) == 3 and "softmax" in texts(program)[-1], texts(program)


def test_a_product_that_is_repeated_is_computed_once_where_that_costs_less(floats):
    nodes = [make("GlobalAveragePool", ["x"], ["m"]), make("Conv", ["m", "w"], ["a"]), make("Relu", ["a"], ["b"]),
             make("Conv", ["b", "v"], ["c"]), make("HardSigmoid", ["c"], ["g"]), make("Mul", ["g", "x"], ["y"])]
    model = model_of(nodes, [info("x", [1, 64, 14, 14])], [info("y", [1, 64, 14, 14])],
                     [("w", floats(16, 64, 1, 1) / 8), ("v", floats(64, 16, 1, 1) / 4)])
    program = check(model, floats(1, 64, 14, 14))
    assert not any("conv2d" in text and "[1,64,14,14]" in text for text in texts(program)[1:]), texts(program)


def test_a_gate_stays_in_the_kernel_of_its_product(floats):
    nodes = [make("MatMul", ["x", "w"], ["a"]), make("Sigmoid", ["a"], ["s"]), make("Mul", ["a", "s"], ["y"])]
    check(model_of(nodes, [info("x", [4, 8])], [info("y", [4, 6])], [("w", floats(8, 6))]), floats(4, 8), kernels=1)


@pytest.mark.parametrize("known", [True, False])
def test_points_of_windows_that_lie_in_padding_are_left_out(floats, known):
    x, w = floats(1, 6, 8, 9), floats(4, 6, 3, 3)
    inputs, weights = [info("x", [1, 6, 8, 9])], [("w", w)] if known else []
    if not known:
        inputs.append(info("w", [4, 6, 3, 3]))
    for sizes, pads, dilations in (("1,1", [12, 9] * 2, [12, 9]), ("3,1", [6, 12] * 2, [6, 12]),
                                   ("2,3", [8, 1, 0, 1], [4, 1])):
        places = [n + pads[i] + pads[i + 2] - 2 * dilations[i] for i, n in enumerate((8, 9))]
        program = check(model_of([make("Conv", ["x", "w"], ["y"], pads=pads, dilations=dilations)], inputs,
                                 [info("y", [1, 4, *places])], weights), *([x] if known else [x, w]), kernels=1)
        assert f"f32[4,6,{sizes}]" in texts(program)[0], texts(program)


def test_axes_of_values_between_convolutions_lie_as_costs_less(convolutions, floats):
    from morello.onnx import _compiled  # pylint: disable=import-outside-toplevel
    from morello.writer import Writer
    options = {"effort": "quick"}
    both = [_compiled(convolutions, {}, {}, Writer(dict(options), last, {})) for last in (False, True)]
    x = floats(2, 3, 12, 12)
    np.testing.assert_allclose(both[0](x)[0], both[1](x)[0], rtol=1e-4, atol=1e-4)
    assert any("{1,3,2,0}" in text for text in texts(both[1])) and not any("{1,3,2,0}" in text for text in texts(both[0]))
    assert morello.onnx.compile(convolutions).cost == min(program.cost for program in both)


def test_any_number_of_threads(convolutions, floats):
    program = morello.onnx.compile(convolutions)
    inputs = [floats(2, 3, 12, 12) for _ in range(24)]
    want = [program(x)[0] for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got, expected in zip(pool.map(program, inputs), want):
            assert np.array_equal(got[0], expected)
    threaded = morello.onnx.compile(convolutions, threads=2)
    np.testing.assert_allclose(threaded(inputs[0])[0], want[0], rtol=1e-4, atol=1e-4)


def test_results_are_not_written_again(convolutions, floats):
    program, x = morello.onnx.compile(convolutions), floats(2, 3, 12, 12)
    first, = program(x)
    kept = first.copy()
    program(2 * x)
    assert np.array_equal(first, kept) and np.array_equal(program(x)[0], kept)


def test_memory_between_kernels_is_used_again(floats):
    count = 12
    nodes = [make("Conv", [f"x{i}", "w"], [f"x{i + 1}"], pads=[1, 1, 1, 1]) for i in range(count)]
    model = model_of(nodes, [info("x0", [1, 8, 20, 20])], [info(f"x{count}", [1, 8, 20, 20])],
                     [("w", floats(8, 8, 3, 3) / 9)])
    program = check(model, floats(1, 8, 20, 20))
    size = 8 * 20 * 20 * 4
    assert len(program.specs) == count and 2 * size <= program.workspace_size < 3 * size


def test_kernels_are_timed(convolutions, floats):
    program, x = morello.onnx.compile(convolutions), floats(2, 3, 12, 12)
    timed = program.profile(x, rounds=2)
    assert [kernel for kernel, _ in timed] == list(program.kernels)
    assert all(0 < seconds < 1 for _, seconds in timed)
    with pytest.raises(TypeError, match="0 inputs, of 1: x"):
        program.profile()


def test_settings_are_those_of_one_context(convolutions, tmp_path):
    morello.onnx.compile(convolutions, cache_directory=tmp_path)
    assert list(tmp_path.iterdir())
    again = morello.onnx.compile(convolutions, cache_directory=tmp_path)
    assert all(kernel.stats.stored for kernel in again.kernels)
    assert all(kernel.isa == morello.Isa.AVX2 for kernel in morello.onnx.compile(convolutions, max_isa="avx2").kernels)
    with pytest.raises(ValueError, match="settings of the context"):
        morello.onnx.compile(convolutions, max_isa="avx2", context=morello.Context())


def test_arrays_that_are_used_at_the_same_time_do_not_overlap(request):
    for seed in range(request.config.getoption("--seed"), request.config.getoption("--seed") + 200):
        rng = random.Random(seed)
        arrays = {}
        for key in range(rng.randint(0, 12)):
            first = rng.randint(0, 9)
            arrays[key] = rng.choice([1, 60, 64, 100, 4096]), first, rng.randint(first, 10)
        offsets, size = arranged(arrays)
        assert offsets.keys() == arrays.keys(), seed
        for key, (length, first, last) in arrays.items():
            assert offsets[key] % ALIGNMENT == 0 and offsets[key] + length <= size, seed
            for other, (length2, first2, last2) in arrays.items():
                if key < other and first <= last2 and first2 <= last:
                    assert offsets[key] + length <= offsets[other] or offsets[other] + length2 <= offsets[key], seed
        most = max((sum(-(-length // ALIGNMENT) * ALIGNMENT for length, first, last in arrays.values() if first <= at <= last)
                    for at in range(11)), default=0)
        assert size <= max(2 * most, 0), seed


def test_sizes_of_axes_with_names(floats):
    nodes = [make("Shape", ["x"], ["s"], start=0, end=1), make("Concat", ["s", "m"], ["t"], axis=0),
             make("Reshape", ["x", "t"], ["f"]), make("MatMul", ["f", "w"], ["y"])]
    model = model_of(nodes, [info("x", ["batch", 3, "columns"])], [info("y", ["batch", 7])],
                     [("m", np.array([-1], np.int64)), ("w", floats(12, 7))])
    for batch in (1, 5):
        check(model, floats(batch, 3, 4), sizes={"batch": batch, "columns": 4}, kernels=1)
    with pytest.raises(morello.SpecError, match=r'input x has sizes that the model does not say: sizes=\{"columns": \.\.\} does'):
        morello.onnx.compile(model, sizes={"batch": 1})
    with pytest.raises(ValueError, match="sizes of rows: the inputs have axes batch, columns"):
        morello.onnx.compile(model, sizes={"rows": 1})
