"""test_files.py LIBRARY - files go to and from NumPy and the safetensors package unharmed.

The library is called through ctypes.  Where NumPy or safetensors is missing the test says so and is
skipped (exit status 77), after what can be tested has been.
"""
# SPDX-License-Identifier: MIT
import ctypes
import os
import sys
import tempfile

F64, F32, I64 = 0, 1, 2


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


try:
    import numpy as np
except ImportError:
    skip("NumPy is missing; the containers are tested by npy, tensors, posterior")
try:
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
except ImportError:
    safe_open = None

DTYPES = {F64: np.float64, F32: np.float32, I64: np.int64}
CODES = {np.dtype(t): code for code, t in DTYPES.items()}


class Npy(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("ndim", ctypes.c_int),
                ("rows", ctypes.c_int64), ("cols", ctypes.c_int64)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("ndim", ctypes.c_int),
                ("shape", ctypes.c_int64 * 8), ("data", ctypes.c_void_p)]


def load(path):
    lib = ctypes.CDLL(path)
    lib.fab_detail.restype = ctypes.c_char_p
    lib.fab_tensors_count.restype = lib.fab_tensors_meta_count.restype = ctypes.c_int64
    lib.fab_tensors_at.restype = ctypes.POINTER(Tensor)
    lib.fab_tensors_get.restype = lib.fab_tensors_meta_key.restype = ctypes.c_char_p
    for name in ("at", "meta_key"):
        getattr(lib, "fab_tensors_" + name).argtypes = [ctypes.c_void_p, ctypes.c_int64]
    for name in ("count", "meta_count", "free"):
        getattr(lib, "fab_tensors_" + name).argtypes = [ctypes.c_void_p]
    return lib


def done(lib, status):
    assert status == 0, lib.fab_detail().decode()


def copy(address, dtype, shape):
    count = int(np.prod(shape, dtype=np.int64))
    bytes_ = ctypes.string_at(address, count * np.dtype(dtype).itemsize)
    return np.frombuffer(bytes_, dtype).reshape(shape)


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, a.shape, b.dtype, b.shape)
    assert a.tobytes() == b.tobytes()


# ---- npy ---------------------------------------------------------------------------------------------


def read_npy(lib, path):
    a = Npy()
    done(lib, lib.fab_npy_read(ctypes.byref(a), path.encode()))
    shape = (a.rows,) if a.ndim == 1 else (a.rows, a.cols)
    array = copy(a.data, DTYPES[a.type], shape)
    lib.fab_npy_free(ctypes.byref(a))
    return array


def write_npy(lib, path, array):
    cols = 1 if array.ndim == 1 else array.shape[1]
    a = Npy(array.ctypes.data, CODES[array.dtype], array.ndim, array.shape[0], cols)
    done(lib, lib.fab_npy_write(path.encode(), ctypes.byref(a)))


def numpy_reads_what_we_write_and_we_read_what_it_writes(lib, rng):
    for dtype in (np.float64, np.float32):
        for shape in ((0,), (1,), (29,), (0, 3), (3, 0), (29, 7), (1, 1), (100000, 2)):
            array = rng.standard_normal(shape).astype(dtype)
            write_npy(lib, "ours.npy", array)
            np.save("theirs.npy", array)
            same(np.load("ours.npy", allow_pickle=False), array)
            same(read_npy(lib, "theirs.npy"), array)
            with open("ours.npy", "rb") as ours, open("theirs.npy", "rb") as theirs:
                assert ours.read() == theirs.read(), shape
            for version in ((1, 0), (2, 0), (3, 0)):
                with open("versions.npy", "wb") as file:
                    np.lib.format.write_array(file, array, version)
                same(read_npy(lib, "versions.npy"), array)


def what_we_cannot_read_is_refused_with_the_remedy(lib, rng):
    cases = ((np.asfortranarray(rng.standard_normal((3, 4))), "np.ascontiguousarray"),
             (rng.standard_normal((2, 3, 4)), "(2, 3, 4)"),
             (np.float64(2.385), "()"),
             (np.arange(3), "<i8"),
             (np.arange(3).astype(">f8"), ">f8"),
             (np.zeros(3, [("a", "<f8")]), "[('a', '<f8')]"),
             (np.array(["a"]), "<U1"))
    for array, words in cases:
        np.save("refused.npy", array)
        assert lib.fab_npy_read(ctypes.byref(Npy()), b"refused.npy") != 0
        detail = lib.fab_detail().decode()
        assert detail.startswith("refused.npy: ") and words in detail, detail


# ---- safetensors -------------------------------------------------------------------------------------


def read_tensors(lib, path):
    t = ctypes.c_void_p()
    done(lib, lib.fab_tensors_read(ctypes.byref(t), path.encode()))
    arrays, meta = {}, {}
    for i in range(lib.fab_tensors_count(t)):
        x = lib.fab_tensors_at(t, i).contents
        arrays[x.name.decode()] = copy(x.data, DTYPES[x.type], tuple(x.shape[:x.ndim]))
    for i in range(lib.fab_tensors_meta_count(t)):
        key = lib.fab_tensors_meta_key(t, i)
        meta[key.decode()] = lib.fab_tensors_get(t, key).decode()
    lib.fab_tensors_free(t)
    return arrays, meta


def write_tensors(lib, path, arrays, meta):
    t = ctypes.c_void_p()
    done(lib, lib.fab_tensors_create(ctypes.byref(t)))
    for name, x in arrays.items():
        shape = (ctypes.c_int64 * 8)(*x.shape)
        done(lib, lib.fab_tensors_add(t, name.encode(), CODES[x.dtype], x.ndim, shape,
                                      ctypes.c_void_p(x.ctypes.data)))
    for key, value in meta.items():
        done(lib, lib.fab_tensors_set(t, key.encode(), value.encode()))
    done(lib, lib.fab_tensors_write(t, path.encode()))
    lib.fab_tensors_free(t)


def example(rng):
    arrays = {"psi": rng.random(29), "F": rng.standard_normal((29, 3)).astype(np.float32),
              "mu": rng.standard_normal(29), "index": rng.integers(-9, 9, 5),
              "0.mu": np.zeros((0, 4)), "scalar": np.array(2.385), "odd": np.ones(3, np.float32),
              "\u03b8 \"quoted\"": rng.standard_normal((2, 1, 3))}
    return arrays, {"form": "covariance", "settings": "{\"K\": 3}", "name": "\u00e9\n\U0001f600"}


def same_sets(a, b):
    assert sorted(a[0]) == sorted(b[0]) and a[1] == b[1], (a[1], b[1])
    for name in a[0]:
        same(a[0][name], b[0][name])


def what_we_write_we_read(lib, rng):
    arrays, meta = example(rng)
    write_tensors(lib, "ours.safetensors", arrays, meta)
    back = read_tensors(lib, "ours.safetensors")
    same_sets(back, (arrays, meta))
    assert list(back[0]) == list(arrays) and list(back[1]) == list(meta)


def safetensors_reads_what_we_write_and_we_read_what_it_writes(lib, rng):
    arrays, meta = example(rng)
    write_tensors(lib, "ours.safetensors", arrays, meta)
    with safe_open("ours.safetensors", "np") as file:
        same_sets((load_file("ours.safetensors"), file.metadata()), (arrays, meta))
    save_file(arrays, "theirs.safetensors", meta)
    same_sets(read_tensors(lib, "theirs.safetensors"), (arrays, meta))


def main(library):
    lib, rng = load(os.path.abspath(library)), np.random.default_rng(2385)
    tests = [numpy_reads_what_we_write_and_we_read_what_it_writes,
             what_we_cannot_read_is_refused_with_the_remedy, what_we_write_we_read]
    if safe_open:
        tests.append(safetensors_reads_what_we_write_and_we_read_what_it_writes)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for test in tests:
            test(lib, rng)
            print("ok  " + test.__name__)
        os.chdir("/")
    if not safe_open:
        skip("the Python package safetensors is missing; %d tests with NumPy passed, and the container is tested by tensors, posterior" % len(tests))


if __name__ == "__main__":
    main(sys.argv[1])
