"""docs_reference.py - docs/reference.md is what the comments of the public headers say of each function.

    tools/docs_reference.py check      says where the page differs; exit status 1 when it does
    tools/docs_reference.py write      writes it anew

Chapters are in the order of fabayes.h.  A comment speaks of the declarations right below it, up to a blank line or the next comment.
"""
# SPDX-License-Identifier: MIT
import os
import re
import sys

import tree

PAGE = "docs/reference.md"
INCLUDE = re.compile(r'^#include "(fabayes/\w+\.h)"', re.M)
SECTION = re.compile(r"/\* -{2,} (.*?) -{2,} \*/")
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
FUNCTION = re.compile(r"FAB_API |static inline (?=[^{]*;)") # not the bodies of inline functions
HEAD = """# The C functions

Made from the comments in `include/fabayes` by `tools/docs_reference.py`; the headers have the fields of the structs. A function that can fail returns `fab_status`, and
`fab_detail()` has the sentence. *Copies*, *borrows until*, *lends until* and *gives* say who owns memory.
"""


def words(comment):
    """The text of a comment, without its stars; blank lines stay."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment.strip().split("\n")]
    return "\n".join(lines).strip()


def statement(text, at):
    """The end of the declaration that begins at `at`: behind its ';', or the body of a function, and a comment in the same line."""
    depth, ends = 0, ";}" if text.startswith("static inline", at) else ";"
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if text[at - 1] in ends and depth == 0:
            break
    trailing = re.compile(r"[ \t]*/\*.*?\*/", re.S).match(text, at)
    return trailing.end() if trailing else at


def parts(text):
    """("section", name), or ("entry", comment, [declaration]) in the order of a header's body."""
    at, entry = text.index('extern "C" {') + len('extern "C" {\n#endif\n'), None
    while at < len(text):
        blank = re.compile(r"[ \t]*\n").match(text, at)
        section, comment = SECTION.match(text, at), COMMENT.match(text, at)
        if blank or text[at] == "#" or section or comment:
            if entry and entry[2] and (not blank or blank.end() > at):
                yield entry
                entry = None
        if blank:
            entry = None
            at = blank.end()
        elif text[at] == "#":
            at = re.compile(r"(?:[^\n]*\\\n)*[^\n]*\n").match(text, at).end()
            entry = None
        elif section:
            yield "section", section.group(1)
            at = section.end() + 1
        elif comment:
            entry = ("entry", words(comment.group(1)), [])
            at = comment.end() + 1
        else:
            end = statement(text, at)
            if entry is None:
                entry = ("entry", "", [])
            entry[2].append(text[at:end].strip())
            at = end + 1
    if entry and entry[2]:
        yield entry


def type_name(declaration):
    function = re.search(r"\b(fab_\w+_fn)\(|\(\*?(fab_\w+)\)\(", declaration)
    if function:
        return function.group(1) or function.group(2)
    return re.findall(r"\bfab_\w+", re.sub(r"/\*.*?\*/", "", declaration, flags=re.S))[-1]


def shown(entry):
    """An entry of the page: code, then what is said of it."""
    _, comment, declarations = entry
    functions = [re.sub(r"\n {%d}" % len(m.group()), "\n", d[m.end():])
                 for d in declarations for m in [FUNCTION.match(d)] if m]
    types = [type_name(d) for d in declarations if d.startswith("typedef")]
    text = ""
    if functions:
        text += "```c\n%s\n```\n\n" % "\n".join(functions)
    if types:
        text += "**%s** " % ", ".join("`%s`" % t for t in types)
    if comment and (functions or types):
        code = re.search(r"^ {4}", comment, re.M)
        text += "\n```\n%s\n```\n\n" % comment if code else re.sub(r"([*<])", r"\\\1", comment) + "\n\n"
    elif types:
        text = text.rstrip() + "\n\n"
    return text


def chapter(path):
    text = tree.read("include/" + path)
    first = words(COMMENT.search(text).group(1)).split("\n\n")[0]
    name, _, summary = first.partition(" - ")
    out = "\n## %s\n\n%s\n\n" % (name, summary)
    for part in parts(text):
        out += "### %s\n\n" % part[1] if part[0] == "section" else shown(part)
    return out.rstrip("\n") + "\n"


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in ("check", "write"):
        sys.exit(__doc__)
    headers = INCLUDE.findall(tree.read("include/fabayes.h"))
    page = HEAD + "".join(chapter(h) for h in headers)
    problems = []
    for h in headers:
        for name in re.findall(r"^FAB_API [^;(]*?\b(fab_\w+)(?:\(|\[|;)", tree.strip_c(tree.read("include/" + h)), re.M):
            if not re.search(r"\b%s\b" % name, page):
                problems.append("include/%s: %s is not in the reference" % (h, name))
    if sys.argv[1] == "write":
        with open(os.path.join(tree.ROOT, PAGE), "w", encoding="utf-8") as f:
            f.write(page)
    elif not os.path.exists(os.path.join(tree.ROOT, PAGE)) or tree.read(PAGE) != page:
        problems.append("%s: is not what the headers say; tools/docs_reference.py write makes it anew" % PAGE)
    tree.finish(problems)


main()
