"""check_symbols.py - the shared library exports what include/ declares with FAB_API, and nothing else.

    tools/check_symbols.py LIBRARY
"""
# SPDX-License-Identifier: MIT
import re
import subprocess
import sys

import tree

DECLARED = re.compile(r"\bFAB_API\b([^;{]*)[;{]")


def declared():
    """name -> file:line of every FAB_API declaration."""
    names = {}
    for path in tree.files("*.h", under=("include",)):
        text = re.sub(r"^[ \t]*#.*$", "", tree.strip_c(tree.read(path)), flags=re.M)
        for m in DECLARED.finditer(text):
            words = re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", m.group(1)).split("(")[0])
            names[words[-1]] = "%s:%d" % (path, tree.line_of(text, m.start()))
    return names


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                         text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {row[-1].split("@")[0] for row in rows if row[-2] != "A"} # A: the name of the version itself


def home(name):
    """Where a symbol is defined, as far as a search can tell."""
    for path in tree.files("*.c", "*.inc", under=("src",)):
        m = re.search(r"^\w[^;\n]*\b%s\b" % re.escape(name), tree.strip_c(tree.read(path)), re.M)
        if m:
            return path
    return "src"


def main():
    names, symbols = declared(), exported(sys.argv[1])
    problems = ["%s: %s is exported and not declared with FAB_API in include/" % (home(s), s)
                for s in sorted(symbols - set(names))]
    problems += ["%s: %s is declared and not exported" % (names[s], s)
                 for s in sorted(set(names) - symbols)]
    problems += ["%s: public names start with fab_: %s" % (names[s], s)
                 for s in sorted(names) if not s.startswith("fab_")]
    tree.finish(problems)


main()
