#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ONNX's own node tests, as an oracle that nobody here wrote: node_cases.py [--bless] [--list] [PATTERN].

Runs each of them that is in scope (scope.py) by `morello.onnx`, compares with its expected outputs by its own
tolerances, and prints what was right, and what cannot be said by reason. Fails if a result is wrong, or if a case of
said.txt cannot be said any more, or not by one Spec any more. --bless writes that file. --list names what cannot
be said. Skipped (exit 77) without the packages onnx and morello.
"""
import argparse
import collections
import pathlib
import re
import sys
import textwrap
import time
import warnings

try:
    import numpy as np
    import onnx
    import onnx.backend.test.loader
    import morello
    import morello.onnx
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import scope  # noqa: E402  pylint: disable=wrong-import-position

SAID = pathlib.Path(__file__).with_name("said.txt")
ONE, SEVERAL, KNOWN = "one Spec", "several Specs", "no kernel"
ROWS = morello.onnx.operators()


def operator_of(case):
    """Of an expanded case, which has the operators of a definition, the first part of its name."""
    nodes = case.model.graph.node
    return "expanded" if "_expanded" in case.name else nodes[0].op_type


def constants_of(case, inputs):
    """Inputs that an operator has to know: axes, shapes and the like."""
    names = [each.name for each in case.model.graph.input]
    return {name: np.asarray(inputs[names.index(name)]) for node in case.model.graph.node if node.op_type in ROWS
            for i, name in enumerate(node.input) if i in ROWS[node.op_type].known and name in names}


def out_of_scope(case, constants):
    nodes = case.model.graph.node
    for reason, operators in scope.OUT_OF_SCOPE.items():
        if any(node.op_type in operators for node in nodes):
            return reason
    if all(node.op_type in scope.NOTHING_READ for node in nodes):
        return "no tensors are read"
    for pattern, reason in scope.CASES_OUT_OF_SCOPE:
        if re.match(pattern, case.name):
            return reason
    for each in (*case.model.graph.input, *case.model.graph.output):
        kind = each.type.WhichOneof("value")
        if kind != "tensor_type":
            return "sequences and optional values"
        name = onnx.TensorProto.DataType.Name(each.type.tensor_type.elem_type)
        if name not in scope.TYPES and each.name not in constants:
            return "strings" if name == "STRING" else f"other element types: {family(name)}"
    return None


def family(name):
    return {"INT64": "i64", "DOUBLE": "f64"}.get(name) or (
        "8 and 4 bits of float" if name.startswith("FLOAT") else "other integers")


def array_of(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def differs(case, got, want):
    """What is wrong with an output; None: nothing."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)}, where {want.dtype}{list(want.shape)} is expected"
    if want.dtype.kind not in "biu":
        got, want = got.astype(np.float64), want.astype(np.float64)
    rtol, atol = scope.ROUGH.get(case.name, (case.rtol, case.atol))
    try:
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
    except AssertionError as found:
        return " ".join(str(found).split())
    return None


def run(case):
    """(what it came to, what is wrong)."""
    for inputs, outputs in case.data_sets:
        constants = constants_of(case, inputs)
        reason = out_of_scope(case, constants)
        if reason:
            return "out of scope", reason
        inputs, outputs = [array_of(x) for x in inputs], [array_of(x) for x in outputs]
        try:
            program = morello.onnx.compile(case.model, constants, effort="quick")
        except morello.SpecError as refused:
            return "missing", str(refused)
        names = [each.name for each in case.model.graph.input]
        results = program(*(x for x, name in zip(inputs, names) if name not in constants))
        wrong = [f"output {i}: {found}" for i, found in enumerate(map(differs, [case] * len(outputs), results, outputs))
                 if found]
        if wrong or len(results) != len(outputs):
            return "wrong", "; ".join([*wrong, *map(str, program.specs)])
        return (ONE if len(program.specs) == 1 else SEVERAL if program.specs else KNOWN), ""
    return "missing", "a case without data"


def reason_of(message):
    return next((reason for pattern, reason in scope.MISSING if re.search(pattern, message)), f"other: {message}")


def read_said():
    """name -> what it came to."""
    said, kind = {}, None
    for line in SAID.read_text().splitlines() if SAID.is_file() else []:
        if line.startswith("["):
            kind = line.strip("[]")
        elif not line.startswith("#"):
            said.update((f"test_{name}", kind) for name in line.split()[1 if line[0] != " " else 0:])
    return said


def write_said(results, operators):
    lines = ["# SPDX-License-Identifier: MIT", f"# ONNX {onnx.__version__}: node tests that are right, by operator."]
    for kind in (ONE, SEVERAL):
        found = collections.defaultdict(list)
        for name, (status, _) in results.items():
            if status == kind:
                found[operators[name]].append(name.removeprefix("test_"))
        lines.append(f"[{kind}]")
        for operator in sorted(found):
            lines += textwrap.wrap(f"{operator}: {' '.join(sorted(found[operator]))}", 120, subsequent_indent="  ",
                                   break_on_hyphens=False, break_long_words=False)
    SAID.write_text("\n".join(lines) + "\n")


def table(title, cases):
    """cases: (name, what it is counted as). Counts: of operators, and of the operators of definitions."""
    print(f"\n{title}")
    counts = collections.defaultdict(lambda: [0, 0])
    for name, key in cases:
        counts[key]["_expanded" in name] += 1
    for key, (plain, expanded) in sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0])):
        print(f"{plain:6}{expanded:6}  {key}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bless", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("pattern", nargs="?", default="")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    began = time.monotonic()
    cases = [case for case in onnx.backend.test.loader.load_model_tests(kind="node")
             if re.search(arguments.pattern, case.name)]
    results = {case.name: run(case) for case in cases}
    operators = {case.name: operator_of(case) for case in cases}
    counts = collections.Counter(status for status, _ in results.values())
    failures = [f"{name}: {message}" for name, (status, message) in results.items() if status == "wrong"]
    said = {name: kind for name, kind in read_said().items() if name in results}
    for name, kind in said.items():
        status, message = results[name]
        if status not in (kind, "wrong") and status != ONE:
            failures.append(f"{name}: it was {kind}, and is {status} {message}")
    fresh = sum(status in (ONE, SEVERAL) and said.get(name) != status for name, (status, _) in results.items())

    def of(status):
        return [(name, message) for name, (found, message) in results.items() if found == status]
    table("Out of scope", of("out of scope"))
    table("In scope, cannot be said", [(name, reason_of(message)) for name, message in of("missing")])
    if arguments.list:
        for name, message in of("missing"):
            print(f"{name}: {message}")
    names = {ONE: "right, one Spec", SEVERAL: "right, several Specs", "missing": "cannot be said", "wrong": "WRONG",
             KNOWN: "right without a kernel: all is known when it is compiled"}
    table("In scope", [(name, names[status]) for name, (status, _) in results.items() if status in names])
    print(f"\nonnx {onnx.__version__}: {len(results)} node tests, {len(results) - counts['out of scope']} in scope, "
          f"{counts['wrong']} wrong, in {time.monotonic() - began:.0f} s")
    if arguments.bless:
        write_said(results, operators)
    elif fresh:
        print(f"{fresh} that are not in {SAID.name} so: --bless")
    for failure in failures:
        print("FAILED:", failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
