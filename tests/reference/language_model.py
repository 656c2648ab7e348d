"""A language model as PyTorch's users write it, and its perplexity under the protocol of docs/ptb.md."""

import math
import pathlib

import torch
from torch import nn
from torch.nn import functional as F


class LanguageModel(nn.Module):
    """Its recurrent module is called "lstm", "gru" or "rnn" (of relu); a projection is an LSTM's. With components the decoder
    is as wide as the embedding, and gives the scores of as many softmaxes: a mixture (Yang et al. 2018)."""

    def __init__(self, vocab: int, width: int, hidden: int, layers: int, cell: str = "lstm", projection: int = 0,
                 components: int = 0) -> None:
        super().__init__()
        self.cell = cell
        self.embedding = nn.Embedding(vocab, width)
        recurrent = {"gru": lambda: nn.GRU(width, hidden, layers), "rnn": lambda: nn.RNN(width, hidden, layers, nonlinearity="relu"),
                     "lstm": lambda: nn.LSTM(width, hidden, layers, proj_size=projection)}[cell]()
        setattr(self, cell, recurrent)
        output = projection or hidden
        self.mixture = nn.ModuleDict({"prior": nn.Linear(output, components, bias=False),
                                      "latent": nn.Linear(output, components * width)} if components else {})
        self.decoder = nn.Linear(width if components else output, vocab)

    def forward(self, tokens: torch.Tensor, state=None):
        y, state = getattr(self, self.cell)(self.embedding(tokens), state)
        if not self.mixture:
            return self.decoder(y), state
        shares = self.mixture["prior"](y).log_softmax(-1)
        vectors = self.mixture["latent"](y).tanh().unflatten(-1, (shares.shape[-1], -1))
        return torch.logsumexp(self.decoder(vectors).log_softmax(-1) + shares[..., None], -2), state


def read_ids(path: pathlib.Path, words: list[str], level: str = "word") -> torch.Tensor:
    """Every line ends with <eos>, words that are not known are <unk>."""
    ids = {word: i for i, word in enumerate(words)}
    text = path.read_text(encoding="utf-8")
    result = []
    for line in text.removesuffix("\n").split("\n"):
        for word in [*(line.split() if level == "word" else line), "<eos>"]:
            result.append(ids[word] if word in ids else ids["<unk>"])
    return torch.tensor(result)


@torch.no_grad()
def perplexity(model: nn.Module, ids: torch.Tensor, eos: int) -> float:
    """Every token scored once, the first after <eos>, the state carried through."""
    dtype = next(model.parameters()).dtype
    inputs = torch.cat([torch.tensor([eos]), ids[:-1]])
    state, nats = None, torch.zeros((), dtype=torch.float64)
    for x, target in zip(inputs.split(1000), ids.split(1000)):
        logits, state = model(x[:, None], state)
        assert logits.dtype == dtype
        nats += F.cross_entropy(logits[:, 0].double(), target, reduction="sum")
    return math.exp(nats.item() / len(ids))
