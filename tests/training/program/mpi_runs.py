"""Programs under mpirun, on this machine alone: what the tests of processes and of sweeps share."""
import atexit
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "PMI_"))}
environment.update(OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_btl="self,vader",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])
root = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, root, ignore_errors=True)


def has_mpi():
    return bool(shutil.which("mpirun")) and os.environ.get("UNROLL_WITH_MPI") == "yes"


def start(processes, program, words, folder, **options):
    """`program`: a path, or the words of a command."""
    command = [*mpirun, "-n", str(processes)] if processes > 1 else []
    return subprocess.Popen([*command, *(program if isinstance(program, list) else [program]), *words],
                            cwd=folder, env={**environment, **options.pop("env", {})}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


class Run:
    def __init__(self, process):
        self.out, self.err = process.communicate(timeout=600)
        self.code = process.returncode

    def __repr__(self):
        return f"exit code {self.code}\n{self.out}\n{self.err}"

    def messages(self):
        """The program's own, not mpirun's."""
        return [line for line in self.err.splitlines() if line.startswith(("ptb: ", "timeseries: "))]


def run(*arguments, **options):
    return Run(start(*arguments, **options))


def new_folder(**files):
    folder = pathlib.Path(tempfile.mkdtemp(dir=root))
    for name, text in files.items():
        (folder / (name + ".toml")).write_text(text)
    return folder


def bits(folder):
    """Of a run's last checkpoint."""
    return hashlib.sha256((folder / "last.safetensors").read_bytes()).hexdigest()


def sets(*assignments):
    return [word for one in assignments for word in ("--set", one)]


def refused(result, code, *parts):
    """One message, with these parts."""
    assert result.code == code, result
    messages = result.messages()
    assert len(messages) == 1, result
    for part in parts:
        assert part in messages[0], (part, result)


def bytes_sent(result):
    words = result.out.split(" bytes sent by this one")[0]
    return int(words.rsplit(" ", 1)[1].replace(",", ""))
