#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much longer a graph is searched for than the largest of its nodes alone.

    python3 bench/graphs/nodes.py build/morello [--isa avx2,avx512] [--seconds 60] [--effort quick] [--filter TEXT]

Prints a Markdown table of the graphs of graphs.py that have several nodes. A node is an operation that is no elementwise step of
the one before it; attention is two products and what is between them. The largest one is that whose search takes
longest. Times are those of searches on one thread, from nothing, the fastest of --repetitions.
"""
import argparse
import json
import re
import subprocess

from graphs import GRAPHS

TENSOR = re.compile(r"(f32|bf16)\[([\d,]+)\](\{[^}]*\})?$")
WORDS = {"causal", "nhwc", "keep"}  # settings without a value
STEPS = {"silu", "gelu", "relu", "exp", "square", "cast"}
HEADS = {"matmul", "softmax", "log_softmax", "logsumexp", "layernorm", "rmsnorm", "add", "mul", "attention", "conv2d",
         "max_pool", "avg_pool"}


def sizes(tensor):
    return [int(n) for n in TENSOR.match(tensor)[2].split(",")]


def typed(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


class Splitter:
    """The nodes of one graph, each as a Spec of its own."""

    def __init__(self, text):
        self.known, self.nodes = {}, []  # the tensor that each name stands for
        for statement in text.split("; "):
            name, _, body = statement.rpartition(" = ") if re.match(r"\w+ = ", statement) else ("", "", statement)
            value = None
            for segment in body.split(" -> "):
                value = self.segment(segment, value)
            self.known[name] = value

    def operands(self, words):
        """Tensors of some words, in order, and the settings. A name that is not known yet is that of the tensor behind it."""
        found, settings, name = [], [], ""
        for word in words:
            if TENSOR.match(word):
                found.append(word)
                if name:
                    self.known[name], name = word, ""
            elif word in self.known:
                found.append(self.known[word])
            elif "=" in word or word in WORDS:
                settings.append(word)
            else:
                name = word
        return found, settings

    def segment(self, text, before):
        """Adds a node, or a step to the last one; returns what its value is like."""
        head, *words = re.split(r" (?=[+*] )", text)[0].split(" ")
        infix = re.split(r" (?=[+*] )", text)[1:]
        tensors, settings = self.operands(words)
        inputs = ([before] if before else []) + tensors
        if head in STEPS:
            value = typed(words[0], sizes(before)) if head == "cast" else before
            self.nodes[-1] += f" -> {value}" if head == "cast" else f" -> {head}"
        elif head == "attention":
            value = self.attention(inputs, settings)
        else:
            assert head in HEADS, head
            self.nodes.append(" ".join([head, *inputs, *settings]))
            shape = sizes(inputs[0])
            value = typed("f32", shape[:-1] + sizes(inputs[1])[-1:] if head == "matmul" else shape)
        self.nodes[-1] += "".join(f" {part}" for part in infix)
        return value

    def attention(self, inputs, settings):
        (q, k, v), dtype = map(sizes, inputs), TENSOR.match(inputs[0])[1]
        scores = typed("f32", [*q[:-1], k[-2]])
        kept = " -> causal_mask" if "causal" in settings else ""
        self.nodes.append(f"matmul {inputs[0]} {typed(dtype, [k[0], k[2], k[1]])}{{1,2,0}} * 0.125{kept}")
        self.nodes.append(f"softmax {scores} axis={len(q) - 1}")
        self.nodes.append(f"matmul {scores} {inputs[2]}")
        return typed("f32", [*q[:-1], v[-1]])


class Search:
    def __init__(self, arguments, isa, text):
        command = [arguments.morello, "synth", "--json", "--isa", isa, text]
        command += ["--effort", arguments.effort] if arguments.effort else ["--time-budget", str(arguments.seconds)]
        best = None
        for _ in range(arguments.repetitions):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{text}\n{done.stderr}")
            found = json.loads(done.stdout)
            if best is None or found["search"]["search_nanoseconds"] < best["search"]["search_nanoseconds"]:
                best = found
            if best["search"]["search_nanoseconds"] > 1e9:
                break
        self.seconds = best["search"]["search_nanoseconds"] / 1e9
        self.expanded = best["search"]["expanded"]
        self.ended = bool(best["optimal"]) or bool(arguments.effort)


def time_of(search):
    return ("" if search.ended else "> ") + (f"{search.seconds:.1f} s" if search.seconds >= 1 else
                                             f"{search.seconds * 1e3:.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("morello")
    parser.add_argument("--isa", default="avx2,avx512")
    parser.add_argument("--seconds", type=float, default=60, help="of the longest search")
    parser.add_argument("--effort", help="of searches; else they are exact")
    parser.add_argument("--repetitions", type=int, default=3, help="of searches of less than a second")
    parser.add_argument("--filter", default="", help="only graphs whose names contain it")
    arguments = parser.parse_args()
    for isa in arguments.isa.split(","):
        print(f"\n{isa}:\n\n| graph | nodes | search | largest node alone | search | times as long | expanded | of that node "
              "| times as many |\n|---|---|---|---|---|---|---|---|---|", flush=True)
        ratios = []
        for name, text, *_ in GRAPHS:
            nodes = Splitter(text).nodes
            if len(nodes) < 2 or arguments.filter not in name:
                continue
            whole = Search(arguments, isa, text)
            alone = {node: Search(arguments, isa, node) for node in dict.fromkeys(nodes)}
            node, largest = max(alone.items(), key=lambda pair: pair[1].seconds)
            ratio, more = whole.seconds / largest.seconds, whole.expanded / max(1, largest.expanded)
            bound = "" if largest.ended and whole.ended else "?" if not largest.ended else "> "
            if bound == "":
                ratios.append(ratio)
            print(f"| {name} | {len(nodes)} | {time_of(whole)} | `{node}` | {time_of(largest)} | {bound}{ratio:.2f} | "
                  f"{whole.expanded:,} | {largest.expanded:,} | {more:.2f} |", flush=True)
        ratios.sort()
        if ratios:
            print(f"\nOf {len(ratios)} graphs that ended, with all their nodes: {sum(r <= 5 for r in ratios)} within 5 times, "
                  f"median {ratios[len(ratios) // 2]:.2f}, most {ratios[-1]:.2f}.", flush=True)


if __name__ == "__main__":
    main()
