"""check_long.py - long arrays belong to src/la: nobody else asks whether one is f32 or f64, or indexes it.

The D x k arrays (F of a Gaussian, draws, gradients of examples) are f32 or f64, chosen at run time.
Counted are casts of them, as in ((float *)q->F)[i] and (const double *)x->p + j, pointers of an element
type set to F, as in double *F = q->F, and branches on FAB_F32.  Those of today stand in
tools/long_arrays.txt with their number per file; the numbers may only fall.

    tools/check_long.py [list]     list: what is counted, line by line
"""
# SPDX-License-Identifier: MIT
import re
import sys

import tree

LISTED = "tools/long_arrays.txt"
ELEMENT = r"(?:const\s+)?(?:float|double)\s*\*\s*(?:const\s*)?"
POINTER = r"[A-Za-z_]\w*(?:\s*(?:->|\.)\s*\w+|\s*\[[^]]*\])*"
# a cast of a pointer that is not simply followed, as *(const double *)a in a comparison of numbers
CAST = re.compile(r"(?<!\*)\(\s*%s\)\s*(?:%s|\()" % (ELEMENT, POINTER))
# a Gaussian is q, g or truth; other structs have an F of double
F = re.compile(r"\b(?:float|double)\s*\*[^;]*?=\s*(?:\w+->)*(?:q|g|truth)->F\s*[;,]")
BRANCH = re.compile(r"[!=]=\s*FAB_F32\b|\bFAB_F32\s*[!=]=|\bcase\s+FAB_F32\b")
CASTS_IN, BRANCHES_IN = ("src/la/",), ("src/la/", "src/base/")


def found(path):
    """(line, what) of everything counted in a file."""
    text = tree.strip_c(tree.read(path))
    places = []
    if not path.startswith(CASTS_IN):
        places += [(m.start(), "a long array is indexed") for m in CAST.finditer(text)]
        places += [(m.start(), "a long array is indexed") for m in F.finditer(text)]
    if not path.startswith(BRANCHES_IN):
        places += [(m.start(), "a branch on FAB_F32") for m in BRANCH.finditer(text)]
    return [(tree.line_of(text, at), what) for at, what in sorted(places)]


def listed():
    """path -> number, of the lines `path number`; # starts a comment."""
    numbers = {}
    for line in tree.read(LISTED).split("\n"):
        words = line.split("#")[0].split()
        if words:
            numbers[words[0]] = int(words[1])
    return numbers


def main():
    here = {path: found(path) for path in tree.files("*.c", "*.h", "*.inc", under=("src", "cli"))}
    if sys.argv[1:] == ["list"]:
        for path, places in here.items():
            for line, what in places:
                print("%s:%d: %s" % (path, line, what))
        return
    numbers, problems = listed(), []
    for path in sorted(set(here) | set(numbers)):
        places, most = here.get(path, []), numbers.get(path, 0)
        if len(places) > most:
            problems += ["%s:%d: %s; this is for src/la" % (path, line, what) for line, what in places]
            problems.append("%s: %d such places, %s has %d" % (path, len(places), LISTED, most))
        if len(places) < most:
            problems.append("%s: %s: lower the number from %d to %d" % (LISTED, path, most, len(places)))
    tree.finish(problems)


main()
