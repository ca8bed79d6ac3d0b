"""check_docs.py - what the pages name is there: functions, files, links."""
# SPDX-License-Identifier: MIT
import os
import re

import tree

SYMBOL = re.compile(r"\b(?:fab|FAB)_\w*[A-Za-z0-9]\b(?![_<*])")
PATH = re.compile(r"(?<![\w./-])(?:src|include|cli|tests|docs|tools|studies|examples|bench|fuzz)/[\w./-]*[\w/](?![\w<*])")
LINK = re.compile(r"\]\(([^)#:]+)\)")
PATTERN = {"fab_noun_verb"}  # how names are made
OLD_NAMES = ("CHANGES.md",)  # says what there was


def pages():
    return [p for p in tree.files("*.md") if p not in OLD_NAMES]


def main():
    names = set()
    for path in tree.files("*.c", "*.h", "CMakeLists.txt"):
        names.update(SYMBOL.findall(tree.read(path)))
    problems = []
    for page in pages():
        for number, line in enumerate(tree.read(page).split("\n"), 1):
            wrong = [s for s in SYMBOL.findall(line) if s not in names | PATTERN]
            wrong += [p for p in PATH.findall(line) if not os.path.exists(os.path.join(tree.ROOT, p))]
            here = os.path.join(tree.ROOT, os.path.dirname(page))
            wrong += [p for p in LINK.findall(line) if not os.path.exists(os.path.join(here, p))]
            problems += ["%s:%d: there is no %s" % (page, number, w) for w in wrong]
    tree.finish(problems)


main()
