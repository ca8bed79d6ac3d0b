"""check_docs.py - what the pages name is there: functions, files, links.

On the walks through the sources (docs/life-of-a-*.md) a file may be named without its folder, and a function that no
header has: `csv.c` must be some file, `find_separator` a word of the code, and where the page says in which file it
stands (`row` (`csv.c`), `next` of `csv.c`), a word of that file.
"""
# SPDX-License-Identifier: MIT
import fnmatch
import os
import re

import tree

SYMBOL = re.compile(r"\b(?:fab|FAB)_\w*[A-Za-z0-9]\b(?![_<*])")
PATH = re.compile(r"(?<![\w./-])(?:src|include|cli|tests|docs|tools|studies|examples|bench|fuzz)/[\w./-]*[\w/](?![\w<*])")
LINK = re.compile(r"\]\(([^)#:]+)\)")
WALKS = "life-of-a-*.md"
FENCED = re.compile(r"^```.*?^```$", re.S | re.M)
CODE = re.compile(r"`([^`\n]+)`")
PLACED = re.compile(r"`(\w+)`\s+(?:of\s+|in\s+|\()`([\w/.-]+\.[ch])`")
WORD = re.compile(r"[A-Za-z_]\w*")
PATTERN = {"fab_noun_verb"}  # how names are made
OLD_NAMES = ("CHANGES.md",)  # says what there was


def pages():
    return [p for p in tree.files("*.md") if p not in OLD_NAMES]


def walked(page, words):
    """What a walk names and is not there; words: of the code of each file."""
    text = FENCED.sub(lambda m: "\n" * m.group().count("\n"), tree.read(page))
    every = set().union(*words.values())
    files = {os.path.basename(path) for path in words}
    for m in CODE.finditer(text):
        code = m.group(1)
        absent = code not in files if re.fullmatch(r"[\w-]+\.[ch]", code) else WORD.fullmatch(code) and code not in every
        if absent:
            yield "%s:%d: there is no %s" % (page, tree.line_of(text, m.start()), code)
    for m in PLACED.finditer(text):
        name, file = m.groups()
        if not any(name in found for path, found in words.items() if ("/" + path).endswith("/" + file)):
            yield "%s:%d: there is no %s in %s" % (page, tree.line_of(text, m.start()), name, file)


def main():
    names, words = set(), {}
    for path in tree.files("*.c", "*.h", "CMakeLists.txt"):
        text = tree.read(path)
        names.update(SYMBOL.findall(text))
        if path.endswith((".c", ".h")):
            words[path] = set(WORD.findall(tree.strip_c(text, strings=False)))
    problems = []
    for page in pages():
        for number, line in enumerate(tree.read(page).split("\n"), 1):
            wrong = [s for s in SYMBOL.findall(line) if s not in names | PATTERN]
            wrong += [p for p in PATH.findall(line) if not os.path.exists(os.path.join(tree.ROOT, p))]
            here = os.path.join(tree.ROOT, os.path.dirname(page))
            wrong += [p for p in LINK.findall(line) if not os.path.exists(os.path.join(here, p))]
            problems += ["%s:%d: there is no %s" % (page, number, w) for w in wrong]
        if fnmatch.fnmatch(os.path.basename(page), WALKS):
            problems += walked(page, words)
    tree.finish(problems)


main()
