"""Writes segment_rnn.json: a small SegRNN (Lin, Lin, Wu, Zhao, Mo and Zhang 2023), spelled out with torch's modules, over two
series: its first weights under our names, the forecast of the rows after the last one, and the weights after one step of gradient
descent on all windows of the first 42 rows. In double; the weights are those of float32."""

import json

import torch
from torch import nn

WINDOW, HORIZON, SEGMENT, HIDDEN, CHANNELS, ROWS, TRAIN, RATE = 12, 6, 3, 8, 2, 60, 42, 0.5
torch.manual_seed(7)
torch.set_default_dtype(torch.float64)


class SegmentRnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.segment = nn.Linear(SEGMENT, HIDDEN)
        self.gru = nn.GRU(HIDDEN, HIDDEN)
        self.position = nn.Embedding(HORIZON // SEGMENT, HIDDEN // 2)
        self.channel = nn.Embedding(CHANNELS, HIDDEN // 2)
        self.head = nn.Linear(HIDDEN, SEGMENT)

    def forward(self, x):  # [batch, window, channels]
        batch, segments = x.shape[0], HORIZON // SEGMENT
        last = x[:, -1:]
        each = (x - last).permute(0, 2, 1).reshape(batch * CHANNELS, WINDOW // SEGMENT, SEGMENT)
        _, h = self.gru(torch.relu(self.segment(each)).transpose(0, 1))
        which = torch.cat([self.position.weight[None].expand(CHANNELS, -1, -1),
                           self.channel.weight[:, None].expand(-1, segments, -1)], 2)
        read = which.reshape(1, CHANNELS * segments, HIDDEN).expand(batch, -1, -1).reshape(1, -1, HIDDEN)
        _, y = self.gru(read, h.repeat_interleave(segments, 1))
        return self.head(y[0]).reshape(batch, CHANNELS, HORIZON).permute(0, 2, 1) + last


def flat(model):
    return {name: {"shape": list(value.shape), "data": value.detach().flatten().tolist()}
            for name, value in model.state_dict().items()}


t = torch.arange(ROWS)
series = torch.stack([torch.sin(t * 0.7) + 0.1 * torch.randn(ROWS), torch.cos(t * 0.4) + 0.1 * torch.randn(ROWS)], 1)
series = (series * 1e4).round() / 1e4  # as the file has them
model = SegmentRnn()
with torch.no_grad():
    model.gru.bias_hh_l0[: 2 * HIDDEN] = 0  # one bias for each gate
    for value in model.parameters():
        value.copy_(value.float().double())
result = {"series": series.tolist(), "initial": flat(model), "forecast": model(series[None, -WINDOW:])[0].tolist()}
origins = range(WINDOW, TRAIN - HORIZON + 1)
x = torch.stack([series[o - WINDOW : o] for o in origins])
y = torch.stack([series[o : o + HORIZON] for o in origins])
loss = ((model(x) - y) ** 2).mean()
loss.backward()
with torch.no_grad():
    model.gru.bias_hh_l0.grad[: 2 * HIDDEN] = 0
    for value in model.parameters():
        value -= RATE * value.grad
result |= {"loss": loss.item(), "final": flat(model)}
with open("segment_rnn.json", "w") as file:
    json.dump(result, file)
