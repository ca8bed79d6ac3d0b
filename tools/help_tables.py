"""help_tables.py - what the program says of itself, for man pages and completion: verbs, options, methods, settings."""
# SPDX-License-Identifier: MIT
import json
import os
import subprocess


def asked(program, *arguments):
    out = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)


class Tables:
    def __init__(self, program):
        usage = asked(program, "--help")
        self.version = usage["version"]
        self.verbs = {v["name"]: asked(program, v["name"], "--help") for v in usage["verbs"]}  # in the order of the usage
        self.methods = asked(program, "methods")["methods"]

    def methods_of(self, verb):
        """Methods that `verb` runs: those that take vectors are of `fa`, the others of whatever fits models."""
        vectors = verb == "fa"
        return [m for m in self.methods if (m["verb"] == "fa" or "vector_settings" in m if vectors else m["verb"] == "fit")]


def settings_of(method, verb):
    """The settings that `--NAME=VALUE` may give the method there, each once."""
    if verb == "fa":
        tables = [method.get("vector_settings", method["settings"])]
    else:
        tables = [method["settings"], method.get("network_settings", [])]
    return list({s["name"]: s for t in tables for s in t}.values())


def flags(option):
    """["-o", "--output"]"""
    return [dashes + option[key] for dashes, key in (("-", "letter"), ("--", "name")) if option[key]]


def write(folder, files):
    """Write {name: text} into folder; what else is there was written for a verb that is no more."""
    os.makedirs(folder, exist_ok=True)
    for old in set(os.listdir(folder)) - set(files):
        os.remove(os.path.join(folder, old))
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
