"""Writes tests/fixtures/*.safetensors with the safetensors package itself, as a PyTorch user's files are written.

Usage: python3 make_safetensors.py [DIR]     (needs torch and safetensors; written with torch 1.13, safetensors 0.8.0)

lstm.safetensors   a two-layer language model's state_dict with torch's names, float32; metadata as save_model() has it
types.safetensors  the same eight numbers as F64, F32, F16 and BF16, an I64 tensor, a single number, an empty tensor
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch import nn

NUMBERS = [0.0, -0.0, 1.0, -2.5, 0.0999755859375, 65504.0, 2.0**-24, -(2.0**-14)]  # exact in F16


def main() -> None:
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "fixtures"

    model = nn.ModuleDict({"embedding": nn.Embedding(3, 2), "lstm": nn.LSTM(2, 1, 2), "decoder": nn.Linear(1, 3)})
    state = model.state_dict()
    first = 0
    for tensor in state.values():  # 0, 1/8, 2/8, … throughout, in the order of the state_dict
        with torch.no_grad():
            tensor.copy_(torch.arange(first, first + tensor.numel()).reshape(tensor.shape) / 8)
        first += tensor.numel()
    save_file(state, folder / "lstm.safetensors", {"format": "pt", "note": 'größer "als"\n1'})

    values = torch.tensor(NUMBERS, dtype=torch.float64)
    save_file(
        {
            "f64": values,
            "f32": values.float().reshape(2, 4),
            "f16": values.half().reshape(2, 2, 2),
            "bf16": values.bfloat16(),
            "i64": torch.tensor([1, 2, 3]),
            "scalar": torch.tensor(0.75),
            "empty": torch.zeros(0, 4),
        },
        folder / "types.safetensors",
    )


if __name__ == "__main__":
    main()
