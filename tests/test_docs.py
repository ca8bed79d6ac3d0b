"""test_docs.py PROGRAM PAGE.. - the commands that pages of docs/ show, run: they say what the page shows.

A block ```csv NAME is the file NAME.  In a block ```console a line "$ .." is a command of the shell, and what follows is all that it says
on both outputs; there "..." stands for anything, alone on a line for any lines.  The blocks of a page share a folder.  A command that
fails ends in a line "[1]", its exit status.
"""
# SPDX-License-Identifier: MIT
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


def calls(block):
    """[command, what it says], of a console block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif line.startswith("> "):
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1].append(line)
    return found


def pattern(lines):
    parts = ["(?:.*\n)*" if line == "..." else re.escape(line).replace(re.escape("..."), ".*") + "\n" for line in lines]
    return "".join(parts)


def run(command, folder, program):
    path = os.path.dirname(os.path.abspath(program)) + ":" + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout + ("[%d]\n" % done.returncode if done.returncode else "")


def check(page, program):
    """How many commands ran, and what was wrong."""
    ran, wrong = 0, []
    with open(page, encoding="utf-8") as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, block in BLOCK.findall(text):
            if kind == "csv":
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(block)
            if kind == "console":
                for command, shown in calls(block):
                    said = run(command, folder, program)
                    ran += 1
                    if not re.fullmatch(pattern(shown), said):
                        wrong.append("%s: $ %s\nsays\n%sand the page shows\n%s\n" % (page, command, said, "\n".join(shown)))
    return ran, wrong


def main():
    failed = []
    for page in sys.argv[2:]:
        ran, wrong = check(page, sys.argv[1])
        if not ran:
            wrong.append("%s: shows no command\n" % page)
        print("%s: %d commands, %d wrong" % (os.path.basename(page), ran, len(wrong)))
        failed += wrong
    print("\n".join(failed), end="")
    sys.exit(1 if failed else 0)


main()
