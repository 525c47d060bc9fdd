#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules of the source tree that no compiler checks: lint.py ROOT CHECK [ARGS].

Each check is a function below that returns a list of complaints; its docstring is the rule.
Exit status: 0 kept, 1 broken, 77 cannot be checked here (the reason is printed).
"""
import pathlib
import re
import shutil
import subprocess
import sys

LAYERS = ["support", "target", "runtime", "spec", "impl", "cost", "actions", "table", "search", "precompute",
          "codegen", "compiler", "capi"]
MAX_LINES = 500
SKIP_EXIT = 77
FOLDERS = ["include", "src", "capi", "tests", "bench", "docs", "subprojects", ".ci"]
C_LIKE = {".h", ".hh", ".c", ".cc"}
CODE = C_LIKE | {".def", ".py", ".rs"}


class Skip(Exception):
    """The check cannot be made on this machine."""


def files(root, folders, suffixes):
    """Source files under `folders`, without build output and downloaded subprojects."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            generated = "target" in parts[:-1] and parts[:2] == ("capi", "rust")
            downloaded = parts[0] == "subprojects" and len(parts) > 2
            if path.is_file() and path.suffix in suffixes and not generated and not downloaded:
                found.append(path)
    return found


def includes(path):
    """(line number, included path, whether in quotes) of each #include."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(2), match.group(1) == '"'


def layers(root):
    """A file includes its own layer and those left of it; paths start at src/ or include/; pages say so."""
    order = " < ".join(LAYERS)
    bad = [] if order in (root / "CONTRIBUTING.md").read_text() else [f"CONTRIBUTING.md does not say {order}"]
    folders = re.findall(r"^\| `src/(\w+)` \|", (root / "docs/architecture.md").read_text(), re.M)
    if folders != LAYERS:
        bad.append(f"docs/architecture.md has the layers in the order {' < '.join(folders)}, not {order}")
    for path in files(root, ["src"], C_LIKE):
        layer = path.relative_to(root / "src").parts[0]
        if layer not in LAYERS:
            bad.append(f"{path}: src/{layer} is not a layer ({' < '.join(LAYERS)})")
            continue
        for number, name, quoted in includes(path):
            where = f"{path}:{number}: "
            other = name.split("/")[0]
            if other in LAYERS and LAYERS.index(other) > LAYERS.index(layer):
                bad.append(where + f"{layer} may not include {other}, which is above it")
            in_tree = (root / "src" / name).is_file() or (root / "include" / name).is_file()
            if quoted and not in_tree and other in LAYERS + ["morello"]:
                bad.append(where + f"{name} does not exist")
            if quoted and not in_tree and "/" not in name:
                bad.append(where + f"{name}: write the path from src/")
    for path in files(root, ["capi", "tests/abi"], C_LIKE):
        for number, name, _ in includes(path):
            if name.split("/")[0] in LAYERS:
                bad.append(f"{path}:{number}: only the public header may be used here, not {name}")
    return bad


def dependencies(root):
    """Each third-party library is known to one place, and so are the emitters; test libraries stay out of the product."""
    homes = {
        r"xbyak/.*": ("src/codegen/x64/", "capi/tools/emit/assemble.cc"),
        r"codegen/x64/.*": "src/codegen/x64/",
        r"cereal/.*": "src/table/cells.cc",
        r"zstd.*": "src/table/frame.cc",
        r"doctest/.*": "tests/",
        r"benchmark/.*": "bench/",
        r"(CLI|fmt|nlohmann|Zydis)/.*": "capi/tools/",
        r"(lib|g)elf\.h": "capi/tools/emit/object.cc",
    }
    bad = []
    for path in files(root, ["include", "src", "capi", "tests", "bench"], C_LIKE):
        inside = path.relative_to(root).as_posix()
        for number, name, _ in includes(path):
            for pattern, home in homes.items():
                allowed = inside.startswith((*([home] if isinstance(home, str) else home), "tests/", "bench/"))
                if re.fullmatch(pattern, name) and not allowed:
                    bad.append(f"{path}:{number}: {name} may be included in {home} only")
    return bad


def roles(root):
    """What a stage or an operand is for is asked of src/spec, not told from its number or from the output's type."""
    by_number = re.compile(r"\b(stage|operand)_?\[\d\]|\blanes\(size_of\(\w*\.?out\(\)\.dtype")
    bad = []
    for path in files(root, ["src"], C_LIKE):
        if path.relative_to(root / "src").parts[0] == "spec":
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if by_number.search(line.split("//")[0]):
                bad.append(f"{path}:{number}: {line.strip()}: see spec/roles.hh")
    return bad


def writes(root):
    """The tool writes through capi/tools/output.hh only, which checks every write."""
    unchecked = re.compile(r"fmt::print\b|std::(cout|cerr|clog|ofstream|fstream)\b|"
                           r"\b(f?printf|f?puts|fputc|putchar|fwrite|fopen)\s*\(|<iostream>")
    bad = []
    for path in files(root, ["capi/tools"], C_LIKE):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if path.name != "output.cc" and unchecked.search(line.split("//")[0]):
                bad.append(f"{path}:{number}: {line.strip()}")
    return bad


def length(root):
    """No file of the product is longer than MAX_LINES; the whole C interface stays one header."""
    bad = []
    for path in files(root, ["include", "src", "capi"], CODE):
        lines = len(path.read_text().splitlines())
        if lines > MAX_LINES and path != root / "include/morello/morello.h":
            bad.append(f"{path}: {lines} lines, more than {MAX_LINES}; give it one subject")
    return bad


def spdx(root):
    """The first line (the second after #!) is the licence tag."""
    bad = []
    found = files(root, FOLDERS, CODE) + list(root.glob("meson*.*"))
    found += [path for path in files(root, FOLDERS, {".build"}) if path.name == "meson.build"]
    for path in found:
        lines = path.read_text().splitlines()
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        if not lines or "SPDX-License-Identifier: MIT" not in lines[0]:
            bad.append(f"{path}:1: the first line must be 'SPDX-License-Identifier: MIT' in a comment")
    return bad


def guards(root):
    """Include guards are named after the path: src/spec/view.hh has MORELLO_SPEC_VIEW_HH."""
    bad = []
    for path in files(root, ["include", "src", "capi", "tests", "bench"], {".h", ".hh"}):
        inside = path.relative_to(root)
        if inside.parts[0] in ("src", "include"):
            inside = inside.relative_to(inside.parts[0])
        name = re.sub(r"\W", "_", inside.as_posix()).upper()
        guard = name if name.startswith("MORELLO_") else "MORELLO_" + name
        if not re.search(rf"^#ifndef {guard}\n#define {guard}$", path.read_text(), re.M):
            bad.append(f"{path}: the include guard must be {guard}")
    return bad


def lists(root):
    """Every source file is named in the meson.build of its folder, so that none is forgotten."""
    bad = []
    for path in files(root, ["src", "tests", "bench", "capi"], {".c", ".cc"}):
        listed = path.parent / "meson.build"
        text = listed.read_text() if listed.is_file() else (path.parent.parent / "meson.build").read_text()
        if path.name not in text:
            bad.append(f"{path} is in no meson.build")
    return bad


def changelog(root):
    """CHANGELOG.md has an entry for the version in version.h."""
    header = (root / "include/morello/version.h").read_text()
    version = re.search(r'MORELLO_VERSION_STRING "(.*)"', header).group(1)
    numbers = [re.search(rf"MORELLO_VERSION_{part} (\d+)", header).group(1)
               for part in ("MAJOR", "MINOR", "PATCH")]
    bad = []
    if ".".join(numbers) != version:
        bad.append(f"version.h: the string is {version}, the numbers say {'.'.join(numbers)}")
    if not re.search(rf"^## {re.escape(version)}\b", (root / "CHANGELOG.md").read_text(), re.M):
        bad.append(f"CHANGELOG.md has no entry '## {version}'")
    return bad


def names(root):
    """Constants of morello.h are in morello-sys, names of operations and element types in the language's grammar."""
    header, sys_path = root / "include/morello/morello.h", root / "capi/rust/morello-sys/src"
    ours = re.findall(r"^ +(MORELLO_\w+) = (-?\d+)", header.read_text(), re.M)
    text = "".join(path.read_text() for path in sys_path.glob("*.rs"))
    theirs = set(re.findall(r"^pub const (MORELLO_\w+): \w+ = (-?\d+);", text, re.M))
    bad = [f"{sys_path} lacks {name} = {number}" for name, number in ours if (name, number) not in theirs]
    page = root / "docs/spec-language.md"
    grammar = page.read_text().split("```")[3]
    for rows in ["src/spec/elementwise.def", "src/support/dtypes.def"]:
        named = re.findall(r'^MORELLO_\w+\(\w+, "(\w+)"', (root / rows).read_text(), re.M)
        bad += [f"{page}: the grammar lacks \"{name}\" of {rows}" for name in named if f'"{name}"' not in grammar]
        bad += [] if named else [f"{rows}: no rows were found"]
    return bad + ([] if ours else [f"{header}: no constants were found"])


def paths(root):
    """No path of one particular machine in any text file."""
    machine = re.compile(r"(?<![\w.])/(home|root|Users|work|mnt)/\w")
    bad = []
    suffixes = CODE | {".build", ".txt", ".md", ".in", ".wrap", ".toml", ".map", ".sh", ""}
    found = files(root, FOLDERS, suffixes) + [p for p in root.glob("*") if p.suffix in suffixes and p.name != ".git"]
    for path in found:
        if path.is_file() and path.name != pathlib.Path(__file__).name:
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if machine.search(line):
                    bad.append(f"{path}:{number}: {line.strip()}")
    return bad


def formatting(root):
    """clang-format changes nothing."""
    tool = shutil.which("clang-format")
    if tool is None:
        raise Skip("clang-format is not installed (Debian: apt-get install clang-format)")
    sources = files(root, ["include", "src", "capi", "tests", "bench"], C_LIKE)
    run = subprocess.run([tool, "--dry-run", "--Werror", *map(str, sources)],
                         capture_output=True, text=True, check=False)
    changed = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", run.stderr, re.M)))
    bad = [f"{path}: run clang-format -i" for path in changed]
    return bad if bad or run.returncode == 0 else [run.stderr]


def suites(_root, unit_exe, *expected):
    """Every test case belongs to a suite that is named after a layer, and thus is run."""
    def count(*filters):
        out = subprocess.run([unit_exe, "--count", "--no-version", *filters], capture_output=True,
                             text=True, check=True).stdout
        return int(re.search(r"filters: (\d+)", out).group(1))
    bad = []
    in_suites = {name: count(f"--test-suite={name}") for name in expected}
    bad += [f"suite {name} has no test" for name, number in in_suites.items() if number == 0]
    total = count()
    if sum(in_suites.values()) != total:
        bad.append(f"{total} test cases, but {sum(in_suites.values())} of them in {list(expected)}")
    return bad


def closing(text, start):
    """The index of the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "({") - (text[at] in ")}")
        if depth == 0:
            return at
    return len(text)


def boundary(root):
    """An exported function calls what can throw in guarded, guarded_status or guarded_value only."""
    def clean(path):
        text = re.sub(r"//.*", "", path.read_text())
        return re.sub(r'"(\\.|[^"\\])*"', '""', text)

    def noexcepts(text):
        return set(re.findall(r"\b(\w+)\([^;{}]*\)(?: const)? noexcept\b", text))

    sure = {"if", "sizeof", "static_cast", "reinterpret_cast", "string_view", "get", "c_str", "size",
            "data"}
    for path in files(root, ["src"], {".hh"}):
        sure |= noexcepts(clean(path))
    found, bad = set(), []
    for path in files(root, ["src/capi"], {".cc"}):
        text = clean(path)
        known = sure | noexcepts(text)
        for match in re.finditer(r"^\w[\w *]*?\b(morello_\w+)\(", text, re.M):
            begin = closing(text, match.end() - 1) + 1
            if not text[begin:].startswith(" {"):
                continue  # no function
            found.add(match.group(1))
            body = text[begin:closing(text, begin + 1)]
            while guard := re.search(r"\bguarded(_status|_value)?\(", body):
                body = body[:guard.start()] + body[closing(body, guard.end() - 1) + 1:]
            calls = set(re.findall(r"(\w+)(?:<[^<>()]*>)?\(", body)) - known
            bad += [f"{path}: {match.group(1)} calls {call}(), which is not noexcept, outside of a guard"
                    for call in sorted(calls)]
    exported = set((root / "capi/abi.txt").read_text().split())
    bad += [f"src/capi: the exported {name} was not found" for name in sorted(exported - found)]
    return bad


CHECKS = [boundary, layers, dependencies, roles, writes, length, spdx, guards, lists, changelog, names, paths, formatting,
          suites]


def main():
    checks = {check.__name__: check for check in CHECKS}
    if len(sys.argv) < 3 or sys.argv[2] not in checks:
        sys.exit(f"usage: lint.py ROOT {'|'.join(checks)} [ARGS]")
    check = checks[sys.argv[2]]
    try:
        bad = check(pathlib.Path(sys.argv[1]).resolve(), *sys.argv[3:])
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIP_EXIT)
    for complaint in bad:
        print(complaint)
    print(f"{check.__doc__.strip().splitlines()[0]} {len(bad)} broken.")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
