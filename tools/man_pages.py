"""man_pages.py PROGRAM FOLDER - the man pages fabayes.1 and fabayes-VERB.1, from what PROGRAM says of itself."""
# SPDX-License-Identifier: MIT
import sys

from help_tables import Tables, flags, write

MANUAL = "fabayes"
EXIT = [("0", "Done."), ("1", "Files, data or numerics failed."), ("2", "The call was wrong: options, values, unknown names.")]


def roff(text):
    """Text as roff shows it: hyphens that are hyphens, no accidental requests."""
    for plain, escaped in (("\\", "\\e"), ("-", "\\-"), ("~", "\\(ti"), ("^", "\\(ha"), ("`", "\\(ga"), ("'", "\\(aq")):
        text = text.replace(plain, escaped)
    return "\\&" + text if text.startswith(".") else text


def bold(text):
    return "\\fB" + roff(text) + "\\fR"


def head(name, summary, t):
    return ['.\\" made by tools/man_pages.py from the help texts',
            '.TH "%s" "1" "" "fabayes %s" "%s"' % (roff(name.upper()), roff(t.version), MANUAL),
            ".SH NAME", "%s \\- %s" % (roff(name), roff(summary))]


def tagged(tag, *lines):
    return [".TP", tag, *lines]


def exit_status():
    return [".SH EXIT STATUS"] + [x for code, text in EXIT for x in tagged(bold(code), roff(text))]


def see_also(*names):
    return [".SH SEE ALSO"] + [".BR %s (1)%s" % (roff(n), "," if n != names[-1] else "") for n in names]


def whole(t):
    lines = head("fabayes", "Gaussians of low rank plus diagonal: fit, store, use", t)
    lines += [".SH SYNOPSIS", ".B fabayes", ".I VERB", "\\&.\\|.\\|.", ".br", ".B fabayes", ".I VERB", ".B \\-\\-help",
              ".SH DESCRIPTION",
              "Fits, stores, updates and uses Gaussian posteriors whose covariance or precision is low rank plus diagonal:",
              "linear models, generalised linear models and networks of a table with uncertainty, and factor analysis of",
              "streams. Each verb has a page of its own.", ".SH VERBS"]
    for name, verb in t.verbs.items():
        lines += tagged("%s %s" % (bold(name), roff(verb["arguments"])), roff(verb["summary"]) + ";",
                        ".BR fabayes\\-%s (1)" % roff(name))
    lines += [".SH OPTIONS"]
    lines += tagged(bold("--help") + ", " + bold("-h"), "The verbs; behind a verb its options. With", bold("--json") + " for programs.")
    lines += tagged(bold("--version"), "The version.")
    lines += exit_status()
    lines += [".SH EXAMPLES", ".EX"]
    lines += [roff(line) for line in (
        "fabayes fit houses.csv -y price -o m.safetensors      # learn",
        "fabayes predict m.safetensors new.csv -o predicted.csv # mean, sd, 90 % interval",
        "fabayes score m.safetensors held_out.csv               # how good?",
        "fabayes fa rows.csv -k auto -o q.safetensors           # factor analysis, rank by BIC")]
    lines += [".EE"]
    return lines + see_also(*["fabayes-" + v for v in t.verbs])


def option_lines(option):
    tag = ", ".join(bold(f) for f in flags(option))
    value = option["value"] or "|".join(option.get("words", []))
    if value:
        tag += " \\fI" + roff(value) + "\\fR"
    return tagged(tag, roff(option["help"]))


def setting_lines(s):
    low = s["range"] if s["type"] == "enum" else []
    lines = tagged("%s=\\fI%s\\fR" % (bold("--" + s["name"]), roff("|".join(low) if low else s["type"])), roff(s["help"]))
    lines.append(roff("(%s)" % ("required" if s["default"] == "required" else "default %s" % str(s["default"]).lower())))
    return lines


def methods_section(t):
    """Every method with its settings."""
    lines = [".SH METHODS"]
    for m in t.methods:
        lines += [".SS %s" % roff(m["name"]), roff("%s (%s, %s)" % (m["summary"], m["verb"], "stream" if m["streams"] else "batch"))]
        for key, title in (("settings", None), ("network_settings", "For networks:"), ("vector_settings", "For vectors:")):
            if title and key in m:
                lines += [".P", title]
            for s in m.get(key, []):
                lines += setting_lines(s)
    return lines


def page(name, verb, t):
    lines = head("fabayes-" + name, verb["summary"], t)
    lines += [".SH SYNOPSIS", ".B fabayes %s" % roff(name), roff(verb["arguments"]), "[\\fIOPTION\\fR]\\&.\\|.\\|.", ".SH OPTIONS"]
    for option in verb["options"]:
        lines += option_lines(option)
    lines += tagged(bold("-h") + ", " + bold("--help"), "The options, in short.")
    if verb["settings"]:
        lines += tagged(bold("--NAME") + "=\\fIVALUE\\fR", "A setting of the method:", ".BR fabayes\\-methods (1)", "lists them.")
        lines += [".SH METHODS"]
        for m in t.methods_of(name):
            lines += tagged(bold(m["name"]), roff(m["summary"]))
    if name == "methods":
        lines += methods_section(t)
    return lines + exit_status() + see_also("fabayes", *(["fabayes-methods"] if verb["settings"] else []))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    t = Tables(sys.argv[1])
    pages = {"fabayes.1": whole(t), **{"fabayes-%s.1" % v: page(v, verb, t) for v, verb in t.verbs.items()}}
    write(sys.argv[2], {name: "\n".join(lines) + "\n" for name, lines in pages.items()})


main()
