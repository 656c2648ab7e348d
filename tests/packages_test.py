#!/usr/bin/env python3
"""Makes each package, installs it on a bare Debian of its own (debootstrap, chroot) and runs the commands that docs/packages.md shows;
what they print must be what the page shows. The steps of the Dockerfile run in such systems too, since a test has no Docker.

UNROLL_BARE=FOLDER keeps the bare system, downloads and compiled files there for the next run, and the systems to look into; without it all
is made anew and removed. UNROLL_MIRROR=URL: the mirror of Debian, else debootstrap's own. Packages are of the last commit. Variables of
ccache (CCACHE_…) are passed on.
"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
page = (root / "docs/packages.md").read_text()


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def examples(title):
    """The commands of a section and the lines that each prints: its block of a console."""
    section = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", page, re.M | re.S)[1]
    found = []
    for line in re.search(r"^```console\n(.*?)^```$", section, re.M | re.S)[1].splitlines():
        if line[:2] in ("$ ", "# "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    assert len(found) == 2, f"docs/packages.md: {title} has {len(found)} commands, not two"
    return found


def alike(printed, wanted):
    """Whether lines are the same but for the last digits: other processors round otherwise."""
    number = r"-?[0-9]+(?:\.[0-9]+)?"
    if len(printed) != len(wanted) or [re.sub(number, "0", a) for a in printed] != [re.sub(number, "0", b) for b in wanted]:
        return False
    pairs = zip(re.findall(number, "\n".join(printed)), re.findall(number, "\n".join(wanted)))
    return all(abs(float(a) - float(b)) <= 1e-3 * abs(float(b)) for a, b in pairs)


class System:
    """A bare system in a folder. `base`: the one that it is a copy of."""

    def __init__(self, name, base):
        self.folder = work / name
        subprocess.run(["cp", "-a", "--reflink=auto", base, self.folder], check=True)
        for file in ("resolv.conf", "hosts", "ssl/certs/ca-certificates.crt"):  # the network is this machine's
            if os.path.exists(f"/etc/{file}"):
                shutil.copy(f"/etc/{file}", self.folder / "etc" / file)
        (self.folder / "home/new").mkdir(parents=True)

    def run(self, command, at="/home/new"):
        """What a command prints. Mounts end with it, since it has name spaces of its own."""
        (self.folder / "command.sh").write_text(command + "\n")
        inside = ('mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && for f in var/cache/apt/archives var/lib/apt/lists ccache; do '
                  'mkdir -p "$1/$f" && mount --bind "$2/$f" "$1/$f" || exit; done && at=$3 && shift 3 && '
                  'exec chroot "$folder" /usr/bin/env -i "$@" bash -c \'cd "$1" && exec bash -euo pipefail /command.sh\' bash "$at"')
        variables = ["HOME=/home/new", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "CCACHE_DIR=/ccache", "PIP_CERT=/etc/ssl/certs/ca-certificates.crt",
                     "PATH=/home/new/env/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        variables += [f"{name}={value}" for name, value in os.environ.items() if name.startswith("CCACHE_") or name in ("http_proxy", "https_proxy")]
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside, "sh", self.folder, kept, at, *variables],
                              env={**os.environ, "folder": str(self.folder)}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{self.folder.name}: {command}\nexit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def install(self, *packages):
        self.run("apt-get -qq update && apt-get -qq install -y --no-install-recommends " + " ".join(packages))

    def copy(self, pattern, to, without=()):
        files = glob.glob(str(pattern))
        assert files, f"there is no {pattern}"
        for file in files:
            target = self.folder / to.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(file, target, symlinks=True, ignore=shutil.ignore_patterns(*without)) if os.path.isdir(file) else shutil.copy(file, target)

    def do(self, title):
        """Runs a section's commands. An apt-get of the page asks before it installs; nobody answers here."""
        for command, wanted in examples(title):
            command = command.replace("apt-get install", "apt-get -qq update && apt-get install -y --no-install-recommends")
            printed = self.run(command).splitlines()
            if wanted and not alike(printed[-len(wanted):], wanted):
                sys.exit(f"docs/packages.md, {title}: {command}\nprints\n" + "\n".join(printed) + "\nand the page shows\n" + "\n".join(wanted))
        print(f"{title}: installed and used")


def image(project):
    """Follows the Dockerfile; the system of its last stage, and of each by its name."""
    stages = {}
    for step in (root / "packaging/Dockerfile").read_text().splitlines():
        word, _, rest = step.partition(" ")
        words = rest.split()
        if word == "FROM":
            assert words[0] == "debian:bookworm-slim", step
            system, at = System(f"stage-{len(stages)}", bare), "/"
            stages[words[2] if len(words) > 1 else len(stages)] = system
            if len(stages) == 1:
                system.install("ccache")
        elif word == "COPY":
            source = stages[words[0].removeprefix("--from=")].folder if words[0].startswith("--from=") else None
            system.copy(f"{source}{words[1]}" if source else project, words[-1], without=(".git", "dist"))
        elif word == "WORKDIR":
            at = rest
            (system.folder / at.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif word == "RUN":
            system.run(rest, at)
        else:
            assert word in ("", "#", "CMD"), step
    return system, stages


for title in ("Debian", "The library on Debian", "Python", "Meson", "Docker"):
    examples(title)
if os.geteuid() != 0:
    skip("not root, so no bare system can be made (chroot)")
for tool in ("debootstrap", "git", "unshare", "xz"):
    if not shutil.which(tool):
        skip(f"there is no {tool}")
if subprocess.run(["git", "-C", root, "rev-parse"], capture_output=True).returncode:
    skip("no git here")
mirror = [os.environ["UNROLL_MIRROR"]] if "UNROLL_MIRROR" in os.environ else []
with tempfile.TemporaryDirectory(prefix="unroll-packages-", ignore_cleanup_errors=True) as folder:
    kept = pathlib.Path(os.environ.get("UNROLL_BARE", folder))
    bare, work = kept / "base", kept / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for shared in ("var/cache/apt/archives", "var/lib/apt/lists", "ccache"):  # of all systems
        (kept / shared).mkdir(parents=True, exist_ok=True)
    if not (kept / "complete").exists():
        shutil.rmtree(bare, ignore_errors=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", bare, *mirror],
                              capture_output=True, text=True)
        if made.returncode:
            skip(f"debootstrap made no system, as where there is no network: {(made.stdout + made.stderr).strip().rpartition(chr(10))[2]}")
        (kept / "complete").touch()

    project = work / "project"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", root, project], check=True)
    subprocess.run([project / "packaging/package.sh", "wrap"], check=True, capture_output=True)
    of_docker, stages = image(project)
    # In the image the command runs as `docker run` would have it run.
    (_, _), (command, wanted) = examples("Docker")
    printed = of_docker.run(command.replace("docker run -i --rm unroll ", "")).splitlines()
    assert alike(printed, wanted), f"docs/packages.md, Docker:\n{printed}\n{wanted}"
    print("Docker: the Dockerfile's steps, and its command, in systems without Docker")

    builder = stages["build"]
    dist = builder.folder / "unroll/dist"
    builder.install("lintian")
    builder.run("lintian --fail-on error,warning --allow-root dist/*.deb", "/unroll")
    print("Debian: lintian finds nothing")
    of_debian = System("debian", bare)
    of_debian.copy(dist / "*.deb", "/home/new/")
    of_debian.do("Debian")
    of_debian.do("The library on Debian")
    # For the Python package: what the programs find.
    (of_debian.folder / "home/new/values.csv").write_text("value\n" + re.search(r"echo sales ([0-9 ]+) ", examples("Debian")[1][0])[1].replace(" ", "\n") + "\n")
    of_debian.run("""timeseries forecast values.csv --steps 3 --json >values.json
timeseries train airline --set training.epochs=2 --out run && cp run/best.safetensors .
timeseries forecast best.safetensors --steps 30 --json >model.json""")

    builder.run("./run package wheel", "/unroll")
    of_python = System("python", bare)
    of_python.install("python3-venv")
    of_python.run("python3 -m venv env")
    of_python.copy(dist / "*.whl", "/home/new/")
    of_python.copy(root / "tests/packages_use.py", "/home/new/")
    for name in ("unroll.safetensors", "test.txt"):
        of_python.copy(root / "tests/fixtures/language_model" / name, "/home/new/")
    for name in ("values.csv", "values.json", "best.safetensors", "model.json"):
        of_python.copy(of_debian.folder / "home/new" / name, "/home/new/")
    of_python.do("Python")
    print(of_python.run("python packages_use.py").strip())

    of_meson = System("meson", bare)
    of_meson.install("g++", "meson", "pkg-config", "libfmt-dev", "libtomlplusplus-dev", "nlohmann-json3-dev", "libprotozero-dev",
                     "zlib1g-dev")
    of_meson.copy(project / "dist/unroll*", "/home/new/")
    of_meson.copy(root / "examples/first_model.cpp", "/home/new/model.cpp")
    (of_meson.folder / "home/new/meson.build").write_text(re.search(r"^```meson\n(.*?)^```$", page, re.M | re.S)[1])
    of_meson.do("Meson")
