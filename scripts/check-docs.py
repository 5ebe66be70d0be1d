#!/usr/bin/env python3
"""Checks the documents: every link leads to a file or a heading that is there, and so does every script
that is named; no phrase is used that readers stumbled over; a sentence has on average at most as many
words as its document may; and all that a user reads together (README.md and docs/*.md, not
docs/internals) stays within what can be read.

    scripts/check-docs.py          # all Markdown files of the repository; exit 1 and a line for each fault

What it counts of each document: words of prose (not tables, code or headings), and words a sentence.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Mean words a sentence: in the middle of the 15 to 20 that plain-English guides name. A technical page
# with paths and options in its sentences is counted by the same measure.
LONGEST_MEAN = 18

# Words of README.md and docs/*.md, as `wc -w` counts them.
MOST_WORDS = 15_000

# What a reader of the English had to read twice.
OUT = [
    "as nginx comes",
    "is laid upon",
    "what it is laid upon",
    "who waits for the whole",
    "is not fast",
    "a nearer one",
]

# What was written in its time is not rewritten.
KEPT = {"CHANGELOG.md"}


def documents():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()
    return [name for name in listed if (ROOT / name).is_file() and "/tests/" not in name]


def without_code(text):
    """The text with fenced blocks blanked, so that line numbers stay."""
    blank = lambda block: "\n" * block.group(0).count("\n")
    return re.sub(r"^```.*?^```", blank, text, flags=re.S | re.M)


def anchors(path):
    """The headings of a page, as GitHub names them."""
    found = set()
    for line in without_code(path.read_text()).splitlines():
        if heading := re.match(r"#+ (.*)", line):
            plain = re.sub(r"[^\w\- ]", "", heading.group(1).lower())
            found.add(plain.strip().replace(" ", "-"))
    return found


def broken_links(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            page = (ROOT / name).parent / path if path else ROOT / name
            if not page.exists():
                yield f"{name}:{number}: no such file: {target}"
            elif anchor and anchor not in anchors(page):
                yield f"{name}:{number}: no such heading: {target}"


def missing_scripts(name, text):
    """Scripts that a page tells its reader to run."""
    for script in re.findall(r"(?<![\w/.])scripts/[\w./-]*\w\.(?:sh|py|patch)", text):
        if not (ROOT / script).exists():
            yield f"{name}: no such script: {script}"


def prose(text):
    kept = []
    for line in text.splitlines():
        if re.match(r"\s*(#|\||!\[|    )", line):
            kept.append("")
        else:
            kept.append(re.sub(r"^\s*([-*]|\d+\.) ", "\n", line))
    return "\n".join(kept)


def sentences(text):
    # A file name or a version has a dot too: a sentence ends where a space or a line follows.
    parts = re.split(r"[.!?:;](?=\s)|\n\s*\n", prose(text))
    return [words for part in parts if len(words := part.split()) > 2]


def stumbles(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for phrase in OUT:
            if phrase in line.lower():
                yield f"{name}:{number}: say it plainly: {phrase!r}"
    counted = sentences(text)
    mean = sum(map(len, counted)) / max(1, len(counted))
    if mean > LONGEST_MEAN:
        yield f"{name}: {mean:.1f} words a sentence, at most {LONGEST_MEAN}"


def main():
    faults = []
    words = 0
    for name in documents():
        whole = (ROOT / name).read_text()
        if re.fullmatch(r"README\.md|docs/[^/]*\.md", name):
            words += len(whole.split())
        if name not in KEPT:
            faults += missing_scripts(name, whole)
        text = without_code(whole)
        faults += broken_links(name, text)
        if name not in KEPT:
            faults += stumbles(name, text)
    if words > MOST_WORDS:
        faults.append(f"README.md and docs/*.md: {words} words, at most {MOST_WORDS}: write shorter, or cut")
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


main()
