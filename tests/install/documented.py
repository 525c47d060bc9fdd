# SPDX-License-Identifier: MIT
"""The commands that the documents tell a reader to type."""
import dataclasses
import pathlib
import re

# Where a reader is sent. Results of past measurements (bench/results) belong to their own commits.
PAGES = ["README.md", "CONTRIBUTING.md", "docs/*.md", "bench/README.md", "capi/rust/**/README.md"]
EXAMPLES = ["capi/examples/*.c"]  # commands in the comment at the top
SETTINGS = r"(?:[A-Z_]+=\S+ )*"
PROGRAM = (r"(?:meson|ninja|cargo|cc|cd|clang-format|morello|python3|export|(?:build[\w-]*|\.ci|capi)/[\w./-]+"
           r"|[A-Z_]+=\S+)")
COMMAND = re.compile(rf"{SETTINGS}{PROGRAM}(?: |$)")

NAME = re.compile(r"(?:cargo|cc|meson|ninja) \S+|morello|(?!\.ci/(?:demo|test)$)\S+")


@dataclasses.dataclass(frozen=True)
class Command:
    page: str
    line: int
    text: str
    block: int  # line where its ```sh block begins; 0: in the midst of a sentence, or in a table


def in_blocks(page, text):
    """Lines of ```sh blocks, without what follows two blanks and a #."""
    block = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            block = number if line == "```sh" else 0
        elif block and line.strip() and not line.startswith("#"):
            yield Command(page, number, re.split(r"\s{2,}# ", line)[0].strip(), block)


def in_sentences(page, text):
    """`code` that begins like a command; `cargo run` and the like are names, not commands."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        for code in [] if fenced else re.findall(r"`([^`]+)`", line):
            if COMMAND.match(code) and not NAME.fullmatch(code):
                yield Command(page, number, code, 0)


def commands(root):
    """Every command, in the order in which it is met."""
    found = []
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            page, text = str(path.relative_to(root)), path.read_text()
            found += in_blocks(page, text)
            found += in_sentences(page, text)
    for pattern in EXAMPLES:
        for path in sorted(root.glob(pattern)):
            comment = path.read_text().split("*/")[0]
            for number, line in enumerate(comment.splitlines(), 1):
                text = line.removeprefix(" *").strip()
                if COMMAND.match(text):
                    found.append(Command(str(path.relative_to(root)), number, text, number))
    demo = (root / ".ci/demo").read_text()
    start = demo[:demo.index("To try next:")].count("\n") + 1
    found += [Command(".ci/demo", number, line.strip(), number)
              for number, line in enumerate(demo.splitlines(), 1) if number > start and line != "END"]
    return found


def not_marked(root):
    """Commands in indented blocks or in fences that are not ```sh, which nobody would run."""
    bad = []
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            fence = None
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if line.startswith("```"):
                    fence = line if fence is None else None
                elif fence != "```sh" and (fence or line.startswith("    ")) and COMMAND.match(line.strip()):
                    bad.append(f"{path}:{number}: `{line.strip()}` is a command: put it into ```sh")
    return bad


if __name__ == "__main__":
    for command in commands(pathlib.Path(__file__).resolve().parents[2]):
        print(f"{command.page}:{command.line}: {command.text}")
