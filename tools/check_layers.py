"""check_layers.py - who may include whom: the direction of the folders, outside libraries, features."""
# SPDX-License-Identifier: MIT
import os
import re

import tree

# The folders of src/ in the order of the architecture: each may look into those before it.  Methods do not see one
# another: what one needs of another it opens by name (fit/).
ORDER = "base la posterior kernel data model train fit methods predict search table report".split()
BLIND = {"kernel": "posterior", "data": "la posterior", "model": "posterior"}  # parts of what stands before
SEEN = {"data": ("la/threads.h",)}  # a header of a part that is not seen
LAYERS = {f: " ".join(g for g in ORDER[:i] if g not in BLIND.get(f, "").split())
          for i, f in enumerate(ORDER)}
PUBLIC_ONLY = ("cli", "python", "examples", "studies")
PRIVATE_TOO = ("tests", "bench", "fuzz")

# An outside header (the start of its name) and the folders that may include it.
OUTSIDE = {
    "cblas": "la", "lapack": "la", "mpi.h": "la", "cuda": "la", "cublas": "la",
    "cusolver": "la", "curand": "la", "sleef": "la", "immintrin": "la", "x86intrin": "la",
    "arm_neon": "la", "cpuid": "la", "openblas": "la",
    "Random123/": "base la",
    "zlib": "base data",
    "lzma": "data", "bzlib": "data", "zstd": "data",
    "nlopt": "train methods search",
    "jansson": "base posterior kernel data model report cli",
    "Python.h": "python", "numpy/": "python",
    "cmocka": "", "setjmp": "", # tests only
    "signal.h": "cli la",  # la: workers leave signals to the program
}
LIBC = set("""assert complex ctype dirent dlfcn errno fcntl fenv float getopt glob inttypes iso646 limits
    locale math poll pthread sched stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn
    string strings tgmath threads time uchar unistd wchar wctype""".split())

# Macros that any file may test: the compiler's name, the language, the platform.
ANYWHERE = {"__cplusplus", "__GNUC__", "__clang__", "__STDC_VERSION__", "NDEBUG", "__linux__",
            "__APPLE__", "_WIN32", "defined", "__has_include", "__has_attribute", "__has_builtin"}
MACHINE = re.compile(r"__(AVX|SSE|FMA|ARM|aarch64|x86_64|F16C|BMI|powerpc|riscv)|_OPENMP$|__OPTIMIZE")
SWITCH = re.compile(r"FAB_|HAVE_|USE_|WITH_|ENABLE_")  # given by the build; not a template's parameter
FEATURES = ("CUDA", "MPI", "HIP", "SYCL", "OPENMP", "METAL")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
TESTED = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)\b(.*)$", re.M)
GUARD = re.compile(r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n[ \t]*#[ \t]*define[ \t]+\1\b", re.M)


def folder_of(path):
    """'la' for src/la/ops.c, 'src' for src/fit/methods.c, 'include', 'cli', ..."""
    parts = path.split("/")
    if parts[0] != "src":
        return parts[0]
    return parts[1] if len(parts) > 2 else "src"


# The lowest folder that may include a public header.
CHAPTERS = {"status": "base", "exec": "base", "settings": "base", "random": "base", "files": "base",
            "gauss": "posterior", "kernel": "kernel", "data": "data", "model": "model", "net": "model", "methods": "train", "svm": "methods",
            "fit": "fit", "predict": "predict", "search": "search", "table": "table", "report": "report"}


def public_layers():
    return {name + ".h": home for name, home in CHAPTERS.items()}


def is_ours(path, name):
    """A header of this tree, in quotes or brackets alike."""
    beside = [os.path.join(tree.ROOT, d, name) for d in (os.path.dirname(path), path.split("/")[0])]
    return name.split("/")[0] in ("fabayes", "fabayes.h", "..", *LAYERS) or any(map(os.path.exists, beside))


def inside(path, name, folder, homes):
    """What is wrong when `path` includes our own header `name`, or None."""
    first = name.split("/")[0]
    if first == "fabayes" or name == "fabayes.h":
        if folder not in LAYERS:
            return None
        if name == "fabayes.h":
            return "src/%s includes all public headers; name the ones it needs" % folder
        first = homes.get(os.path.basename(name), folder)
    elif folder in PUBLIC_ONLY or folder == "include":
        beside = [os.path.join(tree.ROOT, d, name) for d in (os.path.dirname(path), folder)]
        if folder == "include" or not any(map(os.path.exists, beside)) or ".." in name:
            if folder == "studies" and name.startswith("../common/"):
                return None  # what the studies share, itself held to this rule
            return "%s/ may include public headers only, not %s" % (folder, name)
        return None
    if first == folder == "methods" and name.split("/")[1] != path.split("/")[2]:
        if not name.startswith("fabayes/"):
            return "%s is another method: open it by name (fit/)" % name
    if folder in LAYERS and first in LAYERS and first != folder:
        if first not in LAYERS[folder].split() and name not in SEEN.get(folder, ()):
            return "src/%s may not include %s (src/%s)" % (folder, name, first)
    if folder in LAYERS and ".." in name:
        return "write the include from src/: %s" % name
    return None


def outside(path, name, folder):
    """What is wrong when `folder` includes the system header `name`, or None."""
    if folder in PRIVATE_TOO:
        return None
    for start, folders in OUTSIDE.items():
        if name.startswith(start):
            if folder in folders.split():
                return None
            return "<%s> belongs to %s" % (name, folders or "the tests")
    if name == "math.h" and folder == "cli" and not path.startswith("cli/demo/"):
        return "<math.h> in cli/: statistics belong to the library"
    if name.startswith("sys/") or name[:-2] in LIBC:
        return None
    return "<%s> is a library nobody has allowed (tools/check_layers.py)" % name


def tested_macros(text):
    """(line, macro) for every macro that an #if asks about, without include guards."""
    guards = set(GUARD.findall(text))
    for m in TESTED.finditer(text):
        for macro in re.findall(r"\b[A-Za-z_]\w*", m.group(2)):
            if macro not in guards and macro not in ANYWHERE:
                yield tree.line_of(text, m.start()), macro


def feature(path, macro, folder):
    """What is wrong when `path` tests `macro`, or None."""
    if MACHINE.search(macro):
        return None if folder == "la" else "%s may be tested in src/la only" % macro
    for word in FEATURES:
        if word in macro and word.lower() not in path.lower():
            return "%s may be tested only in the file that is the feature" % macro
    if folder == "include":
        return "a public header depends on %s" % macro
    return None


def main():
    problems, where = [], {}
    homes = public_layers()
    for path in tree.files("*.c", "*.h", "*.inc", "*.cu", "*.cpp"):
        folder = folder_of(path)
        text = tree.strip_c(tree.read(path), strings=False)
        for m in INCLUDE.finditer(text):
            name = m.group(1)
            ours = is_ours(path, name)
            wrong = inside(path, name, folder, homes) if ours else outside(path, name, folder)
            if wrong:
                problems.append("%s:%d: %s" % (path, tree.line_of(text, m.start()), wrong))
        if folder not in LAYERS and folder not in ("src", "include"):
            continue
        for line, macro in tested_macros(text):
            wrong = feature(path, macro, folder)
            if wrong:
                problems.append("%s:%d: %s" % (path, line, wrong))
            elif SWITCH.match(macro):
                where.setdefault(macro, {})[path] = line
    for macro, paths in where.items():
        if len(paths) > 1:
            for path, line in paths.items():
                problems.append("%s:%d: %s is tested in %d files; one of them is the feature" %
                                (path, line, macro, len(paths)))
    tree.finish(problems)


main()
