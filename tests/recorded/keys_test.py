#!/usr/bin/env python3
"""Every key of a recipe acts: a small training with another value of it ends with other numbers, files or words than without it, and
with those that were recorded. A new key is tried with another value of its row in the page; if it acts only beside others, it needs a
row in the tables below.

Usage: keys_test.py PTB TIMESERIES [--record]"""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import compare

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of each key another value, and the keys that it needs to act. A list: several variants.
PTB_BASE = """model.embedding=12 model.hidden=12 model.layers=2 data.corpus=grammar data.train_tokens=20000 data.valid_tokens=400
data.test_tokens=300 data.batch=40 data.bptt=10 training.epochs=2 training.log_every=50 training.surprising_words=0
optimizer.learning_rate=0.1""".split()
TRANSFORMER = "-model.hidden model.architecture=transformer model.heads=3 model.memory=8"
BEHIND = "model.architecture=recurrent-attention model.heads=3 model.memory=8"
TEXT = "-data.train_tokens -data.valid_tokens -data.test_tokens data.corpus=text"
MIXTURE = "model.softmax=mixture model.components=3"
# So that scores become worse: these numbers are not recorded.
UNSTABLE, UNSTABLE_SERIES = "optimizer.learning_rate=40 training.epochs=6", "optimizer.learning_rate=0.5 training.epochs=6"
ONE_CYCLE = "schedule.kind=one_cycle"
PTB = {
    "model.architecture": ["transformer -model.hidden", "recurrent-attention"],
    "model.embedding": "10", "model.hidden": "14", "model.layers": "3",
    "model.heads": "4 " + TRANSFORMER, "model.feed_forward": "20 " + TRANSFORMER, "model.memory": "3 " + TRANSFORMER,
    "model.attention_dropout": ["0.3 " + TRANSFORMER, "0.3 " + BEHIND], "model.attention_layers": "2 " + BEHIND,
    "model.cell": ["gru", "rnn"],
    "model.dropout": ["0.3", "0.3 " + TRANSFORMER], "model.input_dropout": "0.3", "model.hidden_dropout": ["0.3", "0.3 " + TRANSFORMER],
    "model.output_dropout": "0.3", "model.embedding_dropout": "0.3", "model.locked_dropout": "true model.dropout=0.3",
    "model.recurrent_dropout": "0.3", "model.weight_drop": "0.3", "model.zoneout_h": "0.3", "model.zoneout_c": "0.3",
    "model.projection": "6", "model.layer_norm": "true model.init=0.5 optimizer.learning_rate=0.01", "model.peepholes": "true", "model.gate_activation": "hard_sigmoid",
    "model.cell_activation": ["relu", "hard_tanh", "softsign"], "model.cell_clip": "0.02", "model.coupled_gates": "true",
    "model.nonlinearity": "relu model.cell=rnn", "model.mogrifier": "3", "model.mogrifier_rank": "2 model.mogrifier=3",
    "model.residual": "true", "model.last_hidden": "8", "model.forget_bias": "1.0", "model.engine": "composed",
    "model.tied": "true", "model.softmax": "mixture", "model.components": "4 " + MIXTURE,
    "model.component_dropout": "0.3 " + MIXTURE, "model.init": "0.3", "model.init_scheme": "pytorch",
    "data.corpus": "text -data.train_tokens -data.valid_tokens -data.test_tokens", "data.level": "char " + TEXT, "data.reset": "document " + TEXT,
    "data.batch": "30", "data.bptt": "7", "data.variable_bptt": "true", "data.partial_shuffle": "true", "data.eval_batch": "4",
    "data.limit": "200 " + TEXT, "data.train_tokens": "18000", "data.valid_tokens": "300", "data.test_tokens": "200", "data.seed": "2",
    "training.epochs": "1", "training.accumulate": "2", "training.shards": "2 model.dropout=0.3", "training.clip": "0.01", "training.precision": "bf16",
    "training.seed": "2", "training.init_from": "start.safetensors", "training.keep": "best " + UNSTABLE,
    "training.patience": "1 " + UNSTABLE,
    "training.keep_every_epochs": "2", "training.log_every": "25", "training.reduction": "mean",
    "training.activation_regularization": "2", "training.temporal_activation_regularization": "2", "training.past_decode": "0.5",
    "training.past_decode_share": "0.5 training.past_decode=0.5", "training.adversarial_softmax": "0.1",
    "training.sample_every_epochs": "1", "training.sample_words": "200 training.sample_every_epochs=1", "training.surprising_words": "3",
    "optimizer.kind": ["adam optimizer.learning_rate=0.01", "adamw optimizer.learning_rate=0.01", "asgd optimizer.average_from=2", "rmsprop optimizer.learning_rate=0.001",
                       "lion optimizer.learning_rate=0.001"],
    "optimizer.learning_rate": "0.2", "optimizer.momentum": ["0.5", "0.5 optimizer.kind=rmsprop optimizer.learning_rate=0.001"],
    "optimizer.nesterov": "true optimizer.momentum=0.5", "optimizer.beta1": ["0.5 optimizer.kind=adam optimizer.learning_rate=0.01", "0.5 optimizer.kind=lion optimizer.learning_rate=0.001"],
    "optimizer.beta2": ["0.5 optimizer.kind=adamw optimizer.learning_rate=0.01", "0.5 optimizer.kind=lion optimizer.learning_rate=0.001"],
    "optimizer.epsilon": ["0.1 optimizer.kind=adam optimizer.learning_rate=0.01", "0.1 optimizer.kind=rmsprop optimizer.learning_rate=0.001"], "optimizer.alpha": "0.5 optimizer.kind=rmsprop optimizer.learning_rate=0.001",
    "optimizer.weight_decay": ["0.01", "0.01 optimizer.kind=adam optimizer.learning_rate=0.01", "0.1 optimizer.kind=adamw optimizer.learning_rate=0.01"],
    "optimizer.average_decay": "0.9", "optimizer.average_from": "2 optimizer.kind=asgd",
    "schedule.kind": ["step schedule.after=1", "plateau " + UNSTABLE, "cosine", "one_cycle"], "schedule.after": "1 schedule.kind=step",
    "schedule.factor": ["0.3 schedule.kind=step schedule.after=1", "0.3 schedule.kind=plateau " + UNSTABLE],
    "schedule.warmup": ["1.5", "0.5 schedule.kind=cosine"], "schedule.minimum": "0.05 schedule.kind=cosine",
    "schedule.phases": "[1.0,1.0,1.0,1.0] " + ONE_CYCLE, "schedule.start_divisor": "3.0 " + ONE_CYCLE,
    "schedule.final_divisor": "30.0 " + ONE_CYCLE, "schedule.momentum_low": "0.2 " + ONE_CYCLE, "schedule.momentum_high": "0.97 " + ONE_CYCLE,
}
ELSEWHERE = {
    "model.algorithm", "training.deterministic", "training.graph",  # what they do is seen on a GPU alone
    "training.save_every_steps", "training.save_every_minutes",  # and after a kill: suite kill_and_resume
    "data.eval_batch",  # of series: changes no number
    "training.on_divergence", "optimizer.non_monotone",  # suites divergence, optim
}
SERIES_BASE = """data.file=rows.csv data.time=time data.channels=[y,x] data.targets=[y] data.window=8 data.horizon=4 data.batch=16 data.eval_batch=16
data.train=0.6 data.valid=0.2 data.ets=false data.theta=false data.period=6 model.cell=gru model.hidden=6 training.epochs=3 training.log_every=15
optimizer.learning_rate=0.01""".split()
SEGMENTS = "model.architecture=segment-rnn model.segment=2 model.normalization=last"
LINEAR = "-model.cell -model.hidden"
ROWS, TIMES = "data.split=rows -data.train -data.valid", "data.split=time -data.train -data.valid"
DETECT = "data.label=on -data.targets -data.horizon -data.ets -data.theta -data.period"
SERIES = {
    "model.architecture": ["linear " + LINEAR, "segment-rnn model.segment=2"], "model.hidden": "8", "model.layers": "2",
    "model.dropout": ["0.3", "0.3 " + SEGMENTS], "model.shared_channels": "true data.channels=[y,x] data.targets=[y,x]",
    "model.normalization": ["last", "window"], "model.segment": ["2", "4 " + SEGMENTS], "model.highway": "4",
    "model.forget_bias": "0.0 model.cell=lstm", "data.file": "other.csv", "data.test_files": "[other.csv] data.valid=0.4 " + DETECT, "data.time": "later",
    "data.date_order": "mdy data.file=slashes.csv", "data.only": "id=b data.file=two.csv data.train=0.5", "data.id": "id data.file=two.csv",
    "data.channels": "[y]", "data.targets": "[x]", "data.calendar": ["[hour]", "[minute]", "[weekday]", "[day]", "[day_of_year]", "[month]"],
    "data.known": "[x]", "data.label": "on " + DETECT.partition(" ")[2], "data.separator": "; data.decimal=, data.file=semicolons.csv",
    "data.decimal": ", data.file=semicolons.csv data.separator=;", "data.thousands": ". data.file=thousands.csv data.separator=; data.decimal=,",
    "data.mend": "true data.file=export.csv",
    "data.missing": ["previous data.file=holes.csv", "mask data.file=holes.csv", "interpolate data.file=holes.csv", "zero data.file=holes.csv"],
    "data.gaps": ["allow data.file=gaps.csv", "fill data.file=gaps.csv data.missing=previous"], "data.open_end": "true data.file=open.csv data.missing=previous",
    "data.window": "10", "data.horizon": "2", "data.stride": "3", "data.batch": "8",
    "data.split": ["rows data.valid_rows=20 data.test_rows=20 -data.train -data.valid", "time data.valid_from=2024-01-04 data.test_from=2024-01-05 -data.train -data.valid"],
    "data.train": "0.5", "data.valid": "0.1", "data.train_rows": "60 data.valid_rows=20 " + ROWS,
    "data.valid_rows": "30 data.test_rows=20 " + ROWS, "data.test_rows": "30 data.valid_rows=20 " + ROWS,
    "data.valid_from": "2024-01-03T12:00 data.test_from=2024-01-05 " + TIMES, "data.test_from": "2024-01-04T12:00 data.valid_from=2024-01-04 " + TIMES,
    "data.period": "5", "data.second_period": "12", "data.ridge": "true", "data.ets": "true", "data.theta": "true", "data.ces": "true",
    "data.pretrained": "true", "data.combination": "true data.ets=true", "data.bounds": ["[3.0,5.0]", "[-100.0,100.0]"], "data.score": "valid",
    "scaling.kind": ["none", "minmax"], "scaling.transform": "log data.file=positive.csv", "training.epochs": "2", "training.clip": "0.01",
    "training.keep": "last " + UNSTABLE_SERIES, "training.log_every": "2", "training.loss": ["quantile", "quantile " + SEGMENTS],
    "training.quantiles": "[0.2,0.5,0.7] training.loss=quantile", "training.pos_weight": "3.0 " + DETECT,
    "optimizer.kind": ["sgd", "lion"], "optimizer.learning_rate": "0.02",
}


def write_inputs(folder: pathlib.Path) -> None:
    sentences = [f"a {'small large red'.split()[i % 3]} {'cat dog bird'.split()[i * i % 7 % 3]} {'sleeps runs'.split()[i % 2]}" for i in range(90)]
    for split, of in (("train", sentences), ("valid", sentences[5:25]), ("test", sentences[40:55])):
        (folder / f"{split}.txt").write_text("".join(line + "\n" + "\n" * (i % 9 == 8) for i, line in enumerate(of)))
    times = [f"2024-01-{1 + i // 24:02d}T{i % 24:02d}:00" for i in range(120)]
    waves = [[0, 3, 5, 4, 1, -2][i % 6] + 0.01 * i + (i * i * 37 % 11) / 10 for i in range(120)]
    plan = [(i * 7 % 5) / 2 for i in range(120)]
    rows = [[t, f"{y:.2f}", f"{x:.1f}", str(int(y > 3)), t.replace("2024", "2025")] for t, y, x in zip(times, waves, plan)]

    def write(name: str, table: list[list[str]], header: str = "time,y,x,on,later", separator: str = ",") -> None:
        (folder / name).write_text(header.replace(",", separator) + "\n" + "".join(separator.join(row) + "\n" for row in table))

    write("rows.csv", rows)
    write("other.csv", [[t, f"{-float(y):.2f}", *more] for t, y, *more in rows])
    write("positive.csv", [[t, f"{float(y) + 4:.2f}", *more] for t, y, *more in rows])
    write("holes.csv", [[t, "" if i % 13 == 5 else y, *more] for i, (t, y, *more) in enumerate(rows)])
    write("gaps.csv", [row for i, row in enumerate(rows) if i % 40 != 30])
    write("open.csv", rows[:-3] + [[t, "", *more] for t, _, *more in rows[-3:]])
    write("slashes.csv", [[f"03/04/{1900 + i}", *more] for i, (_, *more) in enumerate(rows)])
    write("semicolons.csv", [[t, y.replace(".", ","), x.replace(".", ","), *more] for t, y, x, *more in rows], separator=";")
    write("thousands.csv", [[t, f"{float(y) / 10 + 1.5:.3f},5", x.replace(".", ","), *more] for t, y, x, *more in rows], separator=";")
    write("export.csv", rows + [["Total", "99"]])
    write("two.csv", [[t, "ab"[of], y if of else f"{2 * float(y) + 1:.2f}", *more] for of in (0, 1) for t, y, *more in rows[:80]], header="time,id,y,x,on,later")


def options(words: str) -> list[str]:
    return [part for word in words for part in ("--set", word)]


CLOCK = re.compile(r"(?<=^engine  )(\w+: \w+).*|^(recipe|speed|memory|.* ETA |folder|report|next|model   \S+\.safetensors| +fp32 on| +bf16 on).*\n|  +\S+ (words|characters|values|windows|rows)/s +\S+(?=\n)", re.M)


def merged(base: list[str], words: list[str]) -> list[str]:
    """The base's values but for those of keys that the words name; '-KEY' leaves a value out. The first word goes last."""
    keys = {word.removeprefix("-").split("=")[0] for word in words}
    return [word for word in base if word.split("=")[0] not in keys] + [word for word in words[::-1] if not word.startswith("-")]


def answer(program: str, words: list[str], folder: pathlib.Path, number: int) -> list[str]:
    """What a training says and leaves, but for what the clock decides."""
    recipe, out = folder / f"{number}.toml", folder / f"run-{number}"
    recipe.write_text("")
    command = [program, "train", str(recipe), "--out", str(out), "--threads", "1"] + [part for word in words for part in ("--set", word)]
    if "data.corpus=text" in words:
        command += ["--data", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder,
                          env=compare.environment(**({"UNROLL_ISA": "emulated_bf16"} if "training.precision=bf16" in words else {})))
    if done.returncode:
        return [f"FAILED: {done.stderr}"]
    names = " ".join(sorted(re.sub(r"events.*", "events", path.name) for path in out.iterdir()))
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    losses = [f"step {r['step']} loss {r['loss']:.6g} rate {r['learning_rate']:.6g} gradient {r['gradient_norm']:#.4g}" for r in records if r["kind"] == "interval"]
    tables = [f"table {t['title']}: {len(t['rows'])} rows" for t in json.loads((out / "report.json").read_text())["tables"]]
    return [f"files {names}", *losses, *tables, *CLOCK.sub(r"\1", done.stdout).replace(str(folder), "").splitlines()]


def declared(page: str) -> dict[str, str]:
    """Of each key in a page's tables another value than the default, or "" if its row tells none."""
    keys, section = {}, ""
    for line in (ROOT / "docs" / page).read_text().splitlines():
        if found := re.match(r"## \[(\w+)\]|## ", line):
            section = found[1] or ""
        if section and (found := re.match(r"\| `(\w+)` \| `(.*?)` \| (.*?) \|", line)):
            default, values = found[2].strip('"'), found[3]
            first = "0.3" if values.startswith("a number") else "2" if values.startswith("a whole number") else "true" if default == "false" else "false"
            choices = [of.strip() for of in values.removeprefix("one of ").split(",")] if values.startswith("one of") else [first]
            keys[f"{section}.{found[1]}"] = next((of for of in choices if of != default), "")
    return keys


def check(name: str, program: str, page: str, base: list[str], table: dict[str, str | list[str]]) -> bool:
    keys = declared(page)
    assert not table.keys() - keys.keys(), f"{name}: no keys: {sorted(table.keys() - keys.keys())}"
    new = {key: value for key, value in keys.items() if key not in table and key not in ELSEWHERE}  # not recorded
    table = table | new
    variants = [f"{key}={of}" for key, found in table.items() for of in ([found] if isinstance(found, str) else found)]
    with tempfile.TemporaryDirectory() as made, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(made)
        write_inputs(folder)
        answer(program, base + ["training.seed=7"], folder, -1)
        (folder / "run--1" / "last.safetensors").rename(folder / "start.safetensors")
        contexts = list(dict.fromkeys([" ".join(variant.split()[1:]) for variant in variants]))  # without the key itself
        asked = contexts + variants
        answers = dict(zip(asked, pool.map(lambda k: answer(program, merged(base, asked[k].split()), folder, k), range(len(asked)))))
    failed = [f"{variant}: {answers[variant][0]}" for variant in variants if answers[variant][0].startswith("FAILED")]
    assert not failed, "\n".join(failed)
    blocks = {}
    for variant in variants:
        without = answers[" ".join(variant.split()[1:])]
        blocks[variant] = "\n".join(line for line in answers[variant] if line not in without) + "\n"
    idle = [variant for variant, text in blocks.items() if not text.strip()]
    assert not idle, f"{name}: nothing tells a training with these from one without; a key that needs others belongs into this file's tables: {idle}"
    return compare.check(name, {variant: text for variant, text in blocks.items() if not variant.endswith((UNSTABLE, UNSTABLE_SERIES)) and variant.split("=")[0] not in new})


def main() -> None:
    ptb, timeseries = (str(pathlib.Path(program).resolve()) for program in sys.argv[1:3])
    right = check("keys-of-ptb", ptb, "recipes.md", PTB_BASE, PTB)
    right = check("keys-of-timeseries", timeseries, "timeseries.md", SERIES_BASE, SERIES) and right
    sys.exit(not right)


if __name__ == "__main__":
    main()
