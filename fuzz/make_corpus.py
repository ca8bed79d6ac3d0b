"""make_corpus.py FOLDER - the seeds of the fuzz targets: good files, and files broken in one place each.

Writes FOLDER/fuzz_npy/*, FOLDER/fuzz_tensors/*, FOLDER/fuzz_source/*, FOLDER/fuzz_net/* and FOLDER/fuzz_kernel/*.
"""
# SPDX-License-Identifier: MIT
import bz2
import gzip
import json
import lzma
import os
import struct
import sys


def npy(dictionary, data, version=1):
    text = dictionary.encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + data


def npy_seeds():
    def text(shape, descr="'<f8'", order="False"):
        return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)

    yield "vector", npy(text("(3,)"), bytes(24))
    yield "table", npy(text("(2, 3)"), bytes(range(48)))
    yield "narrow", npy(text("(2, 3)", "'<f4'"), bytes(24))
    yield "empty", npy(text("(0, 3)"), b"")
    yield "padded", npy(text("(1, 1)") + " " * 57, bytes(8))
    yield "quotes", npy('{"shape":(1,),"descr":"<f8","fortran_order":False}', bytes(8))
    yield "version2", npy(text("(3,)"), bytes(24), 2)
    yield "version3", npy(text("(3,)"), bytes(24), 3)
    yield "version4", npy(text("(3,)"), bytes(24), 4)
    yield "fortran", npy(text("(2, 3)", order="True"), bytes(48))
    yield "scalar", npy(text("()"), bytes(8))
    yield "cube", npy(text("(1, 2, 3)"), bytes(48))
    yield "huge", npy(text("(4294967296, 4294967296)"), bytes(8))
    yield "structured", npy(text("(1,)", "[('a', '<f8')]"), bytes(8))
    yield "short", npy(text("(3,)"), bytes(23))
    yield "long", npy(text("(3,)"), bytes(25))


def tensors(header, data=b""):
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    text = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + data


def tensor(shape, begin, end, dtype="F64"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def tensors_seeds():
    yield "nothing", tensors({})
    yield "metadata", tensors({"__metadata__": {"form": "covariance", "\u00e9\n": "\U0001f600"}})
    yield "gauss", tensors({"__metadata__": {"form": "precision", "settings": "{\"K\":2}"},
                            "mu": tensor([3], 0, 24), "F": tensor([3, 2], 48, 72, "F32"),
                            "psi": tensor([3], 24, 48)}, bytes(range(72)))
    yield "index", tensors({"index": tensor([2], 0, 16, "I64")}, bytes(16))
    yield "scalar", tensors({"x": tensor([], 0, 8)}, bytes(8))
    yield "crooked", tensors({"a": tensor([1], 0, 4, "F32"), "b": tensor([2], 4, 20)}, bytes(20))
    yield "empty", tensors({"a": tensor([0, 3], 0, 0), "b": tensor([1], 0, 8)}, bytes(8))
    yield "padded", tensors('{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}    ', bytes(8))
    yield "overlap", tensors({"a": tensor([2], 0, 16), "b": tensor([1], 8, 16)}, bytes(16))
    yield "gap", tensors({"a": tensor([1], 0, 8), "b": tensor([1], 16, 24)}, bytes(24))
    yield "outside", tensors({"a": tensor([2], 0, 16)}, bytes(8))
    yield "deep", tensors({"a": tensor([1] * 9, 0, 8)}, bytes(8))
    yield "large", tensors({"a": tensor([1 << 62, 4], 0, 0)})
    yield "negative", tensors({"a": tensor([-1], 0, 8)}, bytes(8))
    yield "dtype", tensors({"a": tensor([4], 0, 8, "BF16")}, bytes(8))
    yield "twice", tensors('{"a":{"dtype":"F64"},"a":{}}')
    yield "nested", tensors("{\"a\":" + "[" * 40 + "]" * 40 + "}")
    yield "length", struct.pack("<Q", 1 << 63) + b"{}"


def source_seeds():
    auto, words, missing = 0, 1, 2

    def table(text, options=0, form=auto, dialect=0):
        return bytes((form, options, dialect)) + (text if isinstance(text, bytes) else text.encode("latin-1"))

    yield "csv", table("a,b\n1,-2.5e3\n3,.5\n")
    yield "semicolons", table("a;b\n1;2\n3;4\n")
    yield "tsv", table("a\tb\n1\t2\n3\t4\n")
    yield "text", table("1 2\n3\t4\n")
    yield "libsvm", table("1 1:2 3:4\n-1 2:5\n")
    yield "idx", table("\0\0\x08\x01\0\0\0\x03abc")
    yield "npy", bytes((auto, missing, 0)) + npy(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }", b"\0\0\0\0\0\0\xf8\x7f")
    yield "words", table('x,color\n1,red\n2,"a ""b"", c"\n3,red\n', words)
    yield "headless", table("1,red\n2,blue\n", words)
    yield "names", table("city,color\nRome,red\nNew York,blue\n", words)
    yield "index", table(",color\n0,red\n1,blue\n", words)
    yield "holes", table("x,color\n1,red\n,NA\n?,blue\nnan,\n", words | missing)
    yield "numbers", table("x y\n1 .\n- 2\nn/a 3\n", missing)
    yield "infinite", table("x,c\ninf,a\n1,b\n1e999,c\n", words | missing)
    yield "listed", table("a,b,3\n1,2,3\n1,5,4\n", words | 2 << 2)
    yield "numbered", table("1\t2\n3\t\n", words | missing | 1 << 2)
    yield "late", table("x,y\n" + "1,2\n" * 17000 + "1,red\n", words)
    yield "open", table('x,c\n1,red\n2,"blue\n', words)
    index, dates = 1 << 4, 1 << 3
    plain = b"a,b\n" + b"1,2\n" * 20
    yield "commas", table("a;b\n3,14;2\n-0,5;1e3\n", words)
    yield "quoted_commas", table('"3,14",2\n"1.050,5",3\n', words)
    yield "signs", table('a,b\n$3.20,7.1%\n-$4,0.5 %\n', words)
    yield "groups", table('a;b\n1,050;2.5\n950;3\n', words)
    yield "pipes", table("a|b\n1|2\n3|4\n")
    yield "lines", table('x,c\n1,"a\nb"\n2,"c\n\n""d"\n', words)
    yield "comments", table("# x\n# a b\n1 2\n# y\n3 4\n", words)
    yield "returns", table("a,b\r1,2\r3,4\r", words)
    yield "write_csv", table('"","a"\n"car 1",5\n"car 2",6\n', words | index)
    yield "write_table", table('"a" "b"\n"car 1" 5 6\n"car 2" 7 8\n', words | index)
    yield "dates", table("when,x\n2024-03-01T12:00Z,1\n2023-12-31,2\n", words, dialect=dates)
    yield "days", table("when,x\n13/01/2024,1\n01/02/2024,2\n", words, dialect=dates)
    yield "nones", table("c,x\n" + "None,1\nbrick,2\n" * 6, words | missing)
    yield "none_listed", table("a,b\nNone,none\nx,y\n", words | missing, dialect=6 << 5)
    yield "na", table("x,c\n7,NA\n1,none\n", words | missing, dialect=3 << 5)
    yield "usual", table("a!b\n1,050!01/02/2024\n", words, dialect=5 << 5)
    yield "latin", table("gr\xf6\xdfe,c\n1,caf\xe9\n2,\x80\n", words)
    yield "utf16", table("x,c\n1,\u20ac\n2,b\n".encode("utf-16"), words)
    yield "utf16_big", table("x,c\n1,red\n2,b\n".encode("utf-16-be"), words)
    yield "gz", table(gzip.compress(plain))
    yield "xz", table(lzma.compress(plain))
    yield "bz2", table(bz2.compress(plain))
    yield "zstd", table(bytes.fromhex("28b52ffd0458") + b"\x21\0\0" + b"1,2\n" + bytes(4))


def net_seeds():
    one, sixteen = 0, 3 << 3  # features of a text

    def text(layers, first=one):
        return bytes((first,)) + layers.encode()

    def file(layers, parameters, **more):
        model = {"kind": "network", "likelihood": "gaussian", "features": 1, "classes": 1, "noise": "fixed", "beta": 1,
                 "parameters": parameters, "layers": [{"layer": l} for l in layers]}
        model.update(more)
        return b"\1" + json.dumps(model).encode()

    yield "linear", text("linear")
    yield "mlp", text("mlp:3,2:tanh")
    yield "list", text("dense:3,relu,dropout:0.2,dense:2,tanh")
    yield "image", text("input:1x4x4,conv:2x3,relu,pool:2,flatten,dense:3", sixteen)
    yield "residual", text("input:1x4x4,conv:2x3:same,residual(conv:2x3:same,relu),flatten", sixteen)
    yield "classes", text("mlp:3", sixteen | 3 << 1)
    yield "unknown", text("dense:3,rleu")
    yield "shapes", text("input:1x4x4,conv:2x9", sixteen)
    yield "deep", text("residual(" * 129)
    yield "control", text("dense:3,re\x01lu")
    yield "wide", text("dense:99999999999,relu")
    yield "file", file(["dense:3", "relu", "dense:1"], 10)
    yield "learned", file(["dense:3", "tanh", "dense:1"], 11, noise="learned", floor=0.1)
    yield "student", file(["dense:1"], 2, nu=4)
    yield "forked", file(["residual(", "dense:4", ")", "dense:1"], 25, features=4)
    yield "shaped", file(["conv:2x3", "relu", "flatten", "dense:1"], 29, input="1x4x4", features=16)
    yield "miscounted", file(["dense:3", "relu", "dense:1"], 11)
    yield "layerless", file([], 2)
    yield "nested", b"\1" + b"[" * 3000


def kernel_seeds():
    one, four, named = 0, 3, 7  # columns, and whether they have names

    def text(kernel, first=one):
        return bytes((first,)) + kernel.encode()

    yield "rbf", text("rbf:ard", four)
    yield "all", text("rbf + matern12 + matern32 + matern52 + matern:nu=1.7 + rq + periodic:col=0 + linear + poly:m=3 + const", four)
    yield "product", text("(rbf:l=0.5 + 2*linear:ard)*rq:a=3*(poly:c=2 + .5)", four)
    yield "names", text("rbf:ard:col=a b,x*y:l=2:l=1,2*periodic:col=1:p=7", named)
    yield "nearest", text("rbg + linear")
    yield "brackets", text("(" * 33 + "rbf")
    yield "terms", text("rbf" + "*(1+rq)" * 9)
    yield "many", text("rbf" + "*rbf" * 64)
    yield "control", text("rb\x01f")
    yield "numbers", text("1e150*1e150*rbf:l=1e-150")


def main(folder):
    for target, seeds in (("fuzz_npy", npy_seeds()), ("fuzz_tensors", tensors_seeds()),
                          ("fuzz_source", source_seeds()), ("fuzz_net", net_seeds()), ("fuzz_kernel", kernel_seeds())):
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        for name, data in seeds:
            with open(os.path.join(folder, target, name), "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main(sys.argv[1])
