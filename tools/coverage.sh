#!/bin/sh
# coverage.sh - branch coverage of src and cli by the tests, and the failure returns that none of them reaches.
#
#   tools/coverage.sh [CTEST ARGUMENTS..]    builds BUILD-coverage, runs the tests (all, or those that the arguments choose), reports
#   tools/coverage.sh report                 reports what was run last
#
# Needs gcc's gcov and gcovr.  Writes BUILD-coverage/coverage.csv (gcovr's, a line for each file) and BUILD-coverage/unreached.txt (FILE:LINE: the failure).
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
folder=${BUILD:-build}-coverage
if [ "${1:-}" != report ]; then
    cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O0 -g --coverage -fprofile-update=atomic" -DFAB_WERROR=OFF \
        -DCMAKE_EXE_LINKER_FLAGS=--coverage -DCMAKE_SHARED_LINKER_FLAGS=--coverage >/dev/null
    cmake --build "$folder" -j "${JOBS:-2}" >"$folder/build.log" 2>&1 || { tail -n 40 "$folder/build.log"; exit 1; }
    find "$folder" -name '*.gcda' -delete
    (cd "$folder" && ctest -j "${JOBS:-2}" "$@") || true # what a failing test reached counts
fi
gcovr --root . --object-directory "$folder" --filter src/ --filter cli/ --exclude-throw-branches --gcov-ignore-parse-errors \
    --csv "$folder/coverage.csv" --json "$folder/coverage.json" >"$folder/gcovr.log" 2>&1 || { tail -n 20 "$folder/gcovr.log"; exit 1; }
python3 - "$folder" <<'END'
import json
import re
import sys

folder = sys.argv[1]
unreached, returns, sums = [], 0, {}
for file in json.load(open(folder + "/coverage.json"))["files"]:
    name, lines = file["file"], file["lines"]
    part = sums.setdefault(name.split("/")[0], [0, 0, 0, 0])
    counts = {}
    for line in lines:
        if line.get("gcovr/noncode"):  # comments, and lines on which a statement goes on
            continue
        counts[line["line_number"]] = max(line["count"], counts.get(line["line_number"], 0))
        part[2] += sum(b["count"] > 0 for b in line["branches"])
        part[3] += len(line["branches"])
    part[0] += sum(c > 0 for c in counts.values())
    part[1] += len(counts)
    text = open(name).read().splitlines()
    for n, line in enumerate(text, 1):
        if not re.search(r"\bFAB_FAIL\(|\bsay_failed\(|\bsay_wrong\(", line) or "#define" in line:
            continue
        # the statement may begin above and end below
        near = [counts[i] for i in range(n, n + 4) if i in counts][:1] or [counts[i] for i in range(n - 1, n - 4, -1) if i in counts][:1]
        if not near:
            continue
        returns += 1
        if near[0] == 0:
            sentence = re.search(r'"[^"]*"', " ".join(text[n - 1:n + 3]))
            unreached.append("%s:%d: %s" % (name, n, sentence.group(0) if sentence else line.strip()))
for part, (a, b, c, d) in sorted(sums.items()):
    print("%s: %.1f %% of %d lines, %.1f %% of %d branches" % (part, 100 * a / b, b, 100 * c / d, d))
print("%d of %d failure returns are not reached: %s/unreached.txt" % (len(unreached), returns, folder))
open(folder + "/unreached.txt", "w").write("\n".join(unreached) + "\n")
END
