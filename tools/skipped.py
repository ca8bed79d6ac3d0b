"""skipped.py FILE - a line for each test that was skipped, from the report that `ctest --output-junit FILE` writes."""
# SPDX-License-Identifier: MIT
import sys
from xml.etree import ElementTree


def lines(report):
    for case in ElementTree.parse(report).iter("testcase"):
        if case.get("status") == "notrun" or case.find("skipped") is not None:
            said = [x for x in (case.findtext("system-out") or "").splitlines() if x.startswith("skipped: ")]
            yield "skipped  %-20s %s" % (case.get("name"), said[-1][len("skipped: "):] if said else "and does not say why")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for line in lines(sys.argv[1]):
        print(line)


main()
