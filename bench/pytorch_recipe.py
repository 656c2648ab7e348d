"""Trains a recipe of ptb in PyTorch, spelled out with PyTorch's own operations, to hold ptb against it.

--steps N: nothing is dropped, and both begin with ptb's first weights. ptb trains N windows, then PyTorch the same
ones, in float32 and in float64, and the losses of each step are printed side by side. PyTorch's second bias is kept
at 0, and weight decay is of matrices only, as here. At the learning rate of some recipes training without dropout is
chaotic, and rounding grows from step to step: the difference of PyTorch's two columns says by how much. --rate takes
another learning rate.

--epochs N: PyTorch alone, with everything that the recipe drops, from weights and masks of its own (--seed), and with two
biases per gate, as the recipe was published, or with one (--one-bias), as here. Prints an epoch's
perplexities as ptb does: every token of the valid split is scored once, in data.eval_batch streams.

Usage: python3 pytorch_recipe.py ptb-medium-tied --steps 100 --data data/ptb --ptb build/examples/ptb/ptb
       python3 pytorch_recipe.py ptb-medium-tied --steps 100 --rate 1
       python3 pytorch_recipe.py awd-lstm --epochs 1 --one-bias --seed 2 --threads 4
"""

import argparse
import json
import math
import random
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from programs import built

DROPS = ("dropout", "component_dropout", "embedding_dropout", "recurrent_dropout", "weight_drop", "zoneout_h", "zoneout_c")
PLAIN = {"cell": "lstm", "gate_activation": "sigmoid", "cell_activation": "tanh", "recurrent_dropout": 0, "zoneout_h": 0,
         "zoneout_c": 0, "layer_norm": False, "peepholes": False, "projection": 0, "residual": False, "mogrifier": 0}
OWN_RATES = ("input_dropout", "hidden_dropout", "output_dropout")


def run_ptb(args: argparse.Namespace, folder: Path, settings: dict[str, Any]) -> None:
    words = [args.ptb, "train", args.recipe, "--data", args.data, "--threads", str(args.threads), "--out", str(folder),
             "--quiet"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def read_safetensors(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(entry["shape"])
    return tensors, metadata


def locked_dropout(x: torch.Tensor, rate: float) -> torch.Tensor:
    return x * F.dropout(torch.ones(1, *x.shape[1:]), rate) if rate > 0 else x


class LanguageModel(nn.Module):
    """Layers of one nn.LSTM each, since their widths may differ."""

    def __init__(self, recipe: dict[str, Any], vocab: int) -> None:
        super().__init__()
        m = self.m = recipe["model"]
        others = [key for key, plain in PLAIN.items() if m[key] != plain]
        if others:
            raise SystemExit(f"the plain nn.LSTM is spelled out here, without {', '.join(others)}")
        self.rates = [m["dropout"] if m[key] < 0 else m[key] for key in OWN_RATES]
        widths = [m["hidden"]] * (m["layers"] - 1) + [m["last_hidden"] or m["hidden"]]
        self.embedding = nn.Embedding(vocab, m["embedding"])
        self.layers = nn.ModuleList(nn.LSTM(i, o) for i, o in zip([m["embedding"], *widths], widths))
        self.mixture = m["softmax"] == "mixture"
        if self.mixture:
            self.prior = nn.Linear(widths[-1], m["components"], bias=False)
            self.latent = nn.Linear(widths[-1], m["components"] * m["embedding"])
        self.decoder = nn.Linear(m["embedding"] if self.mixture else widths[-1], vocab)
        if m["tied"]:
            self.decoder.weight = self.embedding.weight
        weights = [self.embedding.weight, self.decoder.weight]
        for p in weights if m["init_scheme"] == "pytorch" else self.parameters():
            nn.init.uniform_(p, -m["init"], m["init"])
        if m["init_scheme"] == "pytorch":
            nn.init.zeros_(self.decoder.bias)  # the layers begin as nn.LSTM makes them

    def load(self, tensors: dict[str, torch.Tensor]) -> None:
        """Weights as ptb writes them, all layers in one "lstm"."""
        names = {"embedding.weight": "embedding.weight", "decoder.weight": "decoder.weight", "decoder.bias": "decoder.bias"}
        for k in range(len(self.layers)):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                names[f"layers.{k}.{name}_l0"] = f"lstm.{name}_l{k}"
        if self.mixture:
            names |= {name: f"mixture.{name}" for name in ("prior.weight", "latent.weight", "latent.bias")}
        self.load_state_dict({ours: tensors[theirs] for ours, theirs in names.items()})

    def drop(self, x: torch.Tensor, rate: float) -> torch.Tensor:
        if not self.training:
            return x
        return locked_dropout(x, rate) if self.m["locked_dropout"] else F.dropout(x, rate)

    def scores(self, y: torch.Tensor) -> torch.Tensor:
        """Of the next word: logits, or log p of a mixture of softmaxes."""
        if not self.mixture:
            return self.decoder(y)
        h = self.latent(y).tanh()
        if self.training:
            h = locked_dropout(h, self.m["component_dropout"])
        log_p = self.decoder(h.unflatten(-1, (self.m["components"], -1))).log_softmax(-1)
        return torch.logsumexp(log_p + self.prior(y).log_softmax(-1)[..., None], -2)

    def forward(self, tokens: torch.Tensor, state: list[Any]) -> tuple[torch.Tensor, torch.Tensor, list[Any]]:
        """tokens [steps, batch] -> the last layer's outputs before and after dropout, and the state."""
        input_rate, hidden_rate, output_rate = self.rates
        table = self.embedding.weight
        if self.training and self.m["embedding_dropout"] > 0:  # of whole words
            table = table * F.dropout(torch.ones(len(table), 1), self.m["embedding_dropout"])
        y, next_state = self.drop(F.embedding(tokens, table), input_rate), []
        for k, layer in enumerate(self.layers):
            if k > 0:
                y = self.drop(y, hidden_rate)
            weight_hh = F.dropout(layer.weight_hh_l0, self.m["weight_drop"], self.training)
            weights = [layer.weight_ih_l0, weight_hh, layer.bias_ih_l0, layer.bias_hh_l0]
            y, h, c = torch._VF.lstm(y, state[k], weights, True, 1, 0.0, self.training, False, False)
            next_state.append((h.detach(), c.detach()))
        return y, self.drop(y, output_rate), next_state

    def zero_state(self, batch: int) -> list[Any]:
        return [(torch.zeros(1, batch, layer.hidden_size), torch.zeros(1, batch, layer.hidden_size))
                for layer in self.layers]


class Training:
    def __init__(self, recipe: dict[str, Any], model: LanguageModel, one_bias: bool) -> None:
        self.recipe, self.model = recipe, model
        if one_bias:
            for layer in model.layers:
                layer.bias_hh_l0.requires_grad_(False)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        decay = recipe["optimizer"]["weight_decay"]
        groups = [{"params": [p for p in self.parameters if p.dim() > 1], "weight_decay": decay},
                  {"params": [p for p in self.parameters if p.dim() == 1], "weight_decay": 0.0 if one_bias else decay}]
        if recipe["optimizer"]["kind"] not in ("sgd", "asgd") or recipe["optimizer"]["momentum"] > 0:
            raise SystemExit("only plain gradient descent is spelled out here")
        more = [f"{section}.{key}" for section, key in (("data", "partial_shuffle"), ("training", "past_decode"),
                                                        ("training", "adversarial_softmax")) if recipe[section].get(key)]
        if more:
            raise SystemExit(f"training is spelled out here without {', '.join(more)}")
        if recipe["training"]["accumulate"] != 1:
            raise SystemExit("every window makes a step here: training.accumulate must be 1")
        self.optimizer = torch.optim.SGD(groups, lr=recipe["optimizer"]["learning_rate"])

    def step(self, tokens: torch.Tensor, targets: torch.Tensor, state: list[Any], rate: float) -> tuple[float, list[Any]]:
        t, data = self.recipe["training"], self.recipe["data"]
        y, dropped, state = self.model(tokens, state)
        loss = F.cross_entropy(self.model.scores(dropped).flatten(0, 1), targets.flatten())
        objective = loss + t["activation_regularization"] * dropped.pow(2).mean()
        if len(y) > 1:
            objective = objective + t["temporal_activation_regularization"] * (y[1:] - y[:-1]).pow(2).mean()
        if t["reduction"] == "sum-over-steps":
            objective = objective * len(tokens)
        self.optimizer.zero_grad()
        objective.backward()
        if t["clip"] > 0:
            nn.utils.clip_grad_norm_(self.parameters, t["clip"])
        for group in self.optimizer.param_groups:
            group["lr"] = rate * (len(tokens) / data["bptt"] if data["variable_bptt"] else 1)
        self.optimizer.step()
        return loss.item(), state

    def perplexity(self, text: torch.Tensor, eos: int) -> float:
        """Every token once, the first from <eos>, in streams whose lengths differ by one at most."""
        batch = self.recipe["data"]["eval_batch"]
        streams = torch.tensor_split(torch.cat([torch.tensor([eos]), text]).unfold(0, 2, 1), batch)  # [length, 2] each
        total, state = 0.0, self.model.zero_state(batch)
        pairs = nn.utils.rnn.pad_sequence(list(streams), padding_value=-100)  # [steps, batch, 2]
        self.model.eval()
        with torch.no_grad():
            for window in pairs.split(100):
                _, y, state = self.model(window[..., 0].clamp(min=0), state)
                total += F.cross_entropy(self.model.scores(y).flatten(0, 1), window[..., 1].flatten(), reduction="sum").item()
        self.model.train()
        return math.exp(total / len(text))


def read_text(args: argparse.Namespace, split: str, vocabulary: dict[str, int]) -> torch.Tensor:
    lines = (Path(args.data) / f"ptb.{split}.txt").read_text().splitlines()
    return torch.tensor([vocabulary[word] for line in lines for word in [*line.split(), "<eos>"]])


def streams_of(text: torch.Tensor, batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets [length, batch]."""
    length = (len(text) - 1) // batch
    cut = lambda first: text[first : first + length * batch].reshape(batch, length).t().contiguous()
    return cut(0), cut(1)


def drawn_steps(bptt: int) -> int:
    return max(5, int(random.gauss(bptt if random.random() < 0.95 else bptt / 2, 5)))


def recipe_and_words(run: Path) -> tuple[dict[str, Any], list[str]]:
    _, metadata = read_safetensors(run / "last.safetensors")
    return tomllib.loads((run / "recipe.toml").read_text()), json.loads(metadata["vocabulary"])


def compare_steps(args: argparse.Namespace, folder: Path) -> None:
    off: dict[str, Any] = {f"model.{key}": 0 for key in DROPS} | {f"model.{key}": -1 for key in OWN_RATES}
    off |= {"model.locked_dropout": "false", "training.epochs": 1, "training.keep": "last"}
    # Steps too small to be seen leave the first weights in the file.
    run_ptb(args, folder / "first", off | {"optimizer.learning_rate": 1e-30, "data.limit": 2000})
    sizes = tomllib.loads((folder / "first/recipe.toml").read_text())["data"]
    batch, bptt = sizes["batch"], sizes["bptt"]
    limit = (args.steps + 1) * batch * bptt
    if args.rate:
        off["optimizer.learning_rate"] = args.rate
    run_ptb(args, folder / "run", off | {"training.log_every": 1, "data.limit": limit})
    recipe, words = recipe_and_words(folder / "run")
    log = [json.loads(line) for line in (folder / "run/log.jsonl").read_text().splitlines()]
    log = [record for record in log if record["kind"] == "interval"][: args.steps]

    weights = read_safetensors(folder / "first/last.safetensors")[0]
    text = read_text(args, "train", {word: i for i, word in enumerate(words)})[:limit]
    inputs, targets = streams_of(text, batch)
    trainings, states = [], []
    for number in (torch.float32, torch.float64):
        torch.set_default_dtype(number)
        model = LanguageModel(recipe, len(words))
        model.load(weights)
        trainings.append(Training(recipe, model, one_bias=True))
        states.append(model.zero_state(batch))
    rate = recipe["optimizer"]["learning_rate"]
    at, done, worst = 0, 0, [0.0, 0.0]
    print("                 loss                          difference from float64")
    print("step  tokens       ptb   PyTorch   float64         ptb   PyTorch")
    for record in log:
        steps = (record["words"] - done) // batch
        losses = [record["loss"]]
        for k, training in enumerate(trainings):
            loss, states[k] = training.step(inputs[at : at + steps], targets[at : at + steps], states[k], rate)
            losses.append(loss)
        differences = [loss - losses[-1] for loss in losses[:-1]]
        worst = [max(w, abs(d)) for w, d in zip(worst, differences)]
        print(f"{record['step']:4}  {steps * batch:6}  " + "  ".join(f"{loss:8.5f}" for loss in losses) + "   "
              + "  ".join(f"{difference:8.1e}" for difference in differences), flush=True)
        at, done = at + steps, record["words"]
    print(f"{args.recipe}: {len(log)} steps at learning rate {rate:g}; from float64 differ at most ptb by {worst[0]:.1e}, "
          f"PyTorch {torch.__version__} in float32 by {worst[1]:.1e}")


def train_epochs(args: argparse.Namespace, folder: Path) -> None:
    run_ptb(args, folder / "run", {"training.epochs": 1, "data.limit": 2000})
    recipe, words = recipe_and_words(folder / "run")
    may_average = recipe["optimizer"]["kind"] == "asgd" and args.epochs > recipe["optimizer"]["non_monotone"]
    if recipe["schedule"]["kind"] not in ("constant", "plateau") or may_average:
        raise SystemExit("spelled out are a constant and a plateau schedule, and no averaging")
    vocabulary = {word: i for i, word in enumerate(words)}
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    model = LanguageModel(recipe, len(words))
    if args.one_bias:
        for layer in model.layers:
            nn.init.zeros_(layer.bias_hh_l0)
    training = Training(recipe, model, args.one_bias)
    batch, bptt = recipe["data"]["batch"], recipe["data"]["bptt"]
    inputs, targets = streams_of(read_text(args, "train", vocabulary), batch)
    valid = read_text(args, "valid", vocabulary)
    rate, best = recipe["optimizer"]["learning_rate"], math.inf
    for epoch in range(1, args.epochs + 1):
        state, at, total, begin = model.zero_state(batch), 0, 0.0, time.perf_counter()
        while at < len(inputs):
            steps = min(drawn_steps(bptt) if recipe["data"]["variable_bptt"] else bptt, len(inputs) - at)
            loss, state = training.step(inputs[at : at + steps], targets[at : at + steps], state, rate)
            total, at = total + loss * steps, at + steps
        seconds = time.perf_counter() - begin
        score = training.perplexity(valid, vocabulary["<eos>"])
        print(f"{args.recipe} in PyTorch {torch.__version__}, seed {args.seed}, epoch {epoch}: train {math.exp(total / at):.2f}  "
              f"valid {score:.2f}  lr {rate:g}  {inputs.numel() / seconds:.0f} words/s  {seconds:.0f} s", flush=True)
        if score < best:
            best = score
        elif recipe["schedule"]["kind"] == "plateau":
            rate *= recipe["schedule"]["factor"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="a bundled recipe for the Penn Treebank, or a file")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--steps", type=int, help="compare the losses of so many steps, nothing dropped")
    what.add_argument("--epochs", type=int, help="train so many epochs in PyTorch, dropout and all")
    parser.add_argument("--one-bias", action="store_true", help="with --epochs: one bias per gate, as ptb has it")
    parser.add_argument("--rate", type=float, help="with --steps: another learning rate than the recipe's")
    parser.add_argument("--seed", type=int, default=1, help="of PyTorch's weights and masks")
    parser.add_argument("--data", default="data/ptb")
    parser.add_argument("--ptb", type=built, default="build/examples/ptb/ptb", help="the program")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    with tempfile.TemporaryDirectory() as folder:
        (compare_steps if args.steps else train_epochs)(args, Path(folder))


if __name__ == "__main__":
    main()
