"""Puts the figures into docs/performance.md, between its two markers."""
import os

BEGIN, END = "<!-- figures: begin (make bench writes this part) -->", "<!-- figures: end -->"


def replace(text, figures):
    """text with what lies between the markers replaced; ValueError where it has not exactly one pair of them."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"needs one '{BEGIN}' and one '{END}' after it")
    return text[: text.index(BEGIN) + len(BEGIN)] + "\n\n" + figures.strip() + "\n\n" + text[text.index(END):]


def update(path, figures):
    with open(path) as f:
        text = replace(f.read(), figures)
    with open(path + ".part", "w") as f:
        f.write(text)
    os.rename(path + ".part", path)
