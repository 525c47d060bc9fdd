#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""capi/abi-record.txt says of everything that morello.h declares since which version it is there:
record.py HEADER VERSION_H RECORD [--add].

--add writes what the record lacks into its last section, that of the version in version.h, to be reviewed. What is
there longer is neither changed nor taken away: a change is a line with "-" for what there was and one for what there
is, in a section of another ABI version.
"""
import pathlib
import re
import sys


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip().replace("* ", "*")


def declared(header):
    """Lines of the record for all that a header declares, in its order, and the comment of each."""
    plain = re.sub(r"/\*.*?\*/", lambda c: re.sub(r"[^\n]", " ", c[0]), header, flags=re.S)  # the same offsets
    found = []
    for match in re.finditer(r"^#define (MORELLO_\w+)[ ]+(\d+)\s*$", plain, re.M):
        found.append((match.start(), f"constant {match[1]} = {match[2]}"))
    for match in re.finditer(r"^typedef struct (\w+) \1;", plain, re.M):
        found.append((match.start(), f"handle {match[1]}"))
    for match in re.finditer(r"^typedef ((?!struct|enum)[^;]+);", plain, re.M):
        found.append((match.start(), f"type {squeezed(match[1])}"))
    for match in re.finditer(r"^MORELLO_API ([^;]+);", plain, re.M):
        found.append((match.start(), f"function {squeezed(match[1])}"))
    for kind, name, body in re.findall(r"^typedef (enum|struct) (\w+) \{(.*?)\} \2;", plain, re.M | re.S):
        at = plain.index(f"typedef {kind} {name} {{")
        begin = plain.index("{", at) + 1
        place = 0
        for part in re.split("[,;]" if kind == "enum" else ";", body):
            if part.strip():
                number = "" if kind == "enum" else f" {place}"
                found.append((begin, f"{kind} {name}{number}: {squeezed(part)}"))
                place += 1
            begin += len(part) + 1
    found.sort()
    comments, before = {}, 0
    for at, line in found:
        behind = re.compile(r"[^;,}]*[;,}]?[ ]*(/\*\*<.*?\*/)?", re.S).match(header, at)
        comments[line] = behind[1] or "" if line.startswith(("enum", "struct")) else header[before:at]
        before = at
    return comments


def sections(record):
    """(version, ABI version, lines) of each section."""
    parts = re.split(r"^## (\S+), ABI (\d+)\n", record, flags=re.M)[1:]
    return [(parts[i], int(parts[i + 1]), [line for line in parts[i + 2].splitlines() if line.strip()])
            for i in range(0, len(parts), 3)]


def complaints(header, version_h, record):
    version = re.search(r'MORELLO_VERSION_STRING "(.*)"', version_h)[1]
    abi = int(re.search(r"MORELLO_ABI_VERSION (\d+)", version_h)[1])
    now, all_sections, bad = declared(header), sections(record), []
    if not all_sections or all_sections[-1][0] != version or all_sections[-1][1] != abi:
        bad.append(f"the last section has to be '## {version}, ABI {abi}'")
    there = {}
    for number, (name, its_abi, lines) in enumerate(all_sections):
        for line in lines:
            gone = line.removeprefix("- ")
            if line == gone:
                if line in there:
                    bad.append(f"twice: {line}")
                there[line] = name, number
            elif there.pop(gone, None) is None:
                bad.append(f"{name} takes away what was not there: {gone}")
            elif its_abi == all_sections[number - 1][1]:
                bad.append(f"{name} takes away without another ABI version: {gone}")
    bad += [f"not in the record: {line}" for line in now if line not in there]
    bad += [f"changed, or gone from morello.h: {line} (of {name})" for line, (name, _) in there.items()
            if line not in now]
    bad += [f"its comment lacks \"Since: {name}\": {line}" for line, (name, number) in there.items()
            if number > 0 and line in now and f"Since: {name}" not in now[line]]
    return bad


def check_checks(header, version_h, record):
    """What is done to the header has to be noticed; what fails is a bug of this file."""
    last_call = header.rindex("MORELLO_API ")
    later = version_h.replace('STRING "', 'STRING "9.')
    name = re.search(r'STRING "(.*)"', later)[1]
    new = "/** New. Since: %s. */\nMORELLO_API int morello_new(int a);\n" % name
    with_new = header[:last_call] + new + header[last_call:]
    section = f"{record}## {name}, ABI {sections(record)[-1][1]}\n"
    cases = [
        ("a new function", header[:last_call] + "MORELLO_API int morello_new(void);\n" + header[last_call:], None),
        ("a field at the end", header.replace("} morello_options;", "  int more;\n} morello_options;"), None),
        ("a field between", header.replace("  uint32_t threads;", "  int more;\n  uint32_t threads;"), None),
        ("another type", header.replace("uint64_t time_budget;", "uint32_t time_budget;"), None),
        ("another number", header.replace("MORELLO_OK = 0", "MORELLO_OK = 9"), None),
        ("another parameter", header.replace("(const morello_pool *pool)", "(morello_pool *pool)"), None),
        ("another limit", header.replace("MORELLO_MAX_RANK 8", "MORELLO_MAX_RANK 9"), None),
        ("a new version without a section", with_new, record),
        ("a new version without the function", with_new, section),
        ("no version at the function", with_new.replace("Since: ", "As of "),
         section + "function int morello_new(int a)\n"),
        ("taken away under the same ABI version", header, section + "- constant MORELLO_MAX_RANK = 8\n"),
    ]
    bad = []
    for what, changed, written in cases:
        if changed == header and written in (None, record):
            bad.append(f"{what}: this file changes nothing in the header")
        if not complaints(changed, version_h if written is None else later, record if written is None else written):
            bad.append(f"{what} is not noticed")
    return bad + complaints(with_new, later, section + "function int morello_new(int a)\n")


def main():
    header, version_h, record = (pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[1:4])
    if sys.argv[4:] == ["--add"]:
        known = {line for _, _, lines in sections(record) for line in lines}
        record += "".join(f"{line}\n" for line in declared(header) if line not in known)
        pathlib.Path(sys.argv[3]).write_text(record, encoding="utf-8")
    bad = complaints(header, version_h, record)
    bad = bad or check_checks(header, version_h, record)
    print("\n".join(bad) or f"{len(declared(header))} declarations, all with the version that they are there since")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
