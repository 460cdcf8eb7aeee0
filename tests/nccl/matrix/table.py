"""The table in docs/nccl-compatibility.md, between its two markers."""
import os
import sys

import checks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools"))
from marked_block import MarkedBlock  # noqa: E402

BEGIN, END = "<!-- matrix: begin (make nccl-matrix writes this part) -->", "<!-- matrix: end -->"


def markdown(rows):
    """rows: (version, package, words)."""
    titles = ["NCCL", "package"] + [title for title, _, _ in checks.COLUMNS]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    for version, package, words in rows:
        lines.append("| " + " | ".join([version, package] + [words[title] for title, _, _ in checks.COLUMNS]) + " |")
    return "\n".join(lines) + "\n"


update = MarkedBlock(BEGIN, END).update
