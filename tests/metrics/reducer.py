"""A fanin-reducer on free ports of loopback, for the Python tests."""
import os
import re
import subprocess


class Reducer:
    def __init__(self, *more):
        build = os.environ.get("FANIN_BUILD", "build")
        self.process = subprocess.Popen([f"{build}/bin/fanin-reducer", "--listen", "127.0.0.1:0", "--lanes", "2",
                                         "--memory", "256M", *more], stderr=subprocess.PIPE, text=True)
        said = ""
        for line in self.process.stderr:
            said += line
            if " kernels" in line:
                break
        found = re.search(r"status at (http://\S+)/\n[\s\S]*ready on (\S+): ", said)
        assert found, said
        self.url, self.address = found.groups()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()
