# SPDX-License-Identifier: MIT
"""The package beside include/morello/morello.h: nothing forgotten, nothing changed."""
import pathlib
import re
import shutil
import subprocess

import pytest

import morello
from morello import _library, enums
from morello._library import ffi, lib

PACKAGE = pathlib.Path(morello.__file__).parent
HEADER = pathlib.Path(__file__).parents[3] / "include/morello/morello.h"
# What the package does in another way, or not.
NOT_CALLED = {
    "morello_version": "version() is the text",
    "morello_error_status": "the call has returned it",
    "morello_cost_model_version": "tables and kernels are checked by the library",
    "morello_isa_features": "for those who emit code",
    "morello_kernel_code_function_get": "for those who emit code",
    "morello_kernel_function": "calls are checked",
    "morello_kernel_operand_count": "the Spec has it",
    "morello_kernel_run_sized": "calls are checked",
    "morello_kernel_sized_function": "calls are checked",
    "morello_kernel_scratch_alignment": "the library allocates it",
    "morello_spec_evaluate_at": "Spec.evaluate()",
    "morello_spec_evaluate_output_at": "Spec.evaluate()",
    **{f"morello_{kind}_retain": "Python counts owners" for kind in ("spec", "kernel", "table")},
    **{f"morello_spec_{head}": "the text of a Spec, or Graph, says the same" for head in (
        "matmul", "einsum", "unary", "binary", "reduce", "move", "transpose", "fill", "append")},
}


def functions():
    names = re.findall(r"^MORELLO_API [^(;]*?(\w+)\(", HEADER.read_text(), re.M)
    assert len(names) > 60
    return names


def test_every_function_is_called_or_left_out_for_a_reason():
    source = "".join(path.read_text() for path in PACKAGE.glob("*.py") if path.name != "_abi.py")
    called = set(re.findall(r"\blib\.(morello_\w+)", source))
    # Those whose names are put together in _library.py.
    called |= {f"morello_{kind}_release" for kind in re.findall(r'\bcreate\("(\w+)"', source)}
    called |= {f"morello_{kind}_init" for kind in re.findall(r'\binitialized\("(\w+)"', source)}
    names = set(functions())
    assert called | set(NOT_CALLED) == names
    assert not called & set(NOT_CALLED)


def test_the_library_has_every_function_that_is_declared():
    for name in functions():
        assert getattr(lib, name) is not None


def test_abi_version():
    text = (HEADER.parent / "version.h").read_text()
    assert int(re.search(r"#define MORELLO_ABI_VERSION (\d+)", text)[1]) == _library.ABI_VERSION
    assert re.search(r'VERSION_STRING "(.*)"', text)[1] == morello.__version__


@pytest.mark.parametrize("ours, theirs, prefix", [
    (enums.Status, "morello_status", ""), (enums.Isa, "morello_isa", "ISA_"), (enums.Effort, "morello_effort", "EFFORT_"),
    (enums.Dtype, "morello_dtype", ""),
    (enums.Layout, "morello_layout", "LAYOUT_"), (enums.TableUse, "morello_table_use", "TABLE_"),
    (enums.TableReason, "morello_table_reason", "TABLE_REASON_")])
def test_numbers(ours, theirs, prefix):
    names = {f"MORELLO_{prefix}{each.name}": int(each) for each in ours}
    assert names == ffi.typeof(theirs).relements


def fields(struct):
    return [name for name, _ in ffi.typeof(struct).fields]


def test_fields_that_reach_python():
    def of(kind):
        return set(kind.__dataclass_fields__)
    renamed = {"struct_size", "search_microseconds", "codegen_microseconds"}
    assert of(morello.SearchStats) == {re.sub("_nanoseconds$", "_seconds", name)
                                       for name in fields("morello_search_stats")} - renamed
    assert of(morello.Progress) == {re.sub("^microseconds$", "seconds", name)
                                    for name in fields("morello_progress")} - renamed
    assert of(morello.PrecomputeProgress) == {re.sub("^microseconds$", "seconds", name)
                                              for name in fields("morello_precompute_progress")} - renamed
    assert of(morello.TableInfo) == {re.sub("^target$", "isa", name)
                                     for name in fields("morello_table_info")} - renamed
    assert of(morello.Verification) == set(fields("morello_table_verification")) - renamed
    assert len(of(morello.CpuInfo)) == len(fields("morello_cpu_info")) - 1


def test_options_that_python_has():
    source = (PACKAGE / "kernel.py").read_text() + (PACKAGE / "_library.py").read_text()
    for name in set(fields("morello_options")) - {"struct_size", "reserved0", "progress_user", "code_only"}:
        assert f"options.{name} = " in source, name
    source = (PACKAGE / "context.py").read_text()
    for name in set(fields("morello_context_options")) - {"struct_size", "log_user"}:
        assert f"options.{name} = " in source, name


def test_layouts_are_those_of_a_c_compiler(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    values = {}
    for name in re.findall(r"^typedef struct (morello_\w+) \{", HEADER.read_text(), re.M):
        values[f"sizeof({name})"] = ffi.sizeof(name)
        for field in fields(name):
            values[f"offsetof({name}, {field})"] = ffi.offsetof(name, field)
    assert len(values) > 100
    program = tmp_path / "layout.c"
    program.write_text('#include <stdio.h>\n#include <stddef.h>\n#include "morello/morello.h"\nint main(void) {\n'
                       + "".join(f'  printf("%s=%zu\\n", "{text}", {text});\n' for text in values) + "}\n")
    subprocess.run([compiler, "-std=c11", "-I", HEADER.parents[1], program, "-o", tmp_path / "layout"], check=True)
    printed = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout
    assert dict((line.rsplit("=", 1)[0], int(line.rsplit("=", 1)[1])) for line in printed.splitlines()) == values
