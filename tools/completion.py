"""completion.py PROGRAM FOLDER - completion for bash (fabayes) and zsh (_fabayes), from what PROGRAM says of itself.

Verbs, options, the words an option takes, methods and their settings: with -m on the line those of that method, otherwise of all that
the verb runs.
"""
# SPDX-License-Identifier: MIT
import re
import sys

from help_tables import Tables, flags, settings_of, write

MADE = "made by tools/completion.py from the help texts"


def takes_file(option):
    return re.match(r"FILE|FOLDER|OUT", option["value"] or "") is not None


def words_of(option, verb, t):
    """The words that the option can be given, or None."""
    if option["value"] == "METHOD":
        return [m["name"] for m in t.methods_of(verb)]
    return option.get("words")


def setting_words(s):
    if s["type"] == "enum":
        return s["range"]
    return ["true", "false"] if s["type"] == "bool" else []


def settings_by_method(verb, t):
    """{method: its settings that are no options of the verb}, and under None those of all methods, each name once."""
    known = {o["name"] for o in t.verbs[verb]["options"]}
    by = {m["name"]: [s for s in settings_of(m, verb) if s["name"] not in known] for m in t.methods_of(verb)}
    by[None] = list({s["name"]: s for settings in by.values() for s in settings}.values())
    return by


# ---- bash -------------------------------------------------------------------------------------------------------

BASH = """# bash completion of fabayes %(version)s; %(made)s

_fabayes_verbs='%(verbs)s'
_fabayes_methods='%(methods)s'

# The options of verb $1.
_fabayes_options() {
    case $1 in
%(options)s
    esac
}

# What option $2 of verb $1 takes: words, or <file>, or nothing that is known; status 1 where it takes no value.
_fabayes_values() {
    case $1:$2 in
%(values)s
    *) return 1 ;;
    esac
}

# The settings of method $2 (empty: of all) that verb $1 takes.
_fabayes_settings() {
    case $1:$2 in
%(settings)s
    esac
}

# The words that setting $1 takes, where it takes words.
_fabayes_setting_words() {
    case $1 in
%(setting_words)s
    esac
}

_fabayes() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} method= values i
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "$_fabayes_verbs help --help --version" -- "$cur"))
        return
    fi
    if [[ $verb == help ]]; then
        COMPREPLY=($(compgen -W "$_fabayes_verbs" -- "$cur"))
        return
    fi
    # --name=value comes as three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -m | --method)
            method=${COMP_WORDS[i+1]}
            if [[ $method == = ]]; then method=${COMP_WORDS[i+2]}; fi
            ;;
        esac
    done
    if [[ $prev == -* ]]; then
        if values=$(_fabayes_values "$verb" "$prev"); then
            if [[ $values == '<file>' ]]; then
                compopt -o filenames 2>/dev/null
                COMPREPLY=($(compgen -f -- "$cur"))
            else
                COMPREPLY=($(compgen -W "$values" -- "$cur"))
            fi
            return
        fi
        values=$(_fabayes_setting_words "${prev#--}")
        if [[ $values ]]; then
            COMPREPLY=($(compgen -W "$values" -- "$cur"))
            return
        fi
    fi
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$(_fabayes_options "$verb") $(_fabayes_settings "$verb" "$method")" -- "$cur"))
        if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
    elif [[ $verb == methods ]]; then
        COMPREPLY=($(compgen -W "$_fabayes_methods" -- "$cur"))
    else
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$cur"))
    fi
}

complete -F _fabayes fabayes
"""


def arm(pattern, words):
    """A line of a case: prints the words."""
    return "    %s) echo '%s' ;;" % (pattern, " ".join(words))


def bash(t):
    options, values, settings, words = [], [], [], {}
    for verb, v in t.verbs.items():
        options.append(arm(verb, [f for o in v["options"] for f in flags(o)] + ["--help"]))
        for o in v["options"]:
            if o["kind"] != "flag":
                known = ["<file>"] if takes_file(o) else words_of(o, verb, t) or []
                values.append(arm(" | ".join("%s:%s" % (verb, f) for f in flags(o)), known))
        if not v["settings"]:
            continue
        for method, fields in settings_by_method(verb, t).items():
            settings.append(arm("%s:%s" % (verb, method or "*"), ["--%s=" % s["name"] for s in fields]))
            for s in fields:
                if setting_words(s):
                    words.setdefault(s["name"], []).extend(w for w in setting_words(s) if w not in words.get(s["name"], []))
    return BASH % {"version": t.version, "made": MADE, "verbs": " ".join(t.verbs), "methods": " ".join(m["name"] for m in t.methods),
                   "options": "\n".join(options), "values": "\n".join(values), "settings": "\n".join(settings),
                   "setting_words": "\n".join(arm(n, w) for n, w in sorted(words.items()))}


# ---- zsh --------------------------------------------------------------------------------------------------------

ZSH = """#compdef fabayes
# zsh completion of fabayes %(version)s; %(made)s

# The settings of method $2 (empty: of all) that verb $1 takes, as _arguments reads them, into `settings`.
_fabayes_settings() {
    case $1:$2 in
%(settings)s
    *) settings=() ;;
    esac
}

_fabayes() {
    local -a verbs settings
    verbs=(
%(verbs)s
        'help:the options of a verb'
    )
    if ((CURRENT == 2)); then
        _describe -t verbs verb verbs
        [[ $words[CURRENT] == -* ]] && compadd -- --help --version
        return
    fi
    local verb=$words[2] at=${words[(I)(-m|--method)]} method=
    ((at)) && method=$words[at+1]
    [[ -n ${words[(R)--method=*]} ]] && method=${words[(R)--method=*]#--method=}
    shift words
    ((CURRENT--))
    _fabayes_settings $verb "$method"
    case $verb in
%(arms)s
    help) _describe -t verbs verb verbs ;;
    esac
}

_fabayes "$@"
"""


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bracketed(text):
    """Help text inside [..] of a spec."""
    return re.sub(r"([\\\[\]:])", r"\\\1", text)


def zsh_action(words, file):
    return "_files" if file else "(%s)" % " ".join(words) if words else " "


def zsh_option(o, verb, t):
    specs = []
    for flag in flags(o):
        others = "(%s)" % " ".join(flags(o)) if len(flags(o)) > 1 else ""
        spec = others + flag
        if o["kind"] != "flag":
            spec += "+" if len(flag) == 2 else "="
        spec += "[%s]" % bracketed(o["help"])
        if o["kind"] != "flag":
            spec += ":%s:%s" % (bracketed(o["value"] or o["name"]), zsh_action(words_of(o, verb, t), takes_file(o)))
        specs.append(quoted(spec))
    return specs


def zsh_setting(s):
    return quoted("--%s=-[%s]:%s:%s" % (s["name"], bracketed(s["help"]), s["type"], zsh_action(setting_words(s), False)))


def zsh(t):
    arms, settings = [], []
    for verb, v in t.verbs.items():
        specs = [x for o in v["options"] for x in zsh_option(o, verb, t)] + ["'(-h --help)'{-h,--help}'[this text]'"]
        if verb == "methods":
            specs.append(quoted("1:method:(%s)" % " ".join(m["name"] for m in t.methods)))
        elif v["operands"]:
            specs.append(quoted("*:file:_files"))
        arms.append("    %s)\n        _arguments $settings \\\n            %s ;;" % (verb, " \\\n            ".join(specs)))
        if v["settings"]:
            for method, fields in settings_by_method(verb, t).items():
                settings.append("    %s:%s)\n        settings=(\n            %s\n        ) ;;" % (
                    verb, method or "*", "\n            ".join(zsh_setting(s) for s in fields)))
    return ZSH % {"version": t.version, "made": MADE, "arms": "\n".join(arms), "settings": "\n".join(settings),
                  "verbs": "\n".join("        " + quoted("%s:%s" % (n, v["summary"])) for n, v in t.verbs.items())}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    t = Tables(sys.argv[1])
    write(sys.argv[2], {"fabayes": bash(t), "_fabayes": zsh(t)})


main()
