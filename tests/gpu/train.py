#!/usr/bin/env python3
"""A small DistributedDataParallel training, as anybody writes one: it knows nothing of fanin. Started by torchrun.

Rank 0 writes the loss of every step and, last, a checksum of the parameters, as exact hexadecimal floats, into the file
named by its only argument.
"""
import os
import sys

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH, WIDTH, LAYERS = 30, 64, 1024, 4


def main():
    gpu = torch.cuda.is_available()
    torch.distributed.init_process_group("nccl" if gpu else "gloo")
    rank = torch.distributed.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    # The same arithmetic in every run, so that only the all-reduce could differ.
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(1)
    layers = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(WIDTH, 1)).to(device), bucket_cap_mb=4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = torch.Generator().manual_seed(100 + rank)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(BATCH, WIDTH, generator=data).to(device)
        y = x.square().mean(dim=1, keepdim=True)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().double()
        torch.distributed.all_reduce(mean)
        losses.append(mean.item() / torch.distributed.get_world_size())
    checksum = sum(p.detach().double().sum().item() for p in model.parameters())
    if rank == 0:
        with open(sys.argv[1], "w") as f:
            f.write("".join(value.hex() + "\n" for value in losses + [checksum]))
    torch.distributed.destroy_process_group()


main()
