"""Clients that go, write nonsense, or take their time. Each function is one act of one such client; it gets the world
(port, counts, faults) and its own random numbers. That the server closes on them is as it should be; an answer that is
not HTTP, a 500, or an error without an error object is a fault."""

import asyncio
import copy
import json

import traffic
import wire

GONE = (ConnectionError, asyncio.IncompleteReadError, TimeoutError, asyncio.TimeoutError)
LONG_PROMPT = "Once upon a time there was a dog who liked to run in the park with his friend. " * 28
LISTEN_SECONDS = 4  # to a server that may be waiting for more of a request that has no more


def chat(rng, **fields):
    body = traffic.chat_request(rng.randrange(10_000))
    body.update(max_completion_tokens=rng.choice([1, 40, 300]), ignore_eos=True, **fields)
    if rng.random() < 0.4:
        body["messages"][1]["content"] = f"{rng.randrange(9)} " + LONG_PROMPT[:rng.randrange(100, len(LONG_PROMPT))]
    return body


async def vanish(world, rng):
    """Goes while it sends, waits, is being prefilled, or is being answered; by FIN, RST or half a FIN."""
    connection = await wire.Connection.open(world.port)
    how = rng.choice([connection.finish, connection.reset, connection.half_close])
    when = rng.choice(["sending", "queued", "prefill", "decode", "decode"])
    try:
        request = wire.post(traffic.ROUTE, chat(rng, stream=rng.random() < 0.8))
        if when == "sending":
            request = request[:rng.randrange(len(request))]
        await connection.send(request)
        if when == "prefill":
            await asyncio.sleep(rng.random() * 0.05)
        elif when == "decode":
            status, headers = await connection.head()
            count = rng.randrange(30)
            async for _ in connection.pieces(headers):
                count -= 1
                if count < 0:
                    break
        how()
        world.counts[f"gone: {when}, {how.__name__}"] += 1
        if how == connection.half_close:
            await asyncio.sleep(rng.random() * 0.1)
    finally:
        await connection.closed()


FRAGMENTS = [b"\r\n", b"\r\n\r\n", b"\0", b"\n", b": ", b"Content-Length: 5\r\n", b"Content-Length: 99999999999999999999999\r\n",
             b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"Expect: 100-continue\r\n", b"Host: b\r\n",
             b"Connection: close\r\n", b"HTTP/1.0", b"HTTP/2.0", b"%00", b"%2F..%2F", b"\xff\xfe", b"{\"a\":" * 40, b"[" * 3000, b"\\ud800"]


def mutate(data, rng):
    data = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:at + rng.randrange(1, 20)]
        elif kind == 2:
            data[at:at] = data[at:at + rng.randrange(1, 40)]
        elif kind == 3:
            data[at:at] = rng.choice(FRAGMENTS)
        elif kind == 4:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


VALUES = [None, True, -1, 0, 3, 1e308, -1e-320, 2**31, 2**63, 2**64, 10**30, 0.5, "", "x", "\0", "\ud800", "a" * 70_000, [], {}, [[]],
          [1, 2], {"type": "function"}, {"type": "json_schema", "json_schema": {"schema": {"type": "object", "$ref": "#"}}},
          [{"role": "user", "content": "x"}]]
KEYS = ["n", "stop", "logit_bias", "tools", "response_format", "top_logprobs", "grammar", "stream_options", "best_of", "unknown", "model",
        "chat_template_kwargs", "tool_choice", "min_p", "cache_salt"]


def mutate_json(body, rng):
    """Other values in any place, keys that are gone or new."""
    for _ in range(rng.randrange(1, 4)):
        place = body
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.7:
                place = place[key]
                continue
            if rng.random() < 0.2:
                del place[key]
            else:
                place[key] = copy.deepcopy(rng.choice(VALUES))
            break
        if rng.random() < 0.4:
            body[rng.choice(KEYS)] = copy.deepcopy(rng.choice(VALUES))
    return json.dumps(body).encode()


def any_protocol(rng):
    """(route, body) of a request as it should be."""
    text, tokens = f"Tell me about number {rng.randrange(999)}.", rng.randrange(1, 40)
    messages = [{"role": "user", "content": text}]
    return rng.choice([
        (traffic.ROUTE, chat(rng)),
        ("/v1/completions", {"prompt": text, "max_tokens": tokens, "logprobs": 2, "echo": True, "stop": ["."]}),
        ("/v1/messages", {"model": "kvern-tiny-8m-q8_0", "max_tokens": tokens, "messages": messages, "system": text, "stream": True}),
        ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}], "max_output_tokens": 16 + tokens}),
        ("/tokenize", {"content": text, "with_pieces": True}),
        ("/apply-template", {"messages": messages}),
    ])


def malformed_request(rng):
    """(what it is, its bytes)."""
    kind = rng.choice(["random bytes", "mutated HTTP", "mutated HTTP", "mutated JSON", "mutated JSON", "mutated JSON text",
                       "long head", "long body", "long chunks"])
    if kind == "random bytes":
        return kind, rng.randbytes(rng.randrange(1, 3000))
    if kind == "mutated HTTP":
        return kind, mutate(wire.post(*any_protocol(rng)), rng)
    if kind == "mutated JSON":
        route, body = any_protocol(rng)
        return kind, wire.post(route, mutate_json(body, rng))
    if kind == "mutated JSON text":
        route, body = any_protocol(rng)
        return kind, wire.post(route, mutate(json.dumps(body).encode(), rng))
    if kind == "long head":
        return kind, b"GET /health HTTP/1.1\r\nHost: a\r\n" + b"X-Filler: " + b"f" * rng.randrange(30_000, 300_000) + b"\r\n\r\n"
    if kind == "long body":
        size = rng.choice([200_000, 10**9, 10**18])
        return kind, f"POST {traffic.ROUTE} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode() + b" " * 200_000
    chunk = b"ffff\r\n" + b" " * 0xffff + b"\r\n"
    return kind, f"POST {traffic.ROUTE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + chunk * 4 + b"0\r\n\r\n"


async def write_nonsense(world, rng):
    kind, request = malformed_request(rng)
    connection = await wire.Connection.open(world.port)
    try:
        world.counts[f"malformed: {kind}"] += 1
        async with asyncio.timeout(LISTEN_SECONDS):
            await send_or_be_refused(connection, request)
            status, headers = await connection.head()
            if status == 500:
                world.fault(f"{kind}: 500 for {request[:2000]!r}")
            world.counts[f"malformed: answered {status // 100}xx"] += 1
            if status >= 400:
                error = json.loads(await connection.body(headers))["error"]
                if not isinstance(error["message"], str) or not error["message"]:
                    world.fault(f"{kind}: an error without a message: {error}")
            elif rng.random() < 0.5:  # else it goes at once
                await connection.body(headers)
    except (wire.NotHttp, json.JSONDecodeError, KeyError, TypeError) as error:
        world.fault(f"{kind}: answered by {error!r} to {request[:2000]!r}")
    finally:
        if rng.random() < 0.5:
            connection.reset()
        await connection.closed()


async def send_or_be_refused(connection, request):
    """A server that has answered need not read the rest: then the answer counts, not the send."""
    try:
        await connection.send(request)
    except ConnectionError:
        pass


async def drip(world, rng):
    """Slowloris: a head or a body that comes byte by byte, until it is cut."""
    connection = await wire.Connection.open(world.port)
    body = rng.random() < 0.5
    try:
        world.counts["slowloris: " + ("body" if body else "head")] += 1
        rest = b"Content-Length: 4000\r\n\r\n" if body else b"X-A: "
        await connection.send(f"POST {traffic.ROUTE} HTTP/1.1\r\nHost: a\r\n".encode() + rest)
        answer = asyncio.ensure_future(connection.head())
        while not answer.done() and not world.over:
            await connection.send(b"a")
            await asyncio.wait([answer], timeout=0.1)
        if answer.done():
            world.counts[f"slowloris: cut with {(await answer)[0]}"] += 1
        else:
            answer.cancel()
            await asyncio.wait([answer])
    finally:
        await connection.closed()


async def read_slowly(world, rng):
    """Takes its answer in small bites, and gets all of it."""
    number = rng.randrange(len(world.expected))
    connection = await wire.Connection.open(world.port, buffer=4096)

    async def rest():
        await asyncio.sleep(0.01)
    try:
        await connection.send(wire.post(traffic.ROUTE, traffic.chat_request(number)))
        world.compare(number, await traffic.read_answer(connection, rest), "slow reader")
    finally:
        await connection.closed()


async def take_nothing(world, rng):
    """Asks for much and reads none of it, until it is cut or has enough."""
    connection = await wire.Connection.open(world.port, buffer=4096)
    try:
        world.counts["takes nothing"] += 1
        await connection.send(wire.post(traffic.ROUTE, chat(rng, n=4, top_logprobs=20, logprobs=True, stream=True)))
        for _ in range(rng.randrange(10, 60)):
            if world.over:
                break
            await asyncio.sleep(0.1)
    finally:
        connection.reset()
        await connection.closed()


ACTS = {vanish: 12, write_nonsense: 6, drip: 8, read_slowly: 4, take_nothing: 4}
