"""What the scripts of bench start: programs and libraries that a build folder has once they are asked for."""

import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def built(what):
    """`what` as it is, a file or a program of the path. Ends the script where there is none, and says what makes it."""
    path = pathlib.Path(what)
    if path.exists() or shutil.which(what):
        return what
    whole = path.resolve() if "/" in str(what) else pathlib.Path("/")  # a name alone is of the path
    folder = next((above for above in whole.parents if (above / "build.ninja").exists()), None)
    if not folder and whole.is_relative_to(ROOT / "build"):
        remedy = f": cd {ROOT} && meson setup build && ninja -C build {whole.relative_to(ROOT / 'build')}"
    else:
        remedy = f": ninja -C {folder} {whole.relative_to(folder)}" if folder else ""
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: there is no {what}{remedy}")
