"""check_size.py - functions and files that stay readable: 60 lines and 600 lines at most."""
# SPDX-License-Identifier: MIT
import tree

FUNCTION, FILE = 60, 600


def functions(lines):
    """(first line, length) of every function: from a line that starts with { to one with }."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            yield start, number - start + 1
            start = None


def main():
    problems = []
    for path in tree.files("*.c", "*.h", "*.inc", "*.cu", under=("src", "cli")):
        lines = tree.read(path).split("\n")
        if path.startswith("src/") and len(lines) - 1 > FILE:
            problems.append("%s:%d: the file has more than %d lines" % (path, len(lines) - 1, FILE))
        for start, length in functions(lines):
            if length > FUNCTION:
                problems.append("%s:%d: a function of %d lines; at most %d" %
                                (path, start, length, FUNCTION))
    tree.finish(problems)


main()
