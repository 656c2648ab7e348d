"""Each option of each command, and what it refuses: asked after the commands of answers_test.py, beside the models that those trained."""
import re


def more_files(of: dict[str, str]) -> dict[str, str]:
    of = dict(of)
    of["ends-missing"] = of["holes"] + "2024-05-20,\n"
    of["early"] = "".join(line + "\n" for line in of["shops"].splitlines() if not line.startswith("2021-1") or "north" not in line)
    of["unlabelled"] = "".join(line.rpartition(",")[0] + "\n" for line in of["labels"].splitlines())
    of["many"] = "month,shop,sales\n" + "".join(f"{2019 + m // 12}-{m % 12 + 1:02},s{s},{1000 * s + m * 7 % 12 * (s % 9 + 1)}\n" for s in range(55) for m in range(30))
    of["zeros"] = re.sub(",1$", ",0", of["labels"], flags=re.M)
    of["far"] = re.sub(r",1(?=\d\d\.)", ",91", of["labels"])
    return of


def documents(sentences: list[str]) -> dict[str, str]:
    """With a blank line after every ninth sentence; the test has words that the others lack, and an end of its own."""
    sentences = [line.replace("large dog", "<unk> dog") for line in sentences]
    parts = ["".join(line + "\n" * (i % 9 == 8) for i, line in enumerate(of)) for of in (sentences, sentences[20:50], sentences[33:80])]
    return {"train": parts[0].replace("the <unk> dog", "<s> the <unk> dog </s>"), "valid": parts[1], "test": parts[2].replace("bird", "horse") + "a <eos> dog\n"}


RECIPES = {
    "ahead": """[model]\nhidden = 5\nnormalization = "window"\nhighway = 7\n[data]\nfile = "plan.csv"\ntargets = ["sales"]\nknown = ["price"]\ncalendar = ["weekday"]\nwindow = 7\nhorizon = 3\nperiod = 7\n[training]\nepochs = 2\n""",
    "linear": """[model]\narchitecture = "linear"\n[data]\nfile = "plan.csv"\ntargets = ["sales"]\nknown = ["price"]\nwindow = 7\nhorizon = 3\nperiod = 7\n[training]\nepochs = 2\n""",
    "filled": """[model]\nhidden = 5\n[data]\nfile = "holes.csv"\nmissing = "interpolate"\nwindow = 7\nhorizon = 2\nperiod = 7\n[training]\nepochs = 2\n""",
    "pretrain": """[model]\nhidden = 8\nlayers = 1\n[series]\nsteps = 2\nsegments = 144\nvalid = 144\n[training]\nepochs = 2\nlog_every = 1\n""",
    "pair": """[model]\ncell = "rnn"\nhidden = 5\nhighway = 6\n[data]\nfile = "two.csv"\ntargets = ["cost", "sales"]\nwindow = 6\nhorizon = 2\nperiod = 12\nsplit = "rows"\nvalid_rows = 8\ntest_rows = 8\nbounds = [0.0, 1000.0]\nces = true\nridge = true\npretrained = true\ncombination = true\n[scaling]\nkind = "minmax"\n[training]\nepochs = 4\n""",
    "logs": """[model]\narchitecture = "segment-rnn"\nhidden = 6\nsegment = 4\nnormalization = "last"\n[data]\nfile = "hours.csv"\ncalendar = ["hour", "weekday"]\nwindow = 48\nhorizon = 12\nperiod = 24\nsecond_period = 168\nsplit = "time"\nvalid_from = "2024-01-18"\ntest_from = "2024-01-22"\n[scaling]\ntransform = "log"\n[training]\nepochs = 2\nloss = "quantile"\nquantiles = [0.1, 0.5, 0.9]\n""",
}
SERIES = """
train pair.toml --out pair --threads 1
train logs.toml --out logs --threads 1
train net.toml --out more --threads 1 --set training.epochs=2 --quiet
resume more --set training.epochs=3
resume more
resume more --set model.hidden=7
resume more --csv growth.csv
report more
train net.toml --out more
train net.toml --dry-run --threads 1
train net.toml --threads 1 --json --out of-json
train net.toml --threads 1 --profile --quiet --out profiled
train detector.toml --threads 1 --json --out detector-of-json
train net.toml --threads 1 --set training.init_from=net/best.safetensors --out continued
train days.csv --steps 3 --threads 1 --set training.epochs=2 --out guessed
train shops.csv --set data.id=shop --threads 1 --set training.epochs=2 --out guessed-of-several
train - --threads 1 --set training.epochs=2 --steps 2 --out guessed-of-input < months.csv
forecast guessed/best.safetensors
forecast - --members last,seasonal < months.csv
sweep net.toml --set model.hidden=4,6 --seeds 1..2 --threads 1 --out swept
sweep swept
sweep net.toml --set model.hidden=4,5 --seeds 1,3 --threads 1 --out swept
sweep net.toml --set model.hidden=4,6 --seeds 1..3 --threads 1 --out swept --json
sweep net.toml --set model.hidden=4,-1 --threads 1 --out failing
sweep net.toml --seeds 2..1 --out failing
train pretrain.toml --threads 1 --out refused
pretrain pretrain.toml --threads 1 --out pretraining
resume pretraining --set training.epochs=3
resume pretraining --csv months.csv
pretrain forecaster --dry-run --threads 1 --set series.segments=144 --set series.valid=144 --set model.hidden=8
forecast months.csv --set training.init_from=pretraining/forecaster.safetensors
evaluate net/best.safetensors --out forecasts.csv
evaluate several/best.safetensors --split train --out forecasts.csv
evaluate deciles/best.safetensors --split valid --out forecasts.csv
evaluate pair/best.safetensors --out forecasts.csv
evaluate logs/best.safetensors
evaluate logs/best.safetensors --csv months.csv
evaluate detector/best.safetensors --split valid --json
evaluate net/best.safetensors --csv days.csv
baselines net.toml --split valid --json
baselines pair.toml
baselines logs.toml
baselines detector.toml
backtest net.toml --folds 2 --test-rows 4 --threads 1 --json
backtest pair.toml --folds 3 --threads 1
backtest several.toml --folds 2 --threads 1
backtest net.toml --folds 30 --threads 1
explain pair.toml
explain logs.toml
explain masked.toml
explain airline
explain sunspots
explain etth1
forecast pair/best.safetensors --steps 5
forecast pair/best.safetensors --target sales --plot chart.svg --out next.csv
forecast pair/best.safetensors --target nothing --plot chart.svg
forecast logs/best.safetensors --steps 30
forecast logs/best.safetensors --ascii
forecast several/best.safetensors --plot chart.svg
forecast several/best.safetensors --csv growth.csv
forecast masked/best.safetensors --csv ends-missing.csv
forecast net/best.safetensors --csv ends-missing.csv
forecast net/best.safetensors --csv three.csv
forecast net/best.safetensors --csv constant.csv
forecast net/best.safetensors --csv outlier.csv
forecast net/best.safetensors --future plan-ahead.csv
forecast priced/best.safetensors --future three.csv
forecast two.csv --plot chart.svg --target cost --ascii --out next.csv
forecast days.csv --set data.ets=false --set data.ridge=false --steps 3
forecast hours.csv --set data.second_period=0 --steps 3
forecast hours.csv --set data.second_period=12 --steps 3
forecast hours.csv --set data.period=24 --steps 3
forecast shops.csv --set data.id=shop --steps 2 --json
forecast early.csv --set data.id=shop --steps 2
forecast offsets.csv --set data.calendar=[hour] --steps 2
anomalies two.csv --plot chart.svg --target cost --out found.csv --ascii
anomalies months.csv --rate 2
anomalies several/best.safetensors --csv shops.csv --series south --plot chart.svg
anomalies holes.csv
anomalies pair/best.safetensors --csv two.csv
anomalies three.csv
anomalies detector/best.safetensors --csv labels.csv
detect detector/best.safetensors --csv labels.csv
detect detector/best.safetensors --csv unlabelled.csv --out found.csv
detect detector/best.safetensors --csv months.csv
detect detector/best.safetensors --csv far.csv --out found.csv
detect detector/best.safetensors --csv zeros.csv --out found.csv
look net/best.safetensors --live --out look.html
look deciles/best.safetensors --live 8 --out look.html
look pair/best.safetensors --target sales --out look.html
look pair/best.safetensors --target nothing --out look.html
look net/best.safetensors --against continued/best.safetensors --at 2022-06 --out look.html
look logs/best.safetensors --out look.html
look two.csv --column cost --steps 4 --out look.html
look shops.csv --set data.id=shop --out look.html
look net/best.safetensors --at 2030-01 --out look.html
export net/best.safetensors --to c --out model.h
export net/best.safetensors --to c8 --out model.h
export net/best.safetensors --to onnx --out model.onnx
export deciles/best.safetensors --to c --out model.h
export pair/best.safetensors --to c8 --out model.h
export pair/best.safetensors --to onnx --out model.onnx
export logs/best.safetensors --to c --out model.h
export logs/best.safetensors --to onnx --out model.onnx
export several/best.safetensors --to c --out model.h
export masked/best.safetensors --to c --out model.h
export priced/best.safetensors --to c --out model.h
export detector/best.safetensors --to c --out model.h
export detector/best.safetensors --to onnx --out model.onnx
export pretrained --to onnx --out model.onnx
train ahead.toml --out ahead --threads 1 --quiet
train linear.toml --out linear --threads 1 --quiet
train filled.toml --out filled --threads 1 --quiet
forecast ahead/best.safetensors --future plan-ahead.csv
forecast filled/best.safetensors --csv ends-missing.csv
export ahead/best.safetensors --to c --out model.h
export ahead/best.safetensors --to onnx --out model.onnx
export linear/best.safetensors --to c8 --out model.h
export linear/best.safetensors --to onnx --out model.onnx
export pretraining/forecaster.safetensors --to c --out model.h
export pretraining/forecaster.safetensors --to onnx --out model.onnx
train net.toml --set training.shards=2 --set model.dropout=0.2 --threads 1 --quiet --out shared
train masked.toml --set training.shards=3 --threads 1 --quiet --out shared-masked
train years.csv --steps 12 --set training.epochs=2 --threads 1 --quiet --out guessed-years
train many.csv --set data.id=shop --steps 2 --set training.epochs=1 --threads 1 --quiet --out guessed-many
forecast many.csv --set data.id=shop --steps 1 --members last,seasonal
forecast several/best.safetensors --csv many.csv
look shops.csv --set data.id=shop --series south --out look.html
explain net.toml --set training.shards=4 --threads 1
export net/best.safetensors --to java --out model.h
export net/best.safetensors --out model.h""".strip().split("\n")
TEXT = {
    "grammar": """[model]\nembedding = 12\nhidden = 16\nlayers = 1\n[data]\ncorpus = "grammar"\ntrain_tokens = 8000\nvalid_tokens = 500\ntest_tokens = 500\nbatch = 10\nbptt = 10\n[training]\nepochs = 1\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.005\n""",
    "documents": """[model]\nembedding = 10\nhidden = 12\nlayers = 1\n[data]\ncorpus = "text"\nreset = "document"\nbatch = 4\neval_batch = 2\nbptt = 8\n[training]\nepochs = 3\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.02\n""",
    "rich": """[model]\nembedding = 12\nhidden = 16\nlayers = 2\nprojection = 12\nmogrifier = 3\nmogrifier_rank = 4\nresidual = true\npeepholes = true\ntied = true\ndropout = 0.2\nlocked_dropout = true\nweight_drop = 0.3\nzoneout_h = 0.1\nzoneout_c = 0.1\nembedding_dropout = 0.1\n[data]\ncorpus = "text"\nbatch = 8\nbptt = 8\n[training]\nepochs = 1\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.001\n""",
    "behind": """[model]\narchitecture = "recurrent-attention"\nembedding = 12\nhidden = 12\nheads = 3\nmemory = 8\nlayers = 1\n[data]\ncorpus = "text"\nbatch = 8\nbptt = 8\n[training]\nepochs = 2\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.02\n""",
    "plain": """[model]\ncell = "rnn"\nnonlinearity = "relu"\nembedding = 10\nhidden = 10\nlayers = 2\ntied = true\n[data]\ncorpus = "text"\nlevel = "char"\nbatch = 8\nbptt = 8\n[training]\nepochs = 2\nreduction = "mean"\n[optimizer]\nkind = "adam"\nlearning_rate = 0.01\n""",
}
COMMANDS = """
train grammar.toml --threads 1 --out grammar
train documents.toml --data documents --threads 1 --out documented
train rich.toml --data text --threads 1 --out rich
train behind.toml --data text --threads 1 --out behind
train plain.toml --data text --threads 1 --out plain
train words.toml --data text --threads 1 --json --out of-json
train grammar.toml --threads 1 --json --out grammar-of-json
train words.toml --data text --threads 1 --dry-run
train rich.toml --data text --threads 1 --dry-run
train attention.toml --data text --threads 1 --dry-run
train words.toml --data text --threads 1 --quiet --profile --out profiled
train words.toml --data text --threads 1 --overfit-one-batch
train documents.toml --data documents --threads 1 --overfit-one-batch
train words.toml --data text --threads 1 --set training.init_from=words/last.safetensors --set training.epochs=1 --out continued
train mixture.toml --data text --threads 1 --set training.init_from=words/last.safetensors --out refused
train words.toml --data nothing --out refused
train words.toml --data documents --set data.batch=400 --out refused
train words.toml --out words
train words.toml --data text --threads 1 --set training.epochs=1 --quiet --out more
resume more --set training.epochs=2
resume more
resume more --set model.hidden=7
resume more --data documents
resume nothing
report more
report nothing
sweep words.toml --data text --set model.hidden=8,12 --set training.epochs=1 --threads 1 --out swept
sweep swept
sweep words.toml --data text --set data.batch=8,2000 --threads 1 --out failing
evaluate grammar/last.safetensors --agreement
evaluate grammar/last.safetensors --agreement --json
evaluate words/last.safetensors --data text --agreement
evaluate attention/last.safetensors --data text --agreement
evaluate documented/last.safetensors --data documents
evaluate documented/last.safetensors --data documents --batch 1
evaluate documented/last.safetensors --data documents --batch 3 --split train
evaluate documented/last.safetensors --data documents --batch 1 --dynamic rate=0.001,segment=3
evaluate documented/last.safetensors --data documents --batch 1 --cache window=10,theta=0.5,lambda=0.2
evaluate words/last.safetensors --data documents --batch 1
evaluate words/last.safetensors --data text --batch 1 --temperature 1.3
evaluate words/last.safetensors --data text --batch 5 --temperature 0.7 --json
evaluate words/last.safetensors --data text --batch 1 --temperature 1.2 --cache window=20 --dynamic sgd,rate=0.1
evaluate words/last.safetensors --data text --batch 3 --cache window=20
evaluate words/last.safetensors --data text --batch 1 --dynamic rate=900,segment=5
evaluate words/last.safetensors --data text --dynamic rate=0.001,decay=0.01,epsilon=0.001,segment=4 --statistics words-statistics.safetensors
evaluate letters/last.safetensors --data text --dynamic rate=0.001 --statistics words-statistics.safetensors
evaluate words/last.safetensors --data text --tune quick --json
evaluate rich/last.safetensors --data text
evaluate behind/last.safetensors --data text
evaluate plain/last.safetensors --data text
evaluate nothing.safetensors
evaluate words.toml --data text
generate words/last.safetensors --words 20 --top-k 2
generate words/last.safetensors --words 20 --prompt "the unknown dog"
generate documented/last.safetensors --words 30
generate rich/last.safetensors --words 20
generate behind/last.safetensors --words 20
generate plain/last.safetensors --words 30 --prompt "a r"
generate words/last.safetensors --temperature 0
generate words/last.safetensors --words 0
look words/last.safetensors --text "a small cat sleeps" --live 8 --out look.html
look grammar/last.safetensors --text "every dog near the men sleeps ." --out look.html
look rich/last.safetensors --text "a small cat sleeps" --out look.html
look behind/last.safetensors --text "a small cat sleeps" --out look.html
look letters/last.safetensors --text "a red dog" --live --out look.html
look mixture/last.safetensors --text "a small cat sleeps" --live --out look.html
look attention/last.safetensors --text "a small cat sleeps" --live --out look.html
look words/last.safetensors --text "the unknown cat" --out look.html
look words/last.safetensors --text "" --out look.html
export words/last.safetensors --to c --out model.h
export words/last.safetensors --to c8 --out model.h
export words/last.safetensors --to onnx --out model.onnx
export letters/last.safetensors --to c8 --out model.h
export letters/last.safetensors --to onnx --out model.onnx
export attention/last.safetensors --to c --out model.h
export attention/last.safetensors --to onnx --out model.onnx
export mixture/last.safetensors --to c --out model.h
export mixture/last.safetensors --to onnx --out model.onnx
export rich/last.safetensors --to c --out model.h
export rich/last.safetensors --to onnx --out model.onnx
export behind/last.safetensors --to c --out model.h
export behind/last.safetensors --to onnx --out model.onnx
export plain/last.safetensors --to c --out model.h
export plain/last.safetensors --to onnx --out model.onnx
import fixtures/torch.safetensors --out imported.safetensors --vocabulary fixtures/vocabulary.txt
import fixtures/torch.safetensors --out imported.safetensors
import fixtures/torch.safetensors --out imported.safetensors --data text
import fixtures/torch.safetensors --out imported.safetensors --vocabulary fixtures/vocabulary.txt --rename lstm=other
import fixtures/torch.safetensors --out imported.safetensors --vocabulary fixtures/vocabulary.txt --set model.hidden=9
import words/last.safetensors --out imported.safetensors
import rich/last.safetensors --out imported.safetensors --vocabulary fixtures/vocabulary.txt
explain mixture.toml --data text --threads 1
explain documents.toml --data documents --plot rates.svg --threads 1
explain letters.toml --data text --threads 1
explain ptb-small --plot rates.svg
explain rich.toml --data text --set model.layer_norm=true --set schedule.kind=one_cycle --set training.epochs=9 --plot rates.svg --threads 1
explain behind.toml --data text --threads 1
explain words.toml --data text --set training.shards=4 --threads 1""".strip().split("\n")
