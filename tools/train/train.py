#!/usr/bin/env python3
"""Trains the bundled model on one GPU. Needs torch 2.5 or later, numpy and safetensors.

Usage: train.py DATA_DIR OUT_DIR [--tokens N] [--seconds S] [--dropout D] ...

Writes OUT_DIR/model.safetensors (float32, Hugging Face names) and OUT_DIR/log.jsonl. The number of steps follows from --tokens,
or from --seconds where that allows fewer: it is fixed after the first steps have shown the speed.
"""
import argparse
import json
import os
import sys
import time

import numpy as np
import torch
from safetensors.torch import save_file

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mixture  # noqa: E402
from config import CONFIG  # noqa: E402
from model import TinyLlama  # noqa: E402
from muon import Muon  # noqa: E402

TIMED_STEPS = (20, 60)
WARMUP_STEPS = 60
COOLDOWN = 0.5
FIRST_ORDINARY_ID = 9  # ids below are special tokens and tool tags


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--tokens", type=float, default=4.8e8)
    parser.add_argument("--seconds", type=float, default=450)
    parser.add_argument("--batch", type=int, default=128, help="rows of 1024 tokens a step")
    parser.add_argument("--matrix-rate", type=float, default=0.02)
    parser.add_argument("--other-rate", type=float, default=4e-3)
    parser.add_argument("--dropout", type=float, default=0.2, help="rate in rows of the corpus, which are seen many times")
    parser.add_argument("--noise", type=float, default=0.06, help="share of the corpus rows' input ids that are replaced at random")
    parser.add_argument("--generated-weight", type=float, default=2.5, help="of a generated token's loss against a corpus token's")
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def rate(step, steps):
    """Trapezoid: warm up, hold, then fall linearly to zero over the last half."""
    if step < WARMUP_STEPS:
        return (step + 1) / WARMUP_STEPS
    return min(1.0, (steps - step) / (COOLDOWN * steps))


def split_row(rows):
    """rows [n, 1025] on the GPU as int32 -> ids, targets int64 and counted f32 (0 or 1), each [n, 1024]."""
    ids = (rows & (mixture.LOSS_BIT - 1)).long()
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous(), (rows[:, 1:] >= mixture.LOSS_BIT).float()


def to_gpu(rows):
    """uint16 ids as int16 bits on the GPU, half the memory of int32."""
    return torch.from_numpy(rows.view(np.int16)).cuda()


def widen(rows):
    return rows.int() & 0xFFFF


@torch.no_grad()
def validate(model, sets):
    """{source: mean loss per counted token}."""
    model.eval()
    out = {}
    for name, rows in sets.items():
        total, count = 0.0, 0
        for part in rows.split(32):
            with torch.autocast("cuda", torch.bfloat16):
                loss, counted = model(*split_row(widen(part)))
            total, count = total + float(loss), count + int(counted)
        out[name] = total / max(1, count)
    model.train()
    return out


class Trainer:
    """Model, optimizers and data of one run. One thread."""

    def __init__(self, args):
        torch.manual_seed(args.seed)
        torch.set_float32_matmul_precision("high")
        self.args = args
        self.model = TinyLlama().cuda()
        matrices = [p for n, p in self.model.named_parameters() if p.dim() == 2 and "embed_tokens" not in n]
        others = [p for n, p in self.model.named_parameters() if p.dim() != 2 or "embed_tokens" in n]
        self.muon = Muon(matrices, weight_decay=args.weight_decay)
        self.adam = torch.optim.AdamW(others, lr=args.other_rate, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
        self.compiled = torch.compile(self.model)
        self.log = open(os.path.join(args.out, "log.jsonl"), "w")

    def warm_up(self):
        """Compiles everything on made-up rows and leaves no trace in the state."""
        rows = torch.randint(0, 4096, (self.args.batch, mixture.ROW), dtype=torch.int16, device="cuda")
        self.backward(rows | -mixture.LOSS_BIT)
        self.muon.warm_up()
        self.model.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    def backward(self, rows):
        rows = widen(rows)
        ids, targets, counted = split_row(rows)
        from_corpus = (rows[:, :1] >= mixture.LOSS_BIT).float()
        keep = (1 - self.args.dropout * from_corpus)[:, :, None]
        weight = from_corpus + self.args.generated_weight * (1 - from_corpus)
        noisy = torch.rand(ids.shape, device=ids.device) < self.args.noise * from_corpus
        ids = torch.where(noisy, torch.randint_like(ids, FIRST_ORDINARY_ID, CONFIG["vocab_size"]), ids)
        with torch.autocast("cuda", torch.bfloat16):
            loss, count = self.compiled(ids, targets, counted * weight, keep)
        mean = loss / count
        mean.backward()
        return mean.detach()

    def step(self, rows, factor):
        mean = self.backward(rows)
        self.muon.step(self.args.matrix_rate * factor)
        for group in self.adam.param_groups:
            group["lr"] = self.args.other_rate * factor
        self.adam.step()
        self.model.zero_grad(set_to_none=True)
        return mean

    def write(self, **entry):
        self.log.write(json.dumps(entry) + "\n")
        self.log.flush()
        print(json.dumps(entry), flush=True)


def steps_for(args, planned, per_step, spent):
    """Fewer steps than planned when the time would not do."""
    return min(planned, int((args.seconds - spent) / per_step))


def run(args):
    os.makedirs(args.out, exist_ok=True)
    started = time.time()
    planned = int(args.tokens / (args.batch * 1024))
    builder = mixture.RowBuilder(args.data, planned * args.batch, args.seed, max(1, (os.cpu_count() or 2) - 2))
    trainer = Trainer(args)  # after the builder has forked: CUDA does not survive a fork
    trainer.warm_up()
    print(f"compiled after {time.time() - started:.1f} s", flush=True)
    rows = to_gpu(builder.rows())
    print(f"rows built after {time.time() - started:.1f} s", flush=True)
    sets = {name: to_gpu(mixture.validation_rows(args.data, name)) for name in mixture.SHARES if name != "story_chats"}
    steps, step, losses, mark = planned, 0, [], started
    while step < steps:
        losses.append(trainer.step(rows[step * args.batch:(step + 1) * args.batch], rate(step, steps)))
        step += 1
        if step == TIMED_STEPS[0]:
            torch.cuda.synchronize()
            mark = time.time()
        if step == TIMED_STEPS[1]:
            torch.cuda.synchronize()
            per_step = (time.time() - mark) / (TIMED_STEPS[1] - TIMED_STEPS[0])
            steps = steps_for(args, planned, per_step, time.time() - started)
            print(f"{per_step * 1e3:.1f} ms a step, {args.batch * 1024 / per_step / 1e6:.2f} M tokens/s, {steps} steps", flush=True)
        if step % 50 == 0 or step == steps:
            trainer.write(step=step, tokens=step * args.batch * 1024, loss=round(float(torch.stack(losses).mean()), 4),
                          rate=round(rate(step, steps), 4), seconds=round(time.time() - started, 1))
            losses = []
        if step % 500 == 0 or step == steps:
            trainer.write(step=step, valid={k: round(v, 4) for k, v in validate(trainer.model, sets).items()})
    state = {name: p.detach().float().cpu().contiguous() for name, p in trainer.model.state_dict().items()}
    save_file(state, os.path.join(args.out, "model.safetensors"))
    print(f"done: {step} steps, {step * args.batch * 1024 / 1e6:.0f} M tokens, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    run(arguments())
