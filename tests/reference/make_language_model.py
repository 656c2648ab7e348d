"""Trains a small language model in PyTorch for `ptb import`, and records its perplexity.

make_language_model.py FOLDER OUT
    [--train FILE] [--test FILE] [--width N] [--hidden N] [--layers N] [--cell gru|rnn] [--projection N] [--components N]
    [--seconds N]

Writes OUT/torch.safetensors, its state_dict under the names of PyTorch's own example of a word language model (encoder,
rnn, decoder); OUT/vocabulary.txt, its words in the order of their ids; OUT/perplexity.json, of FOLDER/test. Without
options, from the root of the repository: python3 tests/reference/make_language_model.py
tests/fixtures/language_model tests/fixtures/language_model makes the fixture (written with torch 2.15.0, the mixture with 1.13.0), with --cell gru,
--cell rnn, --projection 5 and --components 3 that in its folders gru, rnn, projected and mixture.
"""

import argparse
import json
import pathlib
import time

import torch
from language_model import LanguageModel, perplexity, read_ids
from safetensors.torch import save_file
from torch.nn import functional as F

MODULES = {"embedding": "encoder", "lstm": "rnn", "gru": "rnn", "rnn": "rnn", "decoder": "decoder", "mixture": "mixture"}


def train(model: LanguageModel, ids: torch.Tensor, seconds: float, batch: int = 4, steps: int = 8) -> None:
    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    streams = ids[: len(ids) // batch * batch].reshape(batch, -1).t()
    end, at, state = time.time() + seconds, 0, None
    count = 0
    while time.time() < end if seconds else count < 200:
        if at + 1 >= len(streams):
            at, state = 0, None
        x, y = streams[at : at + steps], streams[at + 1 : at + 1 + steps]
        logits, state = model(x[: len(y)], state)
        state = state.detach() if model.cell in ("gru", "rnn") else tuple(s.detach() for s in state)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        at, count = at + steps, count + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--train", default="train.txt")
    parser.add_argument("--test", default="test.txt")
    parser.add_argument("--width", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=8)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--cell", choices=["lstm", "gru", "rnn"], default="lstm")
    parser.add_argument("--projection", type=int, default=0)
    parser.add_argument("--components", type=int, default=0, help="of a mixture of softmaxes")
    parser.add_argument("--seconds", type=float, default=0, help="of training; 0: 200 steps")
    args = parser.parse_args()
    torch.manual_seed(1)

    words: dict[str, None] = {}  # in the order of their first appearance
    for line in (args.folder / args.train).read_text().splitlines():
        words.update(dict.fromkeys([*line.split(), "<eos>"]))
    words.setdefault("<unk>")
    vocabulary = list(words)
    model = LanguageModel(len(vocabulary), args.width, args.hidden, args.layers, args.cell, args.projection,
                          args.components)
    train(model, read_ids(args.folder / args.train, vocabulary), args.seconds)

    args.out.mkdir(parents=True, exist_ok=True)
    state = {}
    for name, tensor in model.state_dict().items():
        module, rest = name.split(".", 1)
        state[f"{MODULES[module]}.{rest}"] = tensor
    save_file(state, args.out / "torch.safetensors")
    (args.out / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n")
    ids = read_ids(args.folder / args.test, vocabulary)
    eos = vocabulary.index("<eos>")
    result = {"torch": torch.__version__, "tokens": len(ids), "float32": perplexity(model, ids, eos),
              "float64": perplexity(model.double(), ids, eos)}
    (args.out / "perplexity.json").write_text(json.dumps(result) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
