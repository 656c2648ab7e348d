"""The entry for GradBench (bench/gradbench): the protocol's messages, values by their formulas, gradients by differences."""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
COMPARE = pathlib.Path(__file__).resolve().parent.parent / "bench/gradbench/compare.py"

# Plays an eval of GradBench: asks for values, and judges those that it gets.
EVAL = """
import json, sys
def say(**message):
    print(json.dumps(message), flush=True)
    return json.loads(sys.stdin.readline())
say(id=0, kind="start", eval="lse")
assert say(id=1, kind="define", module="lse")["success"]
for k, x in enumerate(map(float, sys.argv[1:])):
    answer = say(id=2 + 2 * k, kind="evaluate", module="lse", function="primal", description=f"x={x}", input={"x": [x]})
    if answer["success"]:
        say(id=3 + 2 * k, kind="analysis", of=2 + 2 * k, valid=answer["output"] == x)
"""
# Plays a tool that needs ten seconds and is wrong above 5. Its argument lists [value, round in which it fails]; it ends if asked again.
TOOL = """
import json, sys
fails, asked = dict(json.loads(sys.argv[1])), {}
for line in sys.stdin:
    message = json.loads(line)
    answer = {"id": message["id"], "success": True}
    if message["kind"] == "evaluate":
        x, = message["input"]["x"]
        timings = [{"name": "prepare", "nanoseconds": 1}, {"name": "evaluate", "nanoseconds": 10**10}]
        asked[x] = asked.get(x, 0) + 1
        assert asked[x] <= fails.get(x, 9)
        answer["success"] = asked[x] != fails.get(x)
        if answer["success"]:
            answer |= {"output": x + 0.01 * (5 < x < 7), "timings": timings}
    print(json.dumps(answer), flush=True)
"""


def answers(*lines):
    """The program's answers to lines, its exit status, and what it says on standard error."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode, done.stderr


def asked(module, function, *inputs):
    messages = [{"id": k, "kind": "evaluate", "module": module, "function": function, "input": x} for k, x in enumerate(inputs)]
    return [answer["output"] for answer in answers(*messages)[0]]


def flat(x):
    return [x] if isinstance(x, (int, float)) else [v for part in (x.values() if isinstance(x, dict) else x) for v in flat(part)]


def nudged(x, place, by):
    """A copy of nested lists whose number at `place`, counted through all of them, is larger."""
    count = -1

    def copy(part):
        nonlocal count
        if isinstance(part, list):
            return [copy(v) for v in part]
        count += 1
        return part + by if count == place else part

    return copy(x)


class Gradbench(unittest.TestCase):
    def near(self, given, wanted, tolerance=1e-13):
        given, wanted = flat(given), flat(wanted)
        self.assertEqual(len(given), len(wanted))
        for a, b in zip(given, wanted):
            self.assertLessEqual(abs(a - b), tolerance * max(1, abs(b)), f"{given} and {wanted}")

    def gradient_is_slope(self, module, value, gradient, input, keys, of_value=lambda y: y):
        """Central differences in double, a step of 1e-5: their errors are of about 1e-10, by curvature and by rounding."""
        step, moved = 1e-5, []
        for key in keys:
            for place in range(len(flat(input[key]))):
                moved += [input | {key: nudged(input[key], place, step)}, input | {key: nudged(input[key], place, -step)}]
        values = [of_value(y) for y in asked(module, value, *moved)]
        slopes = [(a - b) / (2 * step) for a, b in zip(values[::2], values[1::2])]
        at = asked(module, gradient, input)[0]
        self.near(at, slopes, 2e-8)
        self.assertGreater(sum(abs(v) for v in slopes), 1e-3)
        return at

    def test_a_session(self):
        given, status, error = answers(
            {"id": 0, "kind": "start", "eval": "hello"}, {"id": 1, "kind": "define", "module": "hello"},
            {"id": 2, "kind": "define", "module": "ba"},
            {"id": 3, "kind": "evaluate", "module": "hello", "function": "square", "input": 3.5},
            {"id": 4, "kind": "evaluate", "module": "hello", "function": "double", "input": 3.5, "description": "x"},
            {"id": 5, "kind": "analysis", "of": 4, "valid": True})
        self.assertEqual((status, error), (0, ""))
        self.assertEqual([a["id"] for a in given], [0, 1, 2, 3, 4, 5])
        self.assertEqual(given[0], {"id": 0, "tool": "unroll"})
        self.assertEqual(given[5], {"id": 5})
        self.assertEqual([a.get("success") for a in given[1:5]], [True, False, True, True])
        self.assertEqual([a["output"] for a in given[3:5]], [12.25, 7.0])
        self.assertEqual([t["name"] for t in given[4]["timings"]], ["evaluate"])

    def test_runs(self):
        message = {"id": 7, "kind": "evaluate", "module": "lse", "function": "primal",
                   "input": {"x": [1.0], "min_runs": 5, "min_seconds": 0}}
        self.assertEqual(len(answers(message)[0][0]["timings"]), 5)
        message["input"] |= {"min_runs": 1, "min_seconds": 0.02}
        self.assertGreaterEqual(sum(t["nanoseconds"] for t in answers(message)[0][0]["timings"]), 20_000_000)

    def test_lse(self):
        x = [0.5, -1.25, 2.0]
        sum_of_exp = sum(map(math.exp, x))
        self.near(asked("lse", "primal", {"x": x}), [math.log(sum_of_exp)])
        self.near(self.gradient_is_slope("lse", "primal", "gradient", {"x": x}, ["x"]), [math.exp(v) / sum_of_exp for v in x])
        self.near(asked("lse", "primal", {"x": [1000.0, 1000.0]}), [1000 + math.log(2)])

    def test_llsq(self):
        x, n = [0.3, -0.7, 0.2], 5
        at = [(-1 + 2 * i / (n - 1), [-1, -1, 0, 1, 1][i]) for i in range(n)]
        wanted = sum((s - sum(v * t**j for j, v in enumerate(x))) ** 2 for t, s in at) / 2
        self.near(asked("llsq", "primal", {"x": x, "n": n}), [wanted])
        self.gradient_is_slope("llsq", "primal", "gradient", {"x": x, "n": n}, ["x"])

    def test_ode(self):
        # x_0 t; x_1 x_0 t² / 2; x_2 x_1 x_0 t³ / 6 at t = 2: the method is exact for polynomials up to t^4.
        x = [0.5, 1.5, -0.75]
        self.near(asked("ode", "primal", {"x": x, "s": 3}), [[1.0, 1.5, -0.75]], 1e-12)
        self.gradient_is_slope("ode", "primal", "gradient", {"x": x, "s": 3}, ["x"], lambda y: y[-1])
        self.near(asked("ode", "gradient", {"x": [2.0], "s": 4}), [[2.0]])

    def test_gmm(self):
        draw = random.Random(5)
        numbers = lambda *shape: [numbers(*shape[1:]) for _ in range(shape[0])] if shape else draw.uniform(-1, 1)
        d, k, n, m, gamma = 4, 2, 3, 2, 1.5
        input = {"d": d, "k": k, "n": n, "m": m, "gamma": gamma, "x": numbers(n, d), "alpha": numbers(k), "mu": numbers(k, d),
                 "q": numbers(k, d), "l": numbers(k, 6)}
        # By the definition: normal densities with inverse covariance QᵀQ, and Wishart's with V = I / γ² and d + m + 1 degrees.
        weights = [math.exp(a) for a in input["alpha"]]
        posterior, freedom = 0.0, d + m + 1
        norms, roots = [], []
        for q, l in zip(input["q"], input["l"]):
            below = dict(zip([(i, j) for j in range(d) for i in range(j + 1, d)], l))  # column by column
            triangle = [[math.exp(q[i]) if i == j else below.get((i, j), 0) for j in range(d)] for i in range(d)]
            roots.append(triangle), norms.append(sum(v * v for row in triangle for v in row))
        for x in input["x"]:
            density = 0
            for weight, mu, q, root in zip(weights, input["mu"], input["q"], roots):
                square = sum(sum(v * (a - b) for v, a, b in zip(row, x, mu)) ** 2 for row in root)
                density += weight / sum(weights) * math.exp(sum(q) - square / 2) / (2 * math.pi) ** (d / 2)
            posterior += math.log(density)
        log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma((freedom - j) / 2) for j in range(d))
        for q, norm in zip(input["q"], norms):
            posterior += (freedom - d - 1) * sum(q) - gamma**2 * norm / 2 - log_gamma
            posterior += freedom * d * (math.log(gamma) - math.log(2) / 2)
        self.near(asked("gmm", "objective", input), [posterior], 1e-12)
        at = self.gradient_is_slope("gmm", "objective", "jacobian", input, ["alpha", "mu", "q", "l"])
        self.assertEqual({key: len(at[key]) for key in at}, {"alpha": 2, "mu": 2, "q": 2, "l": 2})

    def test_lstm(self):
        draw = random.Random(6)
        numbers = lambda rows, cols: [[draw.uniform(-1, 1) for _ in range(cols)] for _ in range(rows)]
        n, layers, steps = 2, 2, 3
        input = {"main_params": numbers(2 * layers, 4 * n), "extra_params": numbers(3, n), "state": numbers(2 * layers, n),
                 "sequence": [[0, 1], [1, 1], [1, 0], [0, 0]]}
        sigma = lambda x: 1 / (1 + math.exp(-x))
        state, total = [list(row) for row in input["state"]], 0.0
        for t in range(steps):
            y = [v * w for v, w in zip(input["sequence"][t], input["extra_params"][0])]
            for k in range(layers):
                w, b, h, c = *input["main_params"][2 * k:2 * k + 2], *state[2 * k:2 * k + 2]
                for j in range(n):
                    f, i, o, g = (w[part * n + j] * (h[j] if part % 2 else y[j]) + b[part * n + j] for part in range(4))
                    c[j] = sigma(f) * c[j] + sigma(i) * math.tanh(g)
                    h[j] = sigma(o) * math.tanh(c[j])
                y = h
            p = [v * a + b for v, a, b in zip(y, *input["extra_params"][1:])]
            rest = math.log(2 + sum(map(math.exp, p)))
            total -= sum(bit * (v - rest) for bit, v in zip(input["sequence"][t + 1], p))
        self.near(asked("lstm", "objective", input), [total / (steps * n)])
        self.gradient_is_slope("lstm", "objective", "jacobian", input, ["main_params", "extra_params"])

    def test_bad_inputs(self):
        square = {"d": 1, "k": 2, "n": 1, "m": 0, "gamma": 1.0, "x": [[0.0]], "alpha": [0.0, 0.0], "mu": [[0.0], [0.0]],
                  "q": [[0.0], [0.0]], "l": [[], []]}
        bits = {"main_params": [[0.0] * 4] * 2, "extra_params": [[0.0]] * 3, "state": [[0.0]] * 2, "sequence": [[0], [1]]}
        self.assertEqual(len(asked("gmm", "objective", square)), 1)
        self.assertEqual(len(asked("lstm", "objective", bits)), 1)
        for module, function, input, words in [
                ("hello", "square", "3", "it must be a number"), ("hello", "cube", 3, "hello has no function 'cube'"),
                ("ht", "objective", 3, "there is no module 'ht'"), ("lse", "primal", 3, "there is no 'x'"),
                ("lse", "primal", {"x": []}, "'x' is empty"),
                ("lse", "primal", {"x": [1, "\u001b[31m", 2]}, "an element of 'x' is not a number"),
                ("lse", "primal", {"x": [1], "min_runs": 0}, "'min_runs' must be a whole number from 1 on, not 0"),
                ("llsq", "primal", {"x": [1], "n": 1}, "'n' must be a whole number from 2 on"),
                ("llsq", "primal", {"x": [1], "n": 1e30}, "'n' must be"),
                ("ode", "primal", {"x": [1.0], "s": 2.5}, "'s' must be a whole number from 1 on, not 2.5"),
                ("gmm", "objective", square | {"k": 3}, "do not fit n = 1, d = 1 and k = 3"),
                ("gmm", "objective", square | {"l": [[], [1.0]]}, "the lists in 'l' have different lengths"),
                ("gmm", "objective", square | {"mu": 3}, "'mu' must be a list of lists"),
                ("gmm", "objective", square | {"gamma": 0}, "'gamma' must be above 0"),
                ("lstm", "objective", bits | {"sequence": [[0]]}, "do not fit each other"),
                ("lstm", "jacobian", bits | {"state": [[0.0]] * 3}, "do not fit")]:
            with self.subTest(module=module, input=input):
                message = {"id": 3, "kind": "evaluate", "module": module, "function": function, "input": input}
                (answer, after), status, _ = answers(message, {"id": 4, "kind": "analysis"})
                self.assertEqual((answer["id"], answer["success"], after, status), (3, False, {"id": 4}, 0))
                self.assertIn(words, answer["error"])
                self.assertEqual(len(answer["error"].splitlines()), 1)

    def test_bad_lines(self):
        for line in ["", "{", "[1]", "3", '{"kind": "start"}', '{"id": "a", "kind": "start"}', '{"id": 1', "\x00", "[" * 100_000]:
            with self.subTest(line=line[:20]):
                said = "gradbench: a line is not a JSON object with an 'id'\n"
                self.assertEqual(answers(line, {"id": 1, "kind": "start"}), ([], 2, said))
        for message in [{"id": 1}, {"id": 1, "kind": 3}, {"id": 1, "kind": "define"}, {"id": 1, "kind": "evaluate"},
                        {"id": 1, "kind": "evaluate", "module": "lse"},
                        {"id": 1, "kind": "evaluate", "module": "lse", "function": "primal"}]:
            (answer,), status, _ = answers(message)
            self.assertEqual((answer["success"], status), (False, 0))
            self.assertTrue(answer["error"].startswith("message: "))

    def compared(self, points, fails, of_ours=None):
        """The table's rows of three rounds. Ours is the program, or plays a tool too."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "python/gradbench/gradbench/evals/lse"
            folder.mkdir(parents=True)
            (folder / "run.py").write_text(EVAL)
            (pathlib.Path(name) / "tool.py").write_text(TOOL)
            ours = pathlib.Path(name) / "ours"
            ours.write_text(f"#!{sys.executable}\nimport sys\nsys.argv.append('{of_ours}')\n{TOOL}")
            ours.chmod(0o755)
            words = ["--eval", f"lse={points}", "--tool", f"slow={sys.executable} tool.py '{fails}'", "--rounds", "3", "--seconds", "0"]
            done = subprocess.run([sys.executable, COMPARE, ours if of_ours else PROGRAM, "--checkout", name, *words], capture_output=True,
                                  text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        head, _, *table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
        self.assertEqual(head, ["eval", "ours, ms", "slow", "the eval's verdict"])
        return table

    def test_comparison(self):
        table = self.compared("4 6 9 10", [[9, 1], [10, 2]])
        self.assertEqual([(row[0], row[3]) for row in table], [(f"lse primal x={x}", "valid") for x in (4.0, 6.0, 9.0, 10.0)])
        self.assertGreater(float(table[0][2]), 100)
        self.assertRegex(table[1][2], r"^[0-9.e+]+ \(differs\)$")
        self.assertEqual([row[2] for row in table[2:]], ["fails", "fails"])

    def test_comparison_where_ours_fails(self):
        table = self.compared("1 2 3 4", [[4, 2]], of_ours=[[2, 1], [3, 2], [4, 3]])
        self.assertEqual([row[1:] for row in table],
                         [["1e+04", "1", "valid"], ["fails", "–", "–"], ["fails", "–", "–"], ["fails", "fails", "–"]])


if __name__ == "__main__":
    unittest.main()
