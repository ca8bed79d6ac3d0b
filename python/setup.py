"""Build the extension fabayes._core: the static library by CMake, and the C files of core/ linked to it.

FABAYES_BUILD names a folder that CMake has built already; without it one is made below build/.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PACKAGES = ["lapacke", "openblas", "jansson", "zlib", "liblzma", "libzstd", "nlopt"]

try:
    from wheel.bdist_wheel import bdist_wheel
except ImportError:  # newer setuptools have it
    from setuptools.command.bdist_wheel import bdist_wheel


def version():
    return re.search(r"project\(fabayes VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def static_library(folder):
    """The static library: of the folder that is given, or built here."""
    given = os.environ.get("FABAYES_BUILD")
    if given:
        return Path(given) / "libfabayes.a"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.check_call(["cmake", "-S", ROOT, "-B", folder, "-DFAB_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"])
    subprocess.check_call(["cmake", "--build", folder, "--target", "fabayes_static", "-j", str(os.cpu_count() or 1)])
    return folder / "libfabayes.a"


class Build(build_ext):
    def build_extension(self, extension):
        library = static_library(Path(self.build_temp).resolve() / "cmake")
        needed = subprocess.check_output(["pkg-config", "--libs", *PACKAGES], text=True)
        extension.extra_objects = [str(library)]
        extension.extra_link_args = [f"-Wl,--version-script={HERE / 'core' / 'core.map'}", "-Wl,-z,relro,-z,now",
                                     *shlex.split(needed), "-lbz2", "-pthread", "-lm"]
        super().build_extension(extension)


class Wheel(bdist_wheel):
    """One wheel for every Python from 3.11 on."""

    def get_tag(self):
        python, abi, platform = super().get_tag()
        return ("cp311", "abi3", platform) if python.startswith("cp") else (python, abi, platform)


core = Extension(
    "fabayes._core",
    ["core/core.c", "core/core_arrow.c", "core/core_fit.c", "core/core_gauss.c", "core/core_merge.c", "core/core_propose.c", "core/core_svm.c",
     "core/core_table.c", "core/core_test.c"],
    depends=["core/core.h", "core/core.map"],
    include_dirs=[str(ROOT / "include")],
    define_macros=[("Py_LIMITED_API", "0x030b0000")],
    extra_compile_args=["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wno-missing-field-initializers", "-fvisibility=hidden",
                        "-fstack-protector-strong"],
    py_limited_api=True,
)

setup(version=version(), ext_modules=[core], cmdclass={"build_ext": Build, "bdist_wheel": Wheel})
