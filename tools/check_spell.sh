#!/bin/sh
# check_spell.sh - codespell over the text of the tree; tools/words.txt lists what is not a mistake.
#
# Frozen outputs are left out: what they say is checked where it is written.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
python3 tools/tree.py | grep -v '^tools/words.txt$\|^tests/frozen/' | xargs -d '\n' codespell --ignore-words tools/words.txt
