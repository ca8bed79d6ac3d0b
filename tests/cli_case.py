"""cli_case.py - what the tests of the command line share: the program, its files, how it is called."""
# SPDX-License-Identifier: MIT
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing; what the command line says is tested by frozen")
    sys.exit(77)

TYPES = {"float64": "F64", "float32": "F32", "int64": "I64"}


def safetensors(tensors, meta):
    """The bytes of a safetensors file."""
    header, data = {"__metadata__": meta}, b""
    for name, a in tensors.items():
        a = np.ascontiguousarray(a)
        header[name] = {"dtype": TYPES[a.dtype.name], "shape": list(a.shape),
                        "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


class Case(unittest.TestCase):
    program = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def save(self, name, tensors, form="covariance", **meta):
        """A posterior file; only `fabayes` and `form` stand in its metadata unless there is more."""
        return self.write(name, safetensors(tensors, {"fabayes": "0.1.0", "form": form, **meta}))

    def run_it(self, *args, **more):
        return subprocess.run([self.program, *map(str, args)], stdout=more.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, timeout=120, **more)

    def good(self, *args):
        """Standard output of a call that must succeed and say nothing on standard error."""
        done = self.run_it(*args)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode()

    def good_json(self, *args):
        """The one JSON object on standard output."""
        return json.loads(self.good(*args, "--json"))

    def bad(self, status, *args, says=()):
        """A call that must end with `status` and one sentence, which holds the words of `says`; gives it."""
        done = self.run_it(*args)
        sentence = done.stderr.decode()
        self.assertEqual(done.returncode, status, sentence)
        self.assertEqual(done.stdout, b"")
        self.assertTrue(sentence.startswith("fabayes: "), sentence)
        self.assertEqual(sentence.count("\n"), 1, sentence)
        for word in says:
            self.assertIn(word, sentence)
        return sentence

    def draws(self, file, n, *args):
        out = self.path("draws.npy")
        self.good("sample", file, "-n", n, "-o", out, *args)
        return np.load(out)


def run(*cases):
    """The tests of `cases` whose names hold every word of the command line behind the program."""
    if len(sys.argv) < 2:
        sys.exit("usage: %s FABAYES [NAME ..]" % os.path.basename(sys.argv[0]))
    Case.program = os.path.abspath(sys.argv[1])
    os.environ["LC_ALL"] = "C"
    tests = unittest.TestSuite()
    for case in cases:
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            if all(word in test.id() for word in sys.argv[2:]):
                tests.addTest(test)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    failed = len({test.id() for test, _ in result.failures + result.errors})
    print("%d passed, %d failed" % (result.testsRun - failed, failed))
    sys.exit(1 if failed else 0)
