# SPDX-License-Identifier: MIT
"""Functions of arrays against NumPy."""
import warnings

import numpy as np
import pytest

import morello


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layernorm(x, gamma, beta):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(np.mean(np.square(centred), axis=-1, keepdims=True) + 1e-5) * gamma + beta


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


WEIGHTS = np.linspace(-1, 1, 96, dtype=np.float32).reshape(12, 8)


@pytest.mark.parametrize("function, shapes", [
    (lambda a, b: np.maximum(a @ b + 1, 0) * 2, [(8, 9), (9, 7)]),
    (softmax, [(8, 33)]),
    (layernorm, [(8, 32), (32,), (32,)]),
    (lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6), [(8, 32)]),
    (lambda q, k, v: softmax(q @ k.T * 0.25) @ v, [(8, 16), (24, 16), (24, 8)]),
    (lambda q, k, v: softmax(q @ np.swapaxes(k, -1, -2)) @ v, [(2, 8, 16), (2, 9, 16), (2, 9, 8)]),
    (lambda x, w, b: gelu_tanh(x @ w + b), [(4, 8), (8, 12), (12,)]),
    (lambda x: np.tanh(x @ WEIGHTS), [(4, 12)]),
    (lambda x: np.log(np.sum(np.exp(x), axis=1)), [(5, 6)]),
    (lambda x, w: np.sum(x[:, None] * w, axis=(0, 2)), [(5, 6), (5, 3, 6)]),
    (lambda x: x.T, [(5, 6)]),
    (lambda x, y: np.einsum("ij,kj->ik", x, y), [(5, 6), (4, 6)]),
    (lambda x, y: np.einsum("ij,jk", x, y), [(5, 6), (6, 4)]),
    (lambda x, y: x @ y, [(3, 5, 6), (6, 4)]),
    (lambda x, y: x @ y, [(6,), (6,)]),
    (lambda x, y: x @ y, [(3, 5, 6), (6,)]),
    (lambda x, y: x @ y, [(2, 1, 5, 6), (3, 6, 4)]),
    (lambda x, y: np.dot(x, y), [(5, 6), (6, 4)]),
    (lambda x, y: np.outer(x, y), [(5,), (6,)]),
    (lambda x: x.reshape(2, -1) + 1, [(6, 5)]),
    (lambda x: np.std(x, axis=0), [(7, 5)]),
    (lambda x: x.var(ddof=1), [(7,)]),
    (lambda x: np.clip(x, -0.5, 0.5) - x.clip(0), [(7, 3)]),
    (lambda x: 1 / (1 + np.exp(-x)), [(3, 4)]),
    (lambda x: abs(-x) ** 0.5 + x ** 2, [(3, 4)]),
    (lambda x: np.expand_dims(x.min(1), 0) + np.squeeze(x.max(1, keepdims=True)), [(3, 4)]),
    (lambda x: np.moveaxis(x, 0, -1) - x.transpose(1, 2, 0), [(2, 3, 4)]),
    (lambda x: np.floor(x) + np.ceil(x) + np.rint(x) + np.round(x), [(3, 4)]),
    (lambda x: np.add.reduce(x) * np.float64(2), [(3, 4)]),
    (lambda x: x + np.broadcast_to(x.mean(1, keepdims=True), x.shape), [(3, 4)]),
    (lambda x: np.shape(x)[0] * x / len(x) + x.ndim - x.size, [(3, 4)]),
    (lambda x: x, [(3, 4)]),
    (lambda x: softmax(x @ x.T) @ x, [(6, 4)]),
    (lambda x: np.where(x < 0, x * np.float32(0.1), x), [(5, 7)]),
    (lambda x: np.where(x > 0, x, np.exp(x) - 1), [(5, 7)]),
    (lambda x, y: np.where((x < y) & (x != 0.5) | ~(y >= 0), x, y), [(5, 7), (7,)]),
    (lambda x, y: np.where(np.logical_not(x <= y), x, np.float32(2)), [(5, 7), (5, 1)]),
    (lambda x: np.where(x == x, np.float32(1), np.float32(-1)) - np.where(np.isnan(x), np.float32(0), x), [(5, 7)]),
    (lambda x: np.where(0 < x, np.float32(3), x).sum(axis=0), [(5, 7)]),
    (lambda x: x * np.clip(x + 3, 0, 6) / 6, [(5, 7)]),
    (lambda x: np.where(np.arange(7) % 2 == 0, x, -x), [(5, 7)]),
    (lambda x, w: (lambda y: np.where(y > 0, y, y * np.float32(0.25)))(x @ w), [(5, 7), (7, 9)]),
])
def test_against_numpy(floats, function, shapes):
    arrays = [floats(*shape) for shape in shapes]
    jitted = morello.jit(function)
    result, wanted = jitted(*arrays), np.asarray(function(*arrays))
    assert result.shape == wanted.shape and result.dtype == np.float32
    np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=5e-6)
    assert jitted(*arrays).tobytes() == result.tobytes() and len(jitted) == 1


STEPS = [
    lambda x, y: x + y, lambda x, y: x - y * 0.5, lambda x, y: np.maximum(x, y), lambda x, y: x * y.mean(0),
    lambda x, y: np.tanh(x), lambda x, y: np.sin(x) * np.cos(y * 50), lambda x, y: np.minimum(x, 0.25),
    lambda x, y: x / (np.abs(y) + 1),
    lambda x, y: np.exp(np.minimum(x, 1)), lambda x, y: x - x.max(axis=1, keepdims=True), lambda x, y: np.square(x),
    lambda x, y: np.sum(x, axis=0) + y, lambda x, y: 1 - x, lambda x, y: np.sqrt(np.abs(x) + 0.5),
    lambda x, y: x + y.sum(keepdims=True), lambda x, y: x.reshape(2, 2, 6).max(1).sum(0) - y,
]


@pytest.mark.parametrize("round_number", range(30))
def test_random_functions(request, floats, round_number):
    rng = np.random.default_rng([request.config.getoption("--seed"), round_number])
    chosen = rng.integers(0, len(STEPS), rng.integers(2, 6))

    def function(x, y):
        for number in chosen:
            x = STEPS[number](x, y)
        return x
    x, y = floats(4, 6), floats(4, 6)
    wanted = function(x, y)
    try:
        result = morello.jit(function)(x, y)
    except morello.SpecError as error:
        assert error.status == morello.Status.UNSUPPORTED, (chosen, error)
        pytest.skip(f"{chosen}: {error}")
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4, err_msg=f"steps {chosen}")


@pytest.mark.parametrize("function, reference, shapes", [
    (morello.softmax, softmax, [(4, 9)]),
    (lambda x: morello.softmax(x, axis=0), lambda x: softmax(x.T).T, [(4, 9)]),
    (morello.log_softmax, lambda x: np.log(softmax(x)), [(4, 9)]),
    (morello.logsumexp, lambda x: np.log(np.exp(x).sum()), [(4, 9)]),
    (morello.layernorm, layernorm, [(4, 16), (16,), (16,)]),
    (morello.rmsnorm, lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g, [(4, 16), (16,)]),
    (morello.attention, lambda q, k, v: softmax(q @ k.T / 4) @ v, [(8, 16), (24, 16), (24, 8)]),
    (lambda q, k, v, m: morello.attention(q, k, v, m, scale=0.5), lambda q, k, v, m: softmax(q @ k.T / 2 + m) @ v,
     [(8, 16), (24, 16), (24, 8), (8, 24)]),
    (morello.scaled_matmul, lambda x, w, s: x @ (w * np.repeat(s, 4, 0)), [(5, 12), (12, 7), (3, 7)]),
    (morello.scaled_matmul, lambda x, w, s, t: (x * np.repeat(t, 4, 1)) @ (w * np.repeat(s, 4, 0)),
     [(5, 12), (12, 7), (3, 7), (5, 3)]),
    (morello.relu, lambda x: np.maximum(x, 0), [(7,)]),
    (morello.sigmoid, lambda x: 1 / (1 + np.exp(-x)), [(7,)]),
    (morello.silu, lambda x: x / (1 + np.exp(-x)), [(7,)]),
    (morello.gelu_tanh, gelu_tanh, [(7,)]),
    (morello.gelu, lambda x: x / 2 * (1 + np.vectorize(__import__("math").erf)(x / np.sqrt(2))), [(7,)]),
    (morello.erf, lambda x: np.vectorize(__import__("math").erf)(x), [(7,)]),
    (lambda x: morello.rsqrt(morello.fast_max(x, 1)), lambda x: 1 / np.sqrt(np.maximum(x, 1)), [(7,)]),
    (morello.fast_min, np.minimum, [(7,), (7,)]),
    (lambda x, y: morello.where(x < y, x, y), np.minimum, [(7,), (7,)]),
    (lambda x, y: morello.where(x, y, x), lambda x, y: y, [(7,), (7,)]),
    (morello.conv2d, lambda x, w: np.einsum("nchwrs,ocrs->nohw", np.lib.stride_tricks.sliding_window_view(
        x, (3, 3), (2, 3)), w), [(1, 2, 6, 7), (4, 2, 3, 3)]),
    (lambda x: morello.max_pool(x, 2), lambda x: x.reshape(1, 2, 3, 2, 4, 2).max((3, 5)), [(1, 2, 6, 8)]),
    (lambda x: morello.avg_pool(x, 2), lambda x: x.reshape(1, 2, 3, 2, 4, 2).mean((3, 5)), [(1, 2, 6, 8)]),
])
def test_functions_alone_and_traced(floats, function, reference, shapes):
    arrays = [floats(*shape) for shape in shapes]
    wanted = reference(*arrays)
    for call in (function, morello.jit(function)):
        np.testing.assert_allclose(call(*arrays), wanted, rtol=2e-5, atol=5e-6)


def test_element_types(rng):
    a, b = rng.integers(0, 9, (4, 8)).astype(np.uint8), rng.integers(-9, 9, (8, 5)).astype(np.int8)
    product = a.astype(np.int32) @ b.astype(np.int32)
    result = morello.jit(lambda a, b: a @ b)(a, b)
    assert result.dtype == np.int32 and (result == product).all()
    result = morello.jit(lambda a, b: (a @ b) * 0.5)(a, b)
    assert result.dtype == np.float32 and (result == product * 0.5).all()
    # Toward zero, as NumPy has it, but that what does not fit saturates.
    result = morello.jit(lambda a, b: ((a @ b) * 0.25 + 3).astype(np.uint8))(a, b)
    assert result.dtype == np.uint8 and (result == np.clip(np.trunc(product * 0.25 + 3), 0, 255)).all()
    rounded = morello.jit(lambda a, b: np.rint((a @ b) * 0.25 + 3).astype(np.int8))
    assert (rounded(a, b) == np.clip(np.rint(product * 0.25 + 3), -128, 127)).all() and rounded.spec(a, b).flops > 0
    half = rng.standard_normal((4, 8)).astype(np.float16)
    assert morello.jit(lambda x: x * 2)(half).dtype == np.float16
    single = half.astype(np.float32) * 1.001
    result = morello.jit(lambda x: (x * 2).astype(np.float16))(single)
    assert result.dtype == np.float16 and (result == (single * 2).astype(np.float16)).all()
    result = morello.jit(lambda x: x.astype(np.float32) + 1)(half)
    assert result.dtype == np.float32 and (result == half.astype(np.float32) + 1).all()
    counts = morello.jit(lambda a: (a * 9).astype(np.uint8) + 1)
    assert (counts(half) == np.clip(np.trunc(half.astype(np.float32) * 9), 0, 255) + 1).all()
    assert len(counts.program(half).kernels) == 2


def test_conditions(rng, floats):
    x, y, mask = floats(5, 6), floats(5, 6), rng.integers(0, 2, (5, 6)) == 1
    for call in (morello.where, morello.jit(np.where)):
        np.testing.assert_array_equal(call(mask, x, y), np.where(mask, x, y))
    np.testing.assert_array_equal(morello.jit(lambda x: np.where(mask, x, 0))(x), np.where(mask, x, 0))
    result = morello.jit(lambda x, y: x > y)(x, y)
    assert result.dtype == np.bool_ and (result == (x > y)).all()
    i, j = rng.integers(-5, 5, (2, 9)).astype(np.int32)
    result = morello.jit(lambda i, j: np.where(i < j, i, j * 3))(i, j)
    assert result.dtype == np.int32 and (result == np.where(i < j, i, j * 3)).all()
    half = x.astype(np.float16)
    result = morello.jit(lambda x, m: np.where(m, x, 0))(half, mask)
    assert result.dtype == np.float16 and (result == np.where(mask, half, 0)).all()
    result = morello.jit(lambda x, i: np.where(x > 0, i, 1))(x[0], i[:6])
    assert result.dtype == np.int32 and (result == np.where(x[0] > 0, i[:6], 1)).all()
    x[0, :3] = np.nan
    with np.errstate(invalid="ignore"):
        for op in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
            assert (morello.jit(op)(x, y) == op(x, y)).all()
    with pytest.raises(morello.SpecError, match="no comparison"):
        morello.jit(lambda x: ~x)(x)


def test_one_kernel_for_each_set_of_shapes(floats):
    calls = []

    @morello.jit(time_budget=1)
    def function(x, scale, options):
        calls.append(x.shape)
        return x * scale + options["bias"][0]
    x = floats(3, 4)
    for _ in range(2):
        np.testing.assert_allclose(function(x, 2, {"bias": [x]}), 3 * x, rtol=1e-6)
    function(x, 3, options={"bias": [x]})
    function(x.T.copy(), 2, {"bias": [x.T.copy()]})
    assert calls == [(3, 4), (3, 4), (4, 3)] and len(function) == 3
    function.clear()
    assert len(function) == 0 and bool(function)


def test_layouts(floats):
    function = morello.jit(lambda x: x * 2)
    x = floats(6, 10)
    for view in (x, x.T, x[:, ::2], x[::-1], np.asfortranarray(x)):
        np.testing.assert_array_equal(function(view), view * 2)
    assert "{0,1}" in str(function.spec(np.asfortranarray(x)))


def test_specs_and_kernels_of_shapes_alone():
    function = morello.jit(lambda x, unused, y: morello.softmax(x + y))
    tensor = morello.Tensor(morello.Dtype.F32, (4, 9))
    assert str(function.spec(tensor, tensor, tensor)) == "add f32[4,9] f32[4,9] -> softmax axis=1 -> f32[4,9]"
    assert len(function.kernel(tensor, tensor, tensor).operands) == 3


def test_captured_arrays_are_as_they_were(floats):
    weights, x = floats(4, 5), floats(3, 4)
    function = morello.jit(lambda x: x @ weights)
    wanted = function(x)
    weights[...] = 0
    np.testing.assert_array_equal(function(x), wanted)


def test_inside_of_one_another(floats):
    inner = morello.jit(lambda x: x * 2)
    x = floats(5)
    np.testing.assert_array_equal(morello.jit(lambda x: inner(x) + 1)(x), x * 2 + 1)
    assert len(inner) == 0


def test_threads_wait_for_one_kernel(floats, in_threads):
    traced, results, x = [], [], floats(16, 32)

    @morello.jit
    def function(x):
        traced.append(1)
        return morello.softmax(x @ x_t)
    x_t = x.T.copy()
    in_threads(4, lambda: results.append(function(x)))
    assert len(traced) == 1 and len(results) == 4 and all((r == results[0]).all() for r in results)


@pytest.mark.parametrize("function, message", [
    (lambda x: np.arctan(x), "numpy.arctan of traced arrays"),
    (lambda x: np.linalg.norm(x, 1), "linalg.norm of order 1"),
    (lambda x: np.linalg.inv(x), "numpy.inv of traced arrays"),
    (lambda x: np.add.accumulate(x), "numpy.add.accumulate"),
    (lambda x: np.sum(x, where=[True]), "numpy.sum of traced arrays"),
    (lambda x: np.exp(x, out=np.empty(3)), "numpy.exp with out"),
    (lambda x: 1.0, "returns a float"),
    (lambda x: (x + 1, 1.0), "returns a float"),
    (lambda x: (), "returns no array"),
    (lambda x: x + np.ones(7, np.float32), "do not broadcast"),
    (lambda x: x @ np.ones((7, 3), np.float32), "sizes that are summed differ"),
    (lambda x: x.sum(axis=5), "axis 5 of a value with 2 axes"),
    (lambda x: x.reshape(7, 7), "reshape of"),
    (lambda x: x + np.ones(4, np.complex64), "an array of complex64"),
    (lambda x: x + np.array([1 << 40] * 4), "int64 with numbers beyond 32 bits"),
    (lambda x: x ** x, "exponent is no number"),
    (lambda x: np.einsum("ii->i", x[:, :3]), "a letter is there twice in 'ii'"),
    (lambda x: np.einsum("ijk,jk->i", x, x), "'ijk' for a value with 2 axes"),
])
def test_what_the_language_does_not_have(floats, function, message):
    jitted = morello.jit(function)
    with pytest.raises(morello.SpecError, match=message):
        jitted(floats(3, 4))
    assert len(jitted) == 0


def test_values_are_not_known(floats):
    for function in (lambda x: x if x > 0 else -x, lambda x: x * float(x), lambda x: x * bool(x)):
        with pytest.raises(TypeError, match="elements are not known"):
            morello.jit(function)(floats(3))
    with pytest.raises(morello.OperandError, match="an array of float64"):
        morello.jit(lambda x: x)(np.ones(3))
    with pytest.raises(TypeError, match="hashable"):
        morello.jit(lambda x, y: x)(floats(3), {1, 2})


def test_several_results(floats):
    @morello.jit
    def norm(x):
        mean = x.mean(1)
        centred = x - mean[:, None]
        return {"y": centred, "moments": (mean, np.mean(np.square(centred), axis=1))}
    x = floats(6, 33)
    result = norm(x)
    np.testing.assert_allclose(result["y"], x - x.mean(1, keepdims=True), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result["moments"][0], x.mean(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result["moments"][1], x.var(1), rtol=1e-5, atol=1e-6)
    assert len(norm) == 1 and len(norm.spec(x).outputs) == 3


def test_results_that_are_inputs_or_the_same(floats):
    x = floats(3, 4)
    y = morello.jit(np.exp)(x)
    same, again = morello.jit(lambda x: [np.exp(x)] * 2)(x)
    assert same is again and (same == y).all()
    a, b, c = morello.jit(lambda x: (x, np.exp(x), x.astype(np.float32)))(x)
    assert (a == x).all() and (b == y).all() and c is a
    first, = morello.jit(lambda x: (np.exp(x),))(x)
    assert (first == y).all()
    whole, cut = morello.jit(lambda x: (x * 2, (x * 2).astype(np.int32)))(x)
    assert (whole == x * 2).all() and cut.dtype == np.int32 and (cut == (x * 2).astype(np.int32)).all()


def test_constants_are_told_apart_by_their_bits():
    f = morello.jit(lambda x, s: 1 / (x * s))
    one = np.ones(1, np.float32)
    assert f(one, 0.0) == np.inf and f(one, -0.0) == -np.inf
    for _ in range(3):
        assert np.isnan(f(one, float("nan")))
    assert len(f) == 3


def test_means_and_variances_are_those_of_numpy(rng):
    large = np.full((2, 300), 2 ** 24 + 1, np.int32)
    assert np.allclose(morello.jit(lambda a: a.mean(1))(large), large.mean(1))
    x = rng.standard_normal((3, 2), np.float32)
    for ddof in (0, 1, 2, 3, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = x.var(0, ddof=ddof)
        assert np.allclose(morello.jit(lambda a, d=ddof: a.var(0, ddof=d))(x), wanted, rtol=1e-5)


def test_axes_are_moved_as_in_numpy(rng):
    x = rng.standard_normal((2, 3, 4), np.float32)
    for source, destination in ((0, 2), (-1, 0), ([0, 1], [1, 0]), ((0, 2), (-1, 0))):
        got = morello.jit(lambda a, s=source, d=destination: np.moveaxis(a, s, d) * 1)(x)
        assert np.array_equal(got, np.moveaxis(x, source, destination))
    with pytest.raises(morello.SpecError):
        morello.jit(lambda a: np.moveaxis(a, [0, 0], [1, 2]))(x)


def test_what_is_more_than_an_array_is_refused():
    add = morello.jit(lambda x: x + 1)
    for array in (np.ma.array(np.ones(3, np.float32), mask=[1, 0, 0]), np.ones((2, 2), np.float32).view(np.matrix)):
        with pytest.raises(morello.OperandError, match="ndarray"):
            add(array)
    with pytest.raises(morello.SpecError, match="9 axes"):
        add(np.ones((1,) * 9, np.float32))
