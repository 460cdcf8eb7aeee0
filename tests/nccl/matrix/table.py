"""The table in docs/nccl-compatibility.md, between its two markers."""
import os

import checks

BEGIN, END = "<!-- matrix: begin (make nccl-matrix writes this part) -->", "<!-- matrix: end -->"


def markdown(rows):
    """rows: (version, package, words)."""
    titles = ["NCCL", "package"] + [title for title, _, _ in checks.COLUMNS]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    for version, package, words in rows:
        lines.append("| " + " | ".join([version, package] + [words[title] for title, _, _ in checks.COLUMNS]) + " |")
    return "\n".join(lines) + "\n"


def replace(text, table):
    """text with what lies between the markers replaced; ValueError where it has not exactly one pair of them."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"needs one '{BEGIN}' and one '{END}' after it")
    return text[: text.index(BEGIN) + len(BEGIN)] + "\n\n" + table.strip() + "\n\n" + text[text.index(END):]


def update(path, table):
    with open(path) as f:
        text = replace(f.read(), table)
    with open(path + ".part", "w") as f:
        f.write(text)
    os.rename(path + ".part", path)
