"""check_text.py - no marks of unfinished work, no path of this machine, a README that says how to start, and no comment that
parts a name from its type or value: clang-format breaks `int64_t n; /* too long a comment */` behind the type."""
# SPDX-License-Identifier: MIT
import os
import re

import tree

MARKS = re.compile(r"\b(%s)\b" % "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")))
PARTED = re.compile(r"^ +(?:const )?\w+(?: \*)?\n +\*?\w+(?:, \*?\w+)*; +/\*|^#define \w+ \\\n +[^/\n\\]+ /\*", re.M)
COMMON = ("/", "/tmp", "/home", "/usr", "/opt", "/srv", "/var", "/var/tmp", "/mnt")
START = ("make test", "make demo")


def machine_path():
    """The folder above the checkout, or the checkout itself where that is a folder everybody has."""
    above = os.path.dirname(tree.ROOT)
    place = tree.ROOT if above in COMMON else above
    return re.compile(r"(?<![\w./-])" + re.escape(place) + r"(?![\w-])")


def main():
    problems, here = [], machine_path()
    for path in tree.files():
        text = tree.read(path)
        if path.endswith((".c", ".h")):
            problems += ["%s:%d: a comment parts a name from its type or value: put it above" % (path, tree.line_of(text, m.start()))
                         for m in PARTED.finditer(text)]
        for number, line in enumerate(text.split("\n"), 1):
            if MARKS.search(line):
                problems.append("%s:%d: a mark of unfinished work" % (path, number))
            if here.search(line):
                problems.append("%s:%d: a path of this machine" % (path, number))
    readme = tree.read("README.md") if os.path.exists(os.path.join(tree.ROOT, "README.md")) else ""
    problems += ["README.md:1: does not name `%s`" % s for s in START if s not in readme]
    tree.finish(problems)


main()
