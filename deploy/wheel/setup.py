"""Built by tools/wheel.sh, which puts the libraries into fanin_nccl/lib and says the version and the platform's tag."""
import os

import setuptools
from setuptools.command.bdist_wheel import bdist_wheel


class AnyPython(bdist_wheel):
    """The libraries know nothing of Python: one wheel for every Python 3."""

    def get_tag(self):
        return "py3", "none", os.environ["FANIN_WHEEL_PLATFORM"]


setuptools.setup(
    name="fanin-nccl",
    version=os.environ["FANIN_WHEEL_VERSION"],
    description="NCCL network plugin of fanin, an open reduction server",
    long_description="NCCL network plugin of fanin: multi-node all-reduce through a pool of CPU machines. "
                     '`eval "$(python -m fanin_nccl env)"` before starting the job; `python -m fanin_nccl doctor` says whether it would be used.',
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.8",
    packages=["fanin_nccl"],
    package_data={"fanin_nccl": ["lib/*.so", "lib/env/*.so", "bin/*"]},
    has_ext_modules=lambda: True,
    cmdclass={"bdist_wheel": AnyPython},
)
