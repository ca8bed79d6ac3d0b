"""tree.py - what the checks share: the files of the tree, and C text without comments.

    tools/tree.py '*.c' '*.h'      prints the files of those names, one per line
"""
# SPDX-License-Identifier: MIT
import fnmatch
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIP = ("build*", ".git", "report") # at the top


def git_files():
    """Tracked files and new ones that are not ignored; None where the tree is not a checkout."""
    if not os.path.exists(os.path.join(ROOT, ".git")):
        return None
    out = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"],
                         capture_output=True, text=True)
    return out.stdout.split("\0")[:-1] if out.returncode == 0 else None


def walked_files():
    for folder, folders, names in os.walk(ROOT):
        skip = ("__pycache__", *SKIP) if folder == ROOT else ("__pycache__",)
        folders[:] = [f for f in folders if not any(fnmatch.fnmatch(f, s) for s in skip)]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def files(*patterns, under=()):
    """Paths relative to ROOT, sorted; `under` keeps some folders only."""
    found = git_files()
    for path in sorted(set(walked_files() if found is None else found)):
        if patterns and not any(fnmatch.fnmatch(os.path.basename(path), p) for p in patterns):
            continue
        if under and not path.startswith(tuple(u + "/" for u in under)):
            continue
        if os.path.isfile(os.path.join(ROOT, path)):
            yield path


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as f:
        return f.read()


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def strip_c(text, strings=True):
    """C without comments and, unless strings is False, with empty strings; lines keep their numbers."""
    def blank(m):
        token = m.group()
        if token[0] == "/":
            return " " + "\n" * token.count("\n")
        return token[0] * 2 if strings else token
    return TOKEN.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def finish(problems):
    """Print the problems, one per line, and leave: 0 when there are none."""
    for p in problems:
        print(p)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    print("\n".join(files(*sys.argv[1:])))
