"""test_pages.py PROGRAM BUILD - man pages and completion say what the program says, and shells and formatters take them."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, BUILD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MAN, COMPLETION = os.path.join(BUILD, "man"), os.path.join(BUILD, "completion")


def asked(*arguments):
    return json.loads(subprocess.run([PROGRAM, *arguments, "--json"], capture_output=True, text=True, check=True).stdout)


VERBS = [v["name"] for v in asked("--help")["verbs"]]
SHARED = {"seed", "memory", "standardise"}  # options that the verb hands on to a method that has the setting


def plain(page):
    """A page as text, on lines that do not break."""
    out = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=2000n", "-P-cbou", os.path.join(MAN, page)], capture_output=True, text=True)
    assert out.returncode == 0 and not out.stderr, "%s: %s" % (page, out.stderr)
    return out.stdout


class Help(unittest.TestCase):
    def test_help_for_programs_has_every_option_of_help_for_people(self):
        for verb in VERBS:
            text = subprocess.run([PROGRAM, verb, "--help"], capture_output=True, text=True, check=True).stdout
            shown = set(re.findall(r"^  (?:-\w, )?--([\w-]+)", text, re.M)) - {"help", "NAME"}
            self.assertEqual(shown, {o["name"] for o in asked(verb, "--help")["options"]} - {None}, verb)

    def test_no_option_hides_a_setting_of_a_method(self):
        settings = {s["name"] for m in asked("methods")["methods"] for s in m["settings"]}
        for verb in VERBS:
            said = asked(verb, "--help")
            options = {(o["name"] or "").replace("-", "_") for o in said["options"]} if said["settings"] else set()
            self.assertEqual(options & settings - SHARED, set(), verb)

    def test_every_word_that_is_offered_is_one_that_the_program_knows(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "t.csv")
            with open(data, "w") as f:
                f.write("a,b\n" + "".join("%d,%d\n" % (i, i * i % 7) for i in range(30)))
            for verb, rest in (("fit", ["-y", "b"]), ("fa", ["-k", "1"])):
                for o in asked(verb, "--help")["options"]:
                    def said(word):
                        network = ["--model", "mlp:2", "--epochs=1"] if o["name"] == "noise" else []
                        call = [PROGRAM, verb, data, *rest, *network, "--%s=%s" % (o["name"], word), "--quiet"]
                        return subprocess.run(call, capture_output=True, text=True).stderr

                    if "words" in o:
                        refusal = said("zzz")
                        self.assertIn("zzz", refusal, o["name"])
                        for word in o["words"]:
                            start = refusal[:refusal.index("zzz")] + word + "'"
                            self.assertFalse(said(word).startswith(start), said(word))


class Man(unittest.TestCase):
    def test_there_is_a_page_for_every_verb_and_no_other(self):
        self.assertEqual(set(os.listdir(MAN)), {"fabayes.1"} | {"fabayes-%s.1" % v for v in VERBS})

    @unittest.skipUnless(shutil.which("groff"), "groff is missing")
    def test_a_page_has_every_option_with_its_help(self):
        for verb in VERBS:
            page = plain("fabayes-%s.1" % verb)
            words = " ".join(page.split())
            for o in asked(verb, "--help")["options"]:
                self.assertIn(("--" + o["name"]) if o["name"] else "-" + o["letter"], page)
                self.assertIn(" ".join(o["help"].split()), words)

    @unittest.skipUnless(shutil.which("groff"), "groff is missing")
    def test_the_page_of_methods_has_every_setting(self):
        page = plain("fabayes-methods.1")
        for m in asked("methods")["methods"]:
            for s in m["settings"] + m.get("network_settings", []):
                self.assertIn("--%s=" % s["name"], page)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is missing")
    def test_mandoc_has_nothing_to_say(self):
        for page in sorted(os.listdir(MAN)):
            out = subprocess.run(["mandoc", "-Tlint", "-Wwarning", os.path.join(MAN, page)], capture_output=True, text=True)
            said = [line for line in (out.stdout + out.stderr).splitlines() if "missing date" not in line]  # the version says it
            self.assertEqual(said, [], page)


class Bash(unittest.TestCase):
    def complete(self, *words, cwd=None):
        """What bash offers for the last of the words; --name=value stands as bash splits it."""
        split = [w for word in words for w in (re.split(r"(=)", word, maxsplit=1) if "=" in word else [word])]
        if split[-1] == "" and len(split) > 1 and split[-2] == "=":
            split.pop()  # bash completes at the sign itself
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fabayes; printf "%s\\n" "${COMPREPLY[@]}"'
        out = subprocess.run(["bash", "--norc", "-c", script, "bash", os.path.join(COMPLETION, "fabayes"), *split],
                             capture_output=True, text=True, check=True, cwd=cwd)
        self.assertEqual(out.stderr, "")
        return out.stdout.split()

    def test_verbs(self):
        self.assertEqual(set(self.complete("fabayes", "")), set(VERBS) | {"help", "--help", "--version"})
        self.assertEqual(self.complete("fabayes", "pre"), ["predict"])
        self.assertEqual(set(self.complete("fabayes", "help", "")), set(VERBS))

    def test_options_of_each_verb(self):
        for verb in VERBS:
            offered = set(self.complete("fabayes", verb, "-"))
            for o in asked(verb, "--help")["options"]:
                self.assertIn("--" + o["name"] if o["name"] else "-" + o["letter"], offered)

    def test_words_of_an_option_both_ways_of_writing_it(self):
        self.assertEqual(self.complete("fabayes", "fit", "t.csv", "--missing", ""), ["refuse", "drop", "mean"])
        self.assertEqual(self.complete("fabayes", "fit", "t.csv", "--missing=m"), ["mean"])
        self.assertEqual(self.complete("fabayes", "fit", "t.csv", "--missing="), ["refuse", "drop", "mean"])
        self.assertEqual(self.complete("fabayes", "fit", "t.csv", "--likelihood", "p"), ["poisson"])

    def test_methods_of_the_verb(self):
        methods = asked("methods")["methods"]
        self.assertEqual(set(self.complete("fabayes", "fit", "-m", "")), {m["name"] for m in methods if m["verb"] == "fit"})
        self.assertIn("online-ml", self.complete("fabayes", "fa", "-m", "on"))
        self.assertNotIn("online-ml", self.complete("fabayes", "fit", "-m", ""))
        self.assertEqual(set(self.complete("fabayes", "methods", "")), {m["name"] for m in methods})

    def test_settings_are_those_of_the_method(self):
        offered = self.complete("fabayes", "fit", "t.csv", "-y", "b", "-m", "exact", "--")
        for s in asked("methods", "exact")["settings"]:
            self.assertIn("--%s" % s["name"], [x.rstrip("=") for x in offered])
        self.assertNotIn("--momentum=", offered)
        self.assertIn("--momentum=", self.complete("fabayes", "fit", "t.csv", "--method=sgd", "--mom"))
        self.assertIn("--momentum=", self.complete("fabayes", "fit", "t.csv", "--mom"))

    def test_words_of_a_setting(self):
        for m in asked("methods")["methods"]:
            for s in m["settings"]:
                if s["type"] == "enum" and m["verb"] == "fit":
                    offered = self.complete("fabayes", "fit", "t.csv", "-m", m["name"], "--%s=" % s["name"])
                    self.assertLessEqual(set(s["range"]), set(offered), s["name"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "houses.csv"), "w").close()
            self.assertEqual(self.complete("fabayes", "fit", "hou", cwd=folder), ["houses.csv"])
            self.assertEqual(self.complete("fabayes", "fit", "x", "-o", "hou", cwd=folder), ["houses.csv"])


@unittest.skipUnless(shutil.which("zsh"), "zsh is missing")
class Zsh(unittest.TestCase):
    # The functions of zsh's completion system are replaced by some that print what they are given.
    STUBS = '_arguments() { print -rl -- "$@" }; _describe() { print -rl -- ${(P)4} }; compadd() { print -rl -- "$@" }; '

    def complete(self, *words):
        """What _fabayes hands to the completion system, a line for each word."""
        script = self.STUBS + 'typeset -a words=("${@[2,-1]}"); typeset -i CURRENT=$#words; source $1; true'
        out = subprocess.run(["zsh", "-f", "-c", script, "zsh", os.path.join(COMPLETION, "_fabayes"), *words],
                             capture_output=True, text=True, check=True)
        self.assertEqual(out.stderr, "")
        return out.stdout.split("\n")

    def test_the_script_is_read_without_a_complaint(self):
        out = subprocess.run(["zsh", "-n", os.path.join(COMPLETION, "_fabayes")], capture_output=True, text=True)
        self.assertEqual((out.returncode, out.stderr), (0, ""))

    def test_verbs_options_and_settings_are_handed_over(self):
        offered = self.complete("fabayes", "")
        for v in asked("--help")["verbs"]:
            self.assertIn("%s:%s" % (v["name"], v["summary"]), offered)
        offered = "\n".join(self.complete("fabayes", "fit", "t.csv", "-m", "exact", "--"))
        for o in asked("fit", "--help")["options"]:
            if o["name"]:
                self.assertRegex(offered, r"(?m)^(\(.*\))?--%s(=?)\[" % o["name"])
        self.assertIn("(refuse drop mean)", offered)
        self.assertIn("--alpha=-[", offered)
        self.assertNotIn("--momentum=-[", offered)
        self.assertIn("--momentum=-[", "\n".join(self.complete("fabayes", "fit", "t.csv", "--method=sgd", "--")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
