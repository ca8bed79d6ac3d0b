"""docs_settings.py - the settings tables in docs/ are what `fabayes methods NAME` prints.

    tools/docs_settings.py check PROGRAM      names the pages that differ; exit status 1 when there are any
    tools/docs_settings.py write PROGRAM      writes the tables anew

A table stands in a fenced block that begins with the line "setting  default  ..", under a paragraph that names
`fabayes methods NAME`.  Where a method prints two tables (linear models, networks), the first block of a page is the
first of them, the second block the second.  Every method has a page, docs/methods/NAME.md.
"""
# SPDX-License-Identifier: MIT
import os
import re
import subprocess
import sys

import tree

BLOCK = re.compile(r"^```\n(setting  .*?\n)```$", re.M | re.S)
NAMED = re.compile(r"`fabayes methods ([\w-]+)`")
TABLE = re.compile(r"^setting  .*?(?:\n\n|\n\Z)", re.M | re.S)


def printed(program, *arguments):
    return subprocess.run([program, "methods", *arguments], capture_output=True, text=True, check=True).stdout


def tables(program, method):
    return [t.rstrip("\n") + "\n" for t in TABLE.findall(printed(program, method))]


def renewed(text, program):
    """The page with its tables as the program prints them, and (line, what is wrong) for each that differs."""
    wrong, met = [], {}

    def renew(m):
        line = tree.line_of(text, m.start())
        named = NAMED.findall(text, 0, m.start())
        if not named:
            wrong.append((line, "a settings table without `fabayes methods NAME` above it"))
            return m.group()
        method = named[-1]
        which = met[method] = met.get(method, -1) + 1
        now = tables(program, method)
        if which >= len(now):
            wrong.append((line, "%s prints %d tables" % (method, len(now))))
            return m.group()
        if now[which] != m.group(1):
            wrong.append((line, "not the settings that `fabayes methods %s` prints" % method))
        return "```\n" + now[which] + "```"

    return BLOCK.sub(renew, text), wrong


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "write"):
        sys.exit(__doc__)
    writes, program = sys.argv[1] == "write", sys.argv[2]
    problems = []
    for path in tree.files("*.md", under=("docs",)):
        text = tree.read(path)
        new, wrong = renewed(text, program)
        if writes and new != text:
            with open(os.path.join(tree.ROOT, path), "w", encoding="utf-8") as f:
                f.write(new)
        problems += ["%s:%d: %s" % (path, line, what) for line, what in wrong
                     if not (writes and what.startswith("not the settings"))]
    listed = re.findall(r"^([\w-]+) +(?:stream|batch) ", printed(program), re.M)
    pages = set(tree.files("*.md", under=("docs/methods",)))
    for method in listed:
        page = "docs/methods/%s.md" % method
        if page not in pages:
            problems.append("%s: the method %s has no page" % (page, method))
    if not listed:
        problems.append("%s lists no methods" % program)
    tree.finish(problems)


main()
