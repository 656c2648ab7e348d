"""Which GPUs ./run builds for: with programs in the path that play nvidia-smi, nvcc, Meson and Ninja."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parent.parent
ALL = "-Dcuda=auto -Dgpu_arch=auto"


class Gpus(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("bin", "dev", "project/examples"):
            (self.folder / name).mkdir(parents=True)
        shutil.copy(root / "run", self.folder / "project")
        self.program("nvcc", "echo sm_75; echo sm_90; echo sm_120")
        self.program("ninja", f"mkdir -p '{self.folder}/project/build/examples/ptb'; cd '{self.folder}/project/build/examples/ptb'\n"
                              "echo exit 0 > ptb; chmod +x ptb")
        # Its last words are the folder to make and the project; `configure` has the folder alone.
        self.program("meson", f"echo \"$@\" >> '{self.folder}/asked'\n[ $1 = setup ] || exit 0\n"
                              "folder=${@: -2:1}; mkdir -p $folder; touch $folder/build.ninja")

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    def gpus(self, text):
        self.program("nvidia-smi", text)

    def run_ptb(self):
        """What Meson is asked for, without the folders; and what is said."""
        asked = self.folder / "asked"
        asked.unlink(missing_ok=True)
        run = subprocess.run([self.folder / "project/run", "--no-install", "ptb"], capture_output=True, text=True, check=True,
                             env=dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", UNROLL_DEV=f"{self.folder}/dev"))
        words = asked.read_text().split() if asked.exists() else []
        return " ".join(word for word in words if not word.startswith("/")), run.stderr

    def test_the_gpus_that_are_here(self):
        self.gpus("printf '9.0\\n7.5\\n9.0\\n'")
        self.assertEqual(self.run_ptb()[0], "setup -Dcuda=auto -Dgpu_arch=75,90")
        self.assertEqual(self.run_ptb()[0], "")
        self.gpus("echo 12.0")
        self.assertEqual(self.run_ptb()[0], "configure -Dcuda=auto -Dgpu_arch=120")
        self.gpus("exit 9")  # a shared disk, and now a machine without a GPU
        self.assertEqual(self.run_ptb()[0], "")

    def test_no_gpu(self):
        self.gpus("echo no devices were found; exit 6")
        asked, said = self.run_ptb()
        self.assertEqual(asked, "setup -Dcuda=disabled")
        self.assertIn("To have it: meson configure build -Dcuda=enabled", said)
        self.assertNotIn("No NVIDIA GPU", self.run_ptb()[1])
        self.gpus("echo 9.0")
        self.assertEqual(self.run_ptb()[0], "configure -Dcuda=auto -Dgpu_arch=90")

    def test_gpus_that_nobody_knows(self):
        self.gpus("echo 13.1")  # newer than nvcc
        self.assertEqual(self.run_ptb()[0], f"setup {ALL}")
        self.gpus("echo 9.0")
        self.assertEqual(self.run_ptb()[0], "")
        shutil.rmtree(self.folder / "project/build")
        self.gpus("echo 'Field \"compute_cap\" is not a valid field'; exit 2")  # an old driver
        (self.folder / "dev/nvidiactl").touch()
        self.assertEqual(self.run_ptb()[0], f"setup {ALL}")

    def test_a_folder_that_somebody_made_stays(self):
        (self.folder / "project/build").mkdir()
        (self.folder / "project/build/build.ninja").touch()
        self.gpus("echo 9.0")
        self.assertEqual(self.run_ptb()[0], "")


unittest.main()
