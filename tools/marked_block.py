"""The part of a page that a program writes, between two markers that stand in it once each."""
import os


class MarkedBlock:
    def __init__(self, begin, end):
        self.begin, self.end = begin, end

    def replace(self, text, block):
        """text with what lies between the markers replaced; ValueError where it has not exactly one pair of them."""
        begin, end = self.begin, self.end
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            raise ValueError(f"needs one '{begin}' and one '{end}' after it")
        return text[: text.index(begin) + len(begin)] + "\n\n" + block.strip() + "\n\n" + text[text.index(end):]

    def update(self, path, block):
        """The same for a file, which is replaced whole."""
        with open(path) as f:
            text = self.replace(f.read(), block)
        with open(path + ".part", "w") as f:
            f.write(text)
        os.rename(path + ".part", path)
