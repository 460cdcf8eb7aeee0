"""libnccl.so.2 of a release, from the Python registry into build/nccl-matrix/RELEASE. Only that file is kept."""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib

import release

KEEP_WHILE_FREE = 20 << 30  # bytes; with less of the disk free, a library goes when it has been run


class Unreachable(Exception):
    """The registry did not give the package; the reason."""


class Broken(Exception):
    """What came is no wheel with the library, or cannot be kept; the reason."""


def folder(build, version):
    return os.path.join(build, "nccl-matrix", version)


def library(build, version):
    """The path of the library, fetched where it is not there yet."""
    path = os.path.join(folder(build, version), "libnccl.so.2")
    if os.path.exists(path):
        return path
    os.makedirs(folder(build, version), exist_ok=True)
    wanted = f"{release.package(version)}=={version}"
    with tempfile.TemporaryDirectory(dir=folder(build, version)) as draft:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "--timeout", "20",
                   "--retries", "2", "--no-cache-dir", "--disable-pip-version-check", "-d", draft, wanted]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            raise Unreachable(f"{wanted} did not arrive within 300 s") from None
        wheels = [f for f in os.listdir(draft) if f.endswith(".whl")]
        if done.returncode != 0 or not wheels:
            said = done.stdout.strip().splitlines()
            raise Unreachable(f"cannot fetch {wanted}: {said[-1] if said else 'pip said nothing'}")
        part = os.path.join(draft, "libnccl.so.2")
        try:
            unpack(os.path.join(draft, wheels[0]), part)
            os.rename(part, path)
        except (zipfile.BadZipFile, zlib.error, EOFError, LookupError, OSError) as reason:
            raise Broken(f"{wheels[0]}, as it came, cannot be used ({reason}); run again") from None
    return path


def unpack(wheel, target):
    with zipfile.ZipFile(wheel) as files:
        member = next((n for n in files.namelist() if n.endswith("/libnccl.so.2")), None)
        if member is None:
            raise LookupError("it has no libnccl.so.2")
        with files.open(member) as source, open(target, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)


def done_with(build, version):
    if shutil.disk_usage(build).free < KEEP_WHILE_FREE:
        shutil.rmtree(folder(build, version), ignore_errors=True)
