"""Scripts of requests with random token ids, and what is told by the times at which their tokens came."""

import dataclasses
import random
import statistics


@dataclasses.dataclass
class Request:
    """Of one client; its requests run one after another, none before its arrival (seconds)."""
    client: int
    prompt: list
    new_tokens: int
    arrival: float = 0

    def line(self):
        return f"{self.client} {self.arrival} {self.new_tokens} {','.join(map(str, self.prompt))}\n"


@dataclasses.dataclass
class Outcome:
    client: int
    start: float
    times: list

    @property
    def first_token(self):
        return self.times[0] - self.start

    def gaps(self, after=0.0, before=float("inf")):
        return [b - a for a, b in zip(self.times, self.times[1:]) if a >= after and b <= before]


def prompt(rng, tokens, vocabulary=30_000):
    return [rng.randrange(1000, vocabulary) for _ in range(tokens)]


def closed_loop(clients, rounds, prompt_tokens, new_tokens, seed=1, vocabulary=30_000):
    """Each client asks `rounds` times; all begin at once."""
    rng = random.Random(seed)
    return [Request(client, prompt(rng, prompt_tokens, vocabulary), new_tokens) for _ in range(rounds) for client in range(clients)]


def percentile(values, part):
    """The value that `part` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(part * len(ordered) + 0.5) - 1))]


def summary(outcomes):
    """Tokens/s over the whole, and while all clients generate; times to first token and gaps in seconds."""
    tokens = sum(len(outcome.times) for outcome in outcomes)
    wall = max(outcome.times[-1] for outcome in outcomes) - min(outcome.start for outcome in outcomes)
    first = [outcome.first_token for outcome in outcomes]
    gaps = [gap for outcome in outcomes for gap in outcome.gaps()]
    return {"tokens": tokens, "wall": wall, "tokens_per_second": tokens / wall, "first_token_p50": statistics.median(first),
            "first_token_p99": percentile(first, 0.99), "gap_p50": statistics.median(gaps) if gaps else None,
            "gap_p99": percentile(gaps, 0.99) if gaps else None}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])
