"""Loads a model's file that `ptb` wrote into PyTorch's own modules, scores a split of its text, and compares.

check_checkpoint.py CHECKPOINT --data DIR [--split test] [--ptb PROGRAM] [--double]

Everything is taken from the file alone: vocabulary and recipe from its metadata, sizes from the shapes, weights by
load_state_dict(strict=True). Ends with 1 if PyTorch's perplexity and that of `ptb evaluate` differ in four digits.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tomllib

import torch
from language_model import LanguageModel, perplexity, read_ids
from safetensors import safe_open
from safetensors.torch import load_file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--ptb", help="the program, to compare with")
    parser.add_argument("--double", action="store_true", help="PyTorch computes in float64")
    args = parser.parse_args()

    with safe_open(args.checkpoint, "pt") as file:
        metadata = file.metadata()
    vocabulary, recipe = json.loads(metadata["vocabulary"]), tomllib.loads(metadata["recipe"])
    # what goes on with a training has names of its own
    state = {name: t for name, t in load_file(args.checkpoint).items() if not name.startswith("training/")}
    if metadata.get("pytorch", "").startswith("none"):
        sys.exit(f"PyTorch has no such layer: {metadata['pytorch']}")
    options, cell = recipe["model"], recipe["model"].get("cell", "lstm")
    hidden, layers = options["hidden"], options["layers"]
    model = LanguageModel(*state["embedding.weight"].shape, hidden, layers, cell, options.get("projection", 0),
                          options["components"] if options.get("softmax") == "mixture" else 0)
    model.load_state_dict(state, strict=True)
    for layer in range(layers):  # of a GRU the bias inside the reset counts
        second = state[f"{cell}.bias_hh_l{layer}"]
        assert not second[: 2 * hidden if cell == "gru" else None].any(), "the second bias is not zero"
    if recipe["model"]["tied"]:
        assert torch.equal(state["decoder.weight"], state["embedding.weight"]), "the tied weights differ"

    corpus, level = recipe["data"]["corpus"], recipe["data"]["level"]
    if corpus == "grammar":
        sys.exit("the text of this model is not in files")
    ids = read_ids(args.data / f"{'ptb.' if corpus == 'ptb' else ''}{args.split}.txt", vocabulary, level)
    if recipe["data"]["limit"]:
        ids = ids[: recipe["data"]["limit"]]
    ours = perplexity(model.double() if args.double else model, ids, vocabulary.index("<eos>"))
    print(f"PyTorch {torch.__version__}: perplexity {ours:.6f}, {len(ids)} tokens, {layers} layers")
    if not args.ptb:
        return
    command = [args.ptb, "evaluate", args.checkpoint, "--data", args.data, "--split", args.split, "--batch", "1", "--json"]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    theirs = json.loads(line)
    print(f"ptb evaluate:   perplexity {theirs[args.split + '_perplexity']:.6f}, {theirs['tokens']} tokens")
    agree = abs(theirs[args.split + "_perplexity"] / ours - 1) < 5e-5 and theirs["tokens"] == len(ids)
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
