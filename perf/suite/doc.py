"""Puts the figures into docs/performance.md, between its two markers."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
from marked_block import MarkedBlock  # noqa: E402

BEGIN, END = "<!-- figures: begin (make bench writes this part) -->", "<!-- figures: end -->"
BLOCK = MarkedBlock(BEGIN, END)
replace, update = BLOCK.replace, BLOCK.update
