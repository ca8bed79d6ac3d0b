"""check_calls.py - calls that the library may not make: the heap, printing, leaving, hidden state."""
# SPDX-License-Identifier: MIT
import re

import tree

# What is called, why it may not be, and the files (by their start) that may.
RULES = (
    ("malloc calloc realloc free aligned_alloc posix_memalign memalign valloc strdup strndup asprintf "
     "vasprintf open_memstream getline getdelim reallocarray",
     "heap calls stand in src/base/memory.c only", "src/base/memory.c"),
    ("printf vprintf puts putchar perror", "the library is silent", "src/report/"),
    ("fprintf vfprintf", "only src/report writes text to a FILE", "src/report/"),
    ("exit _exit _Exit quick_exit abort atexit raise", "the library never ends the program", None),
    ("getenv secure_getenv setenv putenv", "the environment belongs to the program", None),
    ("signal sigaction", "signals belong to the program", None),
    ("rand srand drand48 srand48 lrand48 rand_r",
     "random numbers have an address (fabayes/random.h)", None),
)
STREAMS = re.compile(r"\b(stdout|stderr)\b")


def uses(name, address):
    """A call of `name`, not of a member so named; with `address` also a pointer to it."""
    return re.compile(r"(?<![\w.>*])%s\s*\(" % name +
                      (r"|[=,(?:]\s*&?%s\s*[,;)}:]" % name if address else ""))


def main():
    rules = [(uses(name, names is RULES[0][0]), name, why, where)
             for names, why, where in RULES for name in names.split()]
    problems = []
    for path in tree.files("*.c", "*.h", "*.inc", "*.cu", under=("src",)):
        for number, line in enumerate(tree.strip_c(tree.read(path)).split("\n"), 1):
            for pattern, name, why, where in rules:
                if pattern.search(line) and not (where and path.startswith(where)):
                    problems.append("%s:%d: %s: %s" % (path, number, name, why))
            if STREAMS.search(line):
                problems.append("%s:%d: the library is silent" % (path, number))
    tree.finish(problems)


main()
