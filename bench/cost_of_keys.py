"""The cost of keys of a recipe in words a second: a training with them beside one without, at the same time, a core each.

    python3 bench/cost_of_keys.py ptb-19m training.adversarial_softmax=0.005 --data data/ptb --ptb build/examples/ptb/ptb

A round is two pairs of trainings from the first step, of --seconds each; the second pair exchanges the cores. A ratio is the
median of the speed with the keys over that without. The result is the geometric mean of all ratios, which are printed too. The
first record of a log is left out.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

from programs import built
from series_measures import geometric_mean


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("keys", nargs="+", metavar="KEY=VALUE")
    parser.add_argument("--data", required=True)
    parser.add_argument("--ptb", type=built, default="build/examples/ptb/ptb")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--cores", type=int, nargs=2, default=[0, 1])
    asked = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:

        def begin(core, keys):
            out = pathlib.Path(folder) / f"{len(ratios)}-{core}"
            command = ["taskset", "-c", str(core), asked.ptb, "train", asked.recipe, "--data", asked.data, "--threads", "1",
                       "--log-every", "3", "--quiet", "--out", str(out)]
            for key in keys:
                command += ["--set", key]
            return out, subprocess.Popen(command, stdout=subprocess.DEVNULL)

        def words_per_second(out):
            log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
            return [record["time"]["words_per_second"] for record in log if record["kind"] == "interval"][1:]

        for turn in range(2 * asked.rounds):
            first, second = asked.cores[::-1] if turn % 2 else asked.cores
            runs = []
            try:
                runs.append(begin(first, asked.keys))
                runs.append(begin(second, []))
                end = time.monotonic() + asked.seconds
                while time.monotonic() < end and all(process.poll() is None for _, process in runs):
                    time.sleep(0.2)
                failed = any(process.poll() for _, process in runs)
            finally:
                for _, process in runs:
                    process.kill()
                    process.wait()
            if failed:
                raise SystemExit("cost_of_keys.py: a training failed: the message above says why")
            speeds = [words_per_second(out) for out, _ in runs]
            if not all(speeds):
                raise SystemExit("cost_of_keys.py: fewer than two records in a log: more --seconds")
            speeds = [statistics.median(of) for of in speeds]
            ratios.append(speeds[0] / speeds[1])
            print(f"{speeds[0]:8.0f} {speeds[1]:8.0f} words/s: {ratios[-1]:.3f}", flush=True)
    print(f"{' '.join(asked.keys)}: {geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
