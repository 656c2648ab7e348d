"""What ./run asks of others: which GPUs it builds for, which folder it tests in, what it installs. Programs in the path play
nvidia-smi, nvcc, Meson, Ninja and apt-get."""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parent.parent
ALL = "-Dcuda=auto -Dgpu_arch=auto"


class Project(unittest.TestCase):
    """A copy of ./run, and the lines that programs were asked with."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("bin", "dev", "project/examples", "project/packaging", "project/tests"):
            (self.folder / name).mkdir(parents=True)
        for name in ("run", "meson.build", "packaging/package.sh", "tests/sum_counts.awk"):
            shutil.copy(root / name, self.folder / "project" / name)
        self.program("nvcc", "echo sm_75; echo sm_90; echo sm_120")
        self.program("ninja", f"mkdir -p '{self.folder}/project/build/examples/ptb'; cd '{self.folder}/project/build/examples/ptb'\n"
                              "echo exit 0 > ptb; chmod +x ptb")
        # Its last words are the folder to make and the project; `configure` has the folder alone.
        # Of `test` the third word is the folder, where its log goes.
        self.program("meson", f"echo \"$@\" >> '{self.folder}/asked'\n"
                              "[ $1 != test ] || printf '= 1/1 =\\nresult: exit status 0\\n' >$3/meson-logs/testlog-quick.txt\n"
                              "[ $1 = setup ] || exit 0\n"
                              "folder=${@: -2:1}; mkdir -p $folder/meson-logs; touch $folder/build.ninja")

    def program(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    def run_words(self, *words):
        """Exit code, what is said, and the lines that were asked."""
        asked = self.folder / "asked"
        asked.unlink(missing_ok=True)
        run = subprocess.run([self.folder / "project/run", *words], capture_output=True, text=True,
                             env=dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", UNROLL_DEV=f"{self.folder}/dev"))
        return run.returncode, run.stderr, asked.read_text().splitlines() if asked.exists() else []


class Gpus(Project):
    def gpus(self, text):
        self.program("nvidia-smi", text)

    def run_ptb(self):
        """What Meson is asked for, without the folders; and what is said."""
        code, said, asked = self.run_words("--no-install", "ptb")
        self.assertEqual(code, 0, said)
        return " ".join(word for line in asked for word in line.split() if not word.startswith("/")), said

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


class Words(Project):
    def setUp(self):
        super().setUp()
        self.program("nvidia-smi", "echo 9.0")
        self.program("apt-get", f"echo apt-get >> '{self.folder}/asked'; exit 1")  # nothing is installed here
        self.program("dpkg-query", "")
        self.program("sudo", 'exec "$@"')

    def assert_refused(self, words, said):
        code, err, asked = self.run_words(*words)
        self.assertEqual((code, asked), (2, []), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(said, err)

    def test_the_order_of_words_decides_nothing(self):
        for words in itertools.permutations(["--sanitize", "-Dmpi=disabled", "-tc=*a b*"]):
            shutil.rmtree(self.folder / "project/build-sanitize", ignore_errors=True)
            code, err, asked = self.run_words("test", "--no-install", *words)
            self.assertEqual(code, 0, err)
            setup = asked[0].split()
            self.assertEqual(setup[-2:], [f"{self.folder}/project/build-sanitize", f"{self.folder}/project"])
            self.assertLess(setup.index("-Db_sanitize=address,undefined"), setup.index("-Dmpi=disabled"))
            self.assertTrue(any("--test-args='-tc=*a b*'" in line for line in asked), asked)

    def test_one_folder_in_a_run(self):
        ways = ["--sanitize", "--sanitize=thread", "--aarch64", "--werror", "--no-unity"]
        for first, second in itertools.permutations(ways, 2):
            self.assert_refused(["test", first, "-s", second], f"{first} and {second} have each a build folder of their own")

    def test_what_nobody_would_obey_is_refused_before_anything_is_installed(self):
        for word in ["--sanitize=address", "--Werror", "--no-unit", "-Werror", "-Dmpi", "-D=x", "--test-case", "-tc", "--gpus"]:
            self.assert_refused(["test", "ops", word], f"there is no option '{word}'")
        for word in ["-s", "-s=true", "--success", "-tc=*slice*", "--test-case=*slice*", "--no-skip", "--dt-aa=1"]:
            code, err, asked = self.run_words("test", "--no-install", word)
            self.assertEqual(code, 0, err)
            self.assertIn(f"--test-args='{word}'", "\n".join(asked))

    def test_no_install_is_obeyed_at_any_place(self):
        for words in [["test", "ops"], ["ptb", "train", "demo"], ["package", "deb"], ["fuzz", "recipe"]]:
            self.assertIn("apt-get", self.run_words(*words)[2])
            for at in range(len(words) + 1):
                self.assertNotIn("apt-get", self.run_words(*words[:at], "--no-install", *words[at:])[2])

    def test_one_package_at_a_time(self):
        for words in [[], ["deb", "wheel"], ["debs"], ["deb", "--gpu"]]:
            self.assert_refused(["package", *words], "./run package wants one of deb, wheel, wrap, docker")

    def test_a_folder_that_was_made_elsewhere_is_refused(self):
        for words, name in [(["ptb"], "build"), (["package", "deb"], "build-deb"), (["package", "wheel"], "build-wheel")]:
            folder = self.folder / "project" / name
            (folder / "meson-info").mkdir(parents=True)
            (folder / "build.ninja").touch()
            (folder / "meson-info/meson-info.json").write_text(json.dumps({"directories": {"source": "/old/place"}}))
            code, err, asked = self.run_words("--no-install", *words)
            self.assertEqual((code, asked), (1, []))
            self.assertEqual(err, f"{folder} was made for /old/place and builds the files there. To build these: rm -rf {folder}\n")


unittest.main()
