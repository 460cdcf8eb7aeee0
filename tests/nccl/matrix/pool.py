"""Reducer processes for a run."""
import os
import re
import subprocess
import tempfile
import time


class Pool:
    """Reducer processes on free ports of this host."""

    def __init__(self, build, reducers=2):
        self.folder, self.members = tempfile.TemporaryDirectory(prefix="fanin-pool-"), []
        for i in range(reducers):
            port, out = os.path.join(self.folder.name, f"port{i}"), os.path.join(self.folder.name, f"reducer{i}")
            with open(out, "w") as log:
                process = subprocess.Popen([os.path.join(build, "bin/fanin-reducer"), "--listen", "127.0.0.1:0", "--lanes", "2",
                                            "--memory", "256M", "--port-file", port], stdout=log, stderr=log)
            self.members.append((process, port, out))
        self.addresses = ",".join(f"127.0.0.1:{self._port(process, port)}" for process, port, _ in self.members)

    @staticmethod
    def _port(process, path):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and process.poll() is None:
            if os.path.exists(path):
                with open(path) as f:
                    return int(f.read())
            time.sleep(0.005)
        raise RuntimeError("a reducer did not start")

    def stop(self):
        """What the reducers say at their end: (sessions, bytes received)."""
        for process, _, _ in self.members:
            process.terminate()
        sessions = received = 0
        for process, _, out in self.members:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            with open(out) as f:
                said = re.search(r"ended: (\d+) sessions.*\((\d+) received", f.read())
            if said:
                sessions, received = sessions + int(said[1]), received + int(said[2])
        self.folder.cleanup()
        return sessions, received
