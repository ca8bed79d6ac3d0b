"""test_skipped.py BUILD - a test that is skipped says why in one line, and the tests it names in its place are there."""
# SPDX-License-Identifier: MIT
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = sys.argv[1]
sys.path.insert(0, os.path.join(ROOT, "studies", "common"))
import study  # noqa: E402

REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux" tests="3" failures="0" disabled="0" skipped="2">
<testcase name="net" status="run"><system-out>skipped: not I
</system-out></testcase>
<testcase name="files" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>ok
skipped: this; tested by that
</system-out></testcase>
<testcase name="mute" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out></system-out></testcase>
</testsuite>
"""


def each_skipped_test_gets_a_line():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tests.xml")
        with open(path, "w") as f:
            f.write(REPORT)
        out = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "skipped.py"), path], capture_output=True, text=True, check=True).stdout
    said = [" ".join(line.split()) for line in out.splitlines()]
    assert said == ["skipped files this; tested by that", "skipped mute and does not say why"], said


def tests_named_in_place_of_a_study_are_there():
    listed = subprocess.run(["ctest", "-N"], cwd=BUILD, capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"Test +#\d+: (\S+)", listed))
    for name, instead in study.INSTEAD.items():
        assert "study-" + name in names, name
        for test in instead.split(", "):
            assert test in names, "%s names %s" % (name, test)


def a_study_without_its_data_says_what_is_tested_instead():
    with tempfile.TemporaryDirectory() as nothing:
        done = subprocess.run([os.path.join(ROOT, "studies", "uci-linear", "run"), "--quick"], capture_output=True, text=True,
                              env={**os.environ, "FAB_DATA": nothing, "BUILD": BUILD})
    assert done.returncode == study.SKIPPED, done
    assert done.stderr.splitlines()[-1] == "skipped: its data are not in FAB_DATA; the code is tested by exact, regression", done.stderr


for test in (each_skipped_test_gets_a_line, tests_named_in_place_of_a_study_are_there, a_study_without_its_data_says_what_is_tested_instead):
    test()
    print("ok  " + test.__name__)
