#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The way in on a Debian 12 made from nothing: clean_root.py [--keep] [--without-rust].

Makes a root of Debian's smallest packages, copies the source into it, and types what the documents
say: the first command, what it offers next, the installation, the examples, Rust. Minutes of work, so
it is a command of its own. Exit status: 0 all work, 1 something does not, 77 cannot be tried here (the
reason is printed).
"""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import documented

SKIP_EXIT = 77
PROGRAMS = ["mmdebstrap", "unshare", "chroot"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
WITHOUT_VARIABLES = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                     "HOME": "/tmp", "LANG": "C.UTF-8"}
ENTER = 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -ec "$1"'


def skip(reason):
    print(f"skipped: the clean root: {reason}")
    sys.exit(SKIP_EXIT)


def make_root(root):
    for program in PROGRAMS:
        if shutil.which(program) is None:
            skip(f"{program} is not installed")
    if os.geteuid() != 0:
        skip("it needs root, for chroot")
    probe = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False)
    if probe.returncode != 0:
        skip("namespaces cannot be made here")
    made = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "bookworm", root], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode != 0:
        skip(f"mmdebstrap: {made.stdout.strip().splitlines()[-1:]}")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    shutil.copytree(SOURCE, root / "morello", ignore=lambda where, names: [
        name for name in names if (pathlib.Path(where) == SOURCE and name.startswith((".git", "build")))
        or (name == "target" and "rust" in where)])


class Steps:
    def __init__(self, root):
        self.root = root
        self.failed = []

    def run(self, name, script, folder="/morello"):
        """Types `script` in a new shell; returns its output, nothing if it failed."""
        proxies = {key: value for key, value in os.environ.items() if key.endswith("_proxy")}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER, self.root,
                               f"cd {folder}\n{script}"], env={**WITHOUT_VARIABLES, **proxies}, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{'ok' if done.returncode == 0 else 'FAILED'}: {name} ({cpu:.0f} s of CPU)", flush=True)
        if done.returncode != 0:
            print(done.stdout[-4000:], flush=True)
            self.failed.append(name)
            return ""
        return done.stdout


def first_command(steps):
    # Apart, to know what building alone takes.
    steps.run("packages", ". .ci/setup.sh; install_packages $needed_packages")
    shown = steps.run(".ci/demo", ".ci/demo")
    for expected in ("search ", "plain loop: best", "OpenBLAS: not installed", "% of this core's"):
        if expected not in shown:
            steps.failed.append(f"the demo does not show '{expected}'")
    unused = steps.run("builds what it shows", "find build \\( -path '*tests*' -o -path '*bench*' \\) -name '*.o'")
    unused = [name for name in unused.split() if not name.endswith("capi_tools_bench.cc.o")]
    if unused:
        steps.failed.append(f"the demo compiles {len(unused)} files that it does not use")
    offered = [line.strip() for line in shown.partition("To try next:")[2].splitlines() if line.strip()]
    if len(offered) != 3:
        steps.failed.append(f"the demo offers {len(offered)} commands")
    for command in offered:
        steps.run(command, command)


def installation(steps, commands):
    install = next(text for text in commands if text.startswith("meson setup build-release"))
    if "PKG_CONFIG_PATH" in steps.run(install, install):
        steps.failed.append("the loader does not look where the library is installed by default")
    steps.run("examples", "mkdir -p /tmp/c && cp /usr/local/share/doc/morello/examples/*.c /tmp/c", "/tmp")
    for command in (text for text in commands if text.startswith("cc ") and "pkg-config" in text):
        steps.run(command, command, "/tmp/c")
    everything = "cc -static matmul.c $(pkg-config --static --cflags --libs morello) -o alone && ./alone"
    steps.run(everything, everything + "; ! ldd alone", "/tmp/c")
    for command in (text for text in commands if text.startswith("morello ") and "t.mtab" in text):
        short = command.replace("<=512", "<=24")
        steps.run(short, short, "/tmp/c")
    said = steps.run(
        "another prefix", "meson configure build-release --prefix /opt/morello && meson install -C build-release && "
        "rm -r /usr/local/lib/libmorello* && ldconfig && /opt/morello/bin/morello cpu && "
        "meson configure build-release --prefix /usr/local && meson install -C build-release")
    if "PKG_CONFIG_PATH=/opt/morello/lib/pkgconfig" not in said:
        steps.failed.append("an installation where the loader does not look does not say what to set")


def rust(steps, commands):
    steps.run("cargo", ". .ci/setup.sh; install_packages cargo")
    # `build` has the shared library alone, as the first command left it.
    for command in (text for text in commands if "cargo test" in text):
        steps.run(command, command)
    installed = "cargo build && target/debug/shipped-table"
    steps.run(f"installed library: {installed}", installed, "/morello/capi/rust")


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="morello-root-"))
    try:
        os.chmod(folder, 0o755)
        make_root(folder / "root")
        steps = Steps(folder / "root")
        commands = list(dict.fromkeys(command.text for command in documented.commands(SOURCE)))
        first_command(steps)
        installation(steps, commands)
        if "--without-rust" not in sys.argv:
            rust(steps, commands)
    finally:
        if "--keep" in sys.argv:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    for failure in steps.failed:
        print(f"FAILED: {failure}")
    sys.exit(1 if steps.failed else 0)


if __name__ == "__main__":
    main()
