#!/usr/bin/env python3
"""The server under load and attack.

    load_test.py KVERN MODEL --seconds 120            the whole of it
    load_test.py KVERN MODEL --seconds 3 --requests 16

Fixed requests are answered one by one on a quiet server. Then, all at once and for so many seconds: streaming clients ask
the same, connections idle, clients vanish in every phase of a request, others send nonsense, drip their bytes or read
nothing. Afterwards: no crash; no row, page, connection, descriptor or thread left; resident memory as after a warm-up of the
same kind (within --memory-percent); every stream of a client that did nothing wrong equal to the quiet one, bit by bit. Times are never judged.
"""

import argparse
import asyncio
import collections
import random
import resource
import sys
import time

import hostile
import traffic
import wire
from server_under_test import Failed, Server

MAX_FAULTS = 20
OWN_DESCRIPTORS = 256
REST_SAMPLES = 50
MOST_WARM_UPS = 12
SETTLED = 4  # a round of warming up adds no more than this part of what is allowed


class World:
    """What all clients share."""

    def __init__(self, server, options):
        self.server, self.options = server, options
        self.port = server.port
        self.expected = []
        self.counts = collections.Counter()
        self.faults = []
        self.deadline = 0

    @property
    def over(self):
        return time.monotonic() >= self.deadline or not self.server.alive or len(self.faults) >= MAX_FAULTS

    def fault(self, text):
        self.faults.append(text)

    def compare(self, number, answer, who):
        self.counts[f"compared: {who}"] += 1
        if difference := answer.differs_from(self.expected[number]):
            self.fault(f"request {number} of a {who} differs from the quiet run: {difference[:600]}")


async def answer_alone(port, number):
    connection = await wire.Connection.open(port)
    try:
        await connection.send(wire.post(traffic.ROUTE, traffic.chat_request(number)))
        answer = await traffic.read_answer(connection)
    finally:
        await connection.closed()
    if not answer.whole:
        raise Failed(f"request {number}: {answer.error}")
    return answer


async def stream_client(world, index):
    """One request after another, some on the same connection; at least one."""
    connection, number, turn = None, index, 0
    while turn == 0 or not world.over:
        try:
            number = (index + 7 * turn) % len(world.expected)
            connection = connection or await wire.Connection.open(world.port)
            await connection.send(wire.post(traffic.ROUTE, traffic.chat_request(number)))
            world.compare(number, await traffic.read_answer(connection), "client")
        except (OSError, EOFError, wire.NotHttp) as error:
            world.fault(f"request {number} of a client: {error!r}")
        turn += 1
        if turn % 3 == 0 and connection:
            await connection.closed()
            connection = None
    if connection:
        await connection.closed()


async def hostile_client(world, act, seed):
    rng = random.Random(f"{world.options.seed} {act.__name__} {seed}")
    while not world.over:
        try:
            await act(world, rng)
        except hostile.GONE:
            world.counts[f"closed on: {act.__name__}"] += 1
            if act is hostile.read_slowly:
                world.fault("a slow reader was cut")


def key_value_bytes(metrics):
    """Of the budget: in use, and free in blocks that something is in use of."""
    return metrics['kvern_kv_bytes{kind="live"}'] + metrics['kvern_kv_bytes{kind="slack"}']


async def observe(world):
    """Dashboards and balancers ask all the time. Limits hold at every moment."""
    while not world.over:
        status, _ = await wire.fetch(world.port, wire.get("/health"))
        metrics = await world.server.metrics()
        await world.server.busy_slots()
        if status != 200 or metrics["kvern_healthy"] != 1:
            world.fault(f"health {status}, healthy {metrics['kvern_healthy']}")
        if key_value_bytes(metrics) > metrics["kvern_kv_budget_bytes"]:
            world.fault(f"{key_value_bytes(metrics):.0f} bytes of keys and values are more than the budget")
        outside = metrics['kvern_kv_bytes{kind="outside"}']
        world.counts["most bytes outside"] = max(world.counts["most bytes outside"], int(outside))
        if outside > metrics["kvern_kv_outside_limit_bytes"]:
            world.fault(f"{outside:.0f} bytes stand outside, more than may")
        world.counts["most rows at once"] = max(world.counts["most rows at once"], int(metrics["vllm:num_requests_running"]))
        world.counts["most connections"] = max(world.counts["most connections"], int(metrics["kvern_http_connections"]))
        await asyncio.sleep(0.25)


async def open_idle(world):
    connections = []
    for _ in range(0, world.options.idle, 50):
        connections += await asyncio.gather(*(wire.Connection.open(world.port) for _ in range(50)))
    return connections


async def use_and_close(world, connections):
    """Those that idled are still served."""
    async def use(connection):
        try:
            await connection.send(wire.get("/health"))
            status, headers = await connection.head()
            await connection.body(headers)
            world.counts["idle connections served"] += status == 200
        except (OSError, EOFError) as error:
            world.fault(f"an idle connection was lost: {error!r}")
        await connection.closed()
    for at in range(0, len(connections), 50):
        await asyncio.gather(*(use(connection) for connection in connections[at:at + 50]))


async def everything(world, seconds, round_):
    world.deadline = time.monotonic() + seconds
    idle = await open_idle(world)
    world.deadline = time.monotonic() + seconds
    clients = [stream_client(world, index) for index in range(world.options.clients)]
    clients += [hostile_client(world, act, f"{round_} {i}") for act, count in hostile.ACTS.items() for i in range(count)]
    tasks = [asyncio.ensure_future(client) for client in [*clients, observe(world)]]
    done, _ = await asyncio.wait(tasks)
    for task in done:
        if task.exception():
            world.fault(f"{task.get_coro().__qualname__}: {task.exception()!r}")
    if not world.server.alive:
        raise Failed(f"the server has died with {world.server.process.returncode}")
    await use_and_close(world, idle)


class Rest:
    """What a server at rest holds."""

    def __init__(self, server, metrics, slots):
        self.descriptors, self.threads, self.resident = server.descriptors(), server.threads(), server.resident_kib()
        self.live = metrics['kvern_kv_bytes{kind="live"}']
        self.key_values = key_value_bytes(metrics)
        self.entries = metrics["kvern_prefix_entries"]
        self.slots = slots

    @classmethod
    async def of(cls, server, options):
        slots = await server.busy_slots()
        rest = cls(server, await server.quiet(), slots)
        # The least of the next seconds: the server may not yet have closed the connections of these questions, and gives
        # memory back once a second.
        for _ in range(REST_SAMPLES if options.memory_percent else 4):
            await asyncio.sleep(0.05)
            rest.descriptors = min(rest.descriptors, server.descriptors())
            rest.resident = min(rest.resident, server.resident_kib())
        return rest

    @property
    def own(self):
        """KiB resident; the blocks of kept prefixes, which are there on purpose and have a bound of their own, are left out."""
        return self.resident - self.key_values / 1024

    def __str__(self):
        return (f"{self.descriptors} descriptors, {self.threads} threads, {self.resident} KiB resident, {self.own:.0f} KiB of them "
                f"beside {self.key_values:.0f} bytes of keys and values, {self.live:.0f} of them in {self.entries:.0f} kept prefixes, "
                f"{'-' if self.slots is None else self.slots} busy slots")


def check_rest(world, before, after):
    options = world.options
    if after.descriptors != before.descriptors:
        world.fault(f"descriptors leaked: {before.descriptors} before, {after.descriptors} after")
    if after.threads != before.threads:
        world.fault(f"threads leaked: {before.threads} before, {after.threads} after")
    if after.slots:
        world.fault(f"{after.slots} busy slots without a request")
    if after.live > options.prefix_cache_mib << 20 or (after.entries == 0 and after.live != 0):
        world.fault(f"pages leaked: {after.live:.0f} bytes live in {after.entries:.0f} kept prefixes of at most "
                    f"{options.prefix_cache_mib} MiB")
    limit = before.own * (1 + options.memory_percent / 100)
    if options.memory_percent and after.own > limit:
        world.fault(f"memory leaked: {before.own:.0f} KiB resident beside kept prefixes before, {after.own:.0f} KiB after, more than "
                    f"{options.memory_percent} % more")


async def warm_up(world):
    """The same as the load, until resident memory has settled: stacks, buffers and the masks of grammars are made once, and an
    allocator's heap grows for a while with what a new mixture of requests leaves between its pieces. One that never settles is
    a leak."""
    options, before = world.options, None
    for round_ in range(MOST_WARM_UPS):
        last = before
        await everything(world, options.warm_up, f"warm-up {round_}")
        before = await Rest.of(world.server, options)
        print(f"before: {before}", flush=True)
        if not options.memory_percent or (last and before.own <= last.own * (1 + options.memory_percent / SETTLED / 100)):
            return before
    raise Failed(f"resident memory does not settle in {MOST_WARM_UPS} rounds")


async def run(server, options):
    await server.ready()
    world = World(server, options)
    world.expected = [await answer_alone(server.port, number) for number in range(options.requests)]
    before = await warm_up(world)
    await everything(world, options.seconds, "load")
    after = await Rest.of(server, options)
    print(f"after:  {after}", flush=True)
    check_rest(world, before, after)
    metrics = await server.metrics()
    for name in ("vllm:num_preemptions_total", "vllm:prefix_cache_hits_total", "vllm:generation_tokens_total", "kvern_steps_total",
                 'kvern_requests_total{end="whole"}', 'kvern_requests_total{end="cancelled"}', 'kvern_requests_total{end="failed"}'):
        print(f"  {name} {metrics[name]:.0f}")
    for what, count in sorted(world.counts.items()):
        print(f"  {what}: {count}")
    return world.faults


async def test(options):
    flags = ["-t", options.threads, "--open-metrics", "--max-rows", 48, "--kv-budget", f"{options.kv_budget_mib}MiB", "--kv-outside",
             f"{options.kv_outside_mib}MiB", "--prefix-cache", f"{options.prefix_cache_mib}MiB", "--max-choices", 8, "--max-body", "128KiB", "--max-queued-output", "256KiB", "--header-timeout",
             "3s", "--body-timeout", "3s", "--write-timeout", "3s", "--idle-timeout", "1h", "--drain-timeout", "5s", "--log-format", "json"]
    server = Server(options.binary, options.model, flags)
    faults = []
    try:
        faults = await run(server, options)
        if (code := await server.stop()) != 0:
            faults.append(f"exit code {code} after SIGTERM")
    except (Failed, OSError, EOFError) as failed:
        faults.append(repr(failed))
    finally:
        if faults:
            print("the end of the server's log:\n" + server.log()[-4000:])
        server.kill()
    return faults


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--warm-up", type=float, default=20, help="seconds of each round of the same before anything is counted")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=64, help="different ones")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--kv-budget-mib", type=int, default=6, help="small enough that rows are moved out")
    parser.add_argument("--kv-outside-mib", type=int, default=4, help="large enough that they may be")
    parser.add_argument("--prefix-cache-mib", type=int, default=3, help="0: no page may be left at all")
    parser.add_argument("--memory-percent", type=float, default=2, help="that resident memory may grow; 0: is not looked at")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    options = parse_arguments()
    wanted = options.idle + options.clients + sum(hostile.ACTS.values()) + OWN_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        sys.exit(f"this machine allows {hard} descriptors, and {wanted} are needed")
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    faults = asyncio.run(test(options))
    for fault in faults[:MAX_FAULTS]:
        print(f"FAULT {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
