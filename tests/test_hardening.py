"""test_hardening.py PROGRAM LIBRARY - what the ELF files say about themselves, read by readelf.

A program or library that runs code of its input's choosing begins with a stack that can be executed, a table of functions
that can be overwritten, or a library that lies in the folder somebody was led into.
"""
# SPDX-License-Identifier: MIT
import os
import re
import shutil
import subprocess
import sys
import tempfile


def read(option, file):
    call = subprocess.run(["readelf", "-W", option, file], capture_output=True, text=True, check=True)
    return call.stdout


def runpath_has_whole_folders_only(file):
    for kind, path in re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", read("-d", file)):
        for folder in path.split(":"):
            assert folder.startswith(("/", "$ORIGIN")), f"{kind} '{path}': '{folder}' is the current folder"


def no_library_comes_from_the_current_folder(file):
    """As above, but seen to happen: a library that the loader would take if it looked here."""
    wanted = re.findall(r"\(NEEDED\).*\[(.*)\]", read("-d", file))
    if "INTERP" not in read("-l", file):
        return  # a library, which is not run
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            with open(os.path.join(folder, name), "wb") as trap:
                trap.write(b"this is no library")
        call = subprocess.run([file, "--version"], cwd=folder, capture_output=True, text=True)
        assert call.returncode == 0, call.stderr


def position_is_free(file):
    assert re.search(r"Type:\s+DYN", read("-h", file)), "not a position-independent file"


def relocations_are_read_only(file):
    dynamic = read("-d", file)
    assert "GNU_RELRO" in read("-l", file), "no RELRO"
    assert re.search(r"BIND_NOW|FLAGS_1.*NOW", dynamic), "RELRO is not full: symbols are bound late"


def stack_is_not_executable(file):
    stack = re.search(r"GNU_STACK.*", read("-l", file))
    assert stack and "RWE" not in stack.group(0), "the stack can be executed"
    assert not re.search(r"LOAD.*RWE", read("-l", file)), "a segment is writable and executable"


def stack_is_protected(file):
    symbols = read("--dyn-syms", file)
    assert "__stack_chk_fail" in symbols, "no stack protector"


def calls_are_fortified(file):
    symbols = read("--dyn-syms", file)
    assert re.search(r"__(memcpy|snprintf|vsnprintf|printf|fprintf|memset|strcpy|strcat)_chk", symbols), "no _FORTIFY_SOURCE"


TESTS = [runpath_has_whole_folders_only, no_library_comes_from_the_current_folder, position_is_free,
         relocations_are_read_only, stack_is_not_executable, stack_is_protected, calls_are_fortified]


def main(files):
    if not shutil.which("readelf"):
        print("skipped: readelf is missing")
        sys.exit(77)
    failed = 0
    for file in map(os.path.abspath, files):
        for test in TESTS:
            try:
                test(file)
                print(f"ok  {os.path.basename(file)}: {test.__name__}")
            except AssertionError as fault:
                failed += 1
                print(f"FAILED  {os.path.basename(file)}: {test.__name__}: {fault}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
