#!/usr/bin/python3
"""Peers of the bench of readers: pyarrow.csv on two threads, the C engine of pandas, numpy.load.

    source.py arrow|pandas|numpy FILE [TIMES]

Prints seconds on the clock and of the processor, the best of each, and the sum of all numbers; "none" where the package is not installed.
"""
import sys
import time


def reader(name):
    if name == "arrow":
        import pyarrow
        import pyarrow.csv

        pyarrow.set_cpu_count(2)
        pyarrow.set_io_thread_count(2)
        return pyarrow.csv.read_csv
    if name == "pandas":
        import pandas

        return lambda file: pandas.read_csv(file, engine="c")
    import numpy

    return numpy.load


def total(table):
    """Of the columns of numbers."""
    import numpy

    if hasattr(table, "column_names"):
        columns = [c for c in table.columns if str(c.type) != "string"]
        return sum(float(numpy.asarray(c).sum(dtype=float)) for c in columns)
    if hasattr(table, "select_dtypes"):
        return float(table.select_dtypes("number").to_numpy().sum(dtype=float))
    return float(table.sum())


def main():
    try:
        read = reader(sys.argv[1])
    except ImportError:
        print("none")
        return
    wall = processor = float("inf")
    for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 7):
        begin, used = time.perf_counter(), time.process_time()
        table = read(sys.argv[2])
        wall, processor = min(wall, time.perf_counter() - begin), min(processor, time.process_time() - used)
    print(wall, processor, repr(total(table)))


main()
