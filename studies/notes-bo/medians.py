#!/usr/bin/env python3
"""medians.py FILE - the median regret over seeds for each function, way and trial, and the median seconds of a question."""
# SPDX-License-Identifier: MIT
import csv
import statistics
import sys


def main():
    by = {}
    with open(sys.argv[1], encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            by.setdefault((row["function"], row["by"], int(row["trial"])), []).append((float(row["regret"]), float(row["seconds"])))
    print("function,by,trial,seeds,regret,seconds")
    for (function, way, trial), values in by.items():
        regret, seconds = (statistics.median(v) for v in zip(*values))
        print(f"{function},{way},{trial},{len(values)},{regret:.5g},{seconds:.4f}")


if __name__ == "__main__":
    main()
