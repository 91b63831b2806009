"""What well-behaved clients ask, and what they got: fixed prompts and seeds, so that an answer can be compared bit by bit."""

import json

ROUTE = "/v1/chat/completions"
SYSTEM = ("You are a friendly narrator. You tell short stories for small children about animals, the weather and the sea. "
          "You use simple words, short sentences and a happy ending. ")
WHO = ["a dog", "a cat", "a little bird", "a big bear", "a girl named Lily", "a boy named Tom", "an old boat", "a red ball"]
WHERE = ["in the park", "by the sea", "under a tree", "in the rain", "at school", "on a hill", "in the snow"]


def chat_request(i):
    """The i-th request. All kinds that share rows in a batch: greedy and sampled, several choices, grammars, stop strings."""
    long = i % 8 == 7  # outgrows what is seen when it begins
    body = {
        "messages": [{"role": "system", "content": SYSTEM * (1 + 2 * (i % 4 == 1))},
                     {"role": "user", "content": f"Tell me about {WHO[i % len(WHO)]} {WHERE[i % len(WHERE)]}. Number {i}."}],
        "max_completion_tokens": 8 + (i * 13) % 41 + 160 * long,
        "temperature": 0 if i % 3 == 0 else 0.9,
        "seed": 1000 + i,
        "ignore_eos": i % 2 == 0 or long,
        "logprobs": True,
        "top_logprobs": i % 3,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "user": f"user-{i % 5}",
    }
    if i % 8 == 3:
        body["n"] = 3
    if i % 8 == 5:
        body["response_format"] = {"type": "json_object"}
        body["ignore_eos"] = False
    if i % 8 == 6:
        body["stop"] = [" the", "\n"]
    return body


class Answer:
    """A stream put together. Equal answers are equal in every token, byte of text and bit of a log-probability (which
    depends on all logits of its step)."""

    def __init__(self):
        self.choices = {}
        self.usage = None
        self.error = None
        self.events = 0
        self.ended = False

    def add(self, data):
        self.events += 1
        if data == b"[DONE]":
            self.ended = True
            return
        event = json.loads(data)
        if "error" in event:
            self.error = event["error"]
            return
        if event.get("usage"):
            self.usage = (event["usage"]["prompt_tokens"], event["usage"]["completion_tokens"])
        for choice in event["choices"]:
            self._add_choice(choice)

    def _add_choice(self, choice):
        mine = self.choices.setdefault(choice["index"], {"text": "", "ids": [], "logprobs": [], "reason": None})
        mine["text"] += choice["delta"].get("content") or ""
        mine["ids"] += choice.get("token_ids") or []
        mine["logprobs"] += (choice.get("logprobs") or {}).get("content") or []
        mine["reason"] = choice["finish_reason"] or mine["reason"]

    @property
    def whole(self):
        return self.ended and self.error is None and all(choice["reason"] for choice in self.choices.values())

    def differs_from(self, other):
        """The first difference, in words; None when there is none."""
        if not self.whole:
            return f"not whole after {self.events} events: {self.error}"
        if self.usage != other.usage:
            return f"usage {self.usage} instead of {other.usage}"
        if sorted(self.choices) != sorted(other.choices):
            return f"choices {sorted(self.choices)} instead of {sorted(other.choices)}"
        for index, choice in self.choices.items():
            for key, value in choice.items():
                if value != other.choices[index][key]:
                    return f"choice {index}: {key} {value!r} instead of {other.choices[index][key]!r}"
        return None


async def read_answer(connection, after_event=None):
    """The whole stream of a request that has been sent. `after_event` is awaited after each event."""
    status, headers = await connection.head()
    answer = Answer()
    if status != 200:
        answer.error = (status, await connection.body(headers))
        return answer
    async for data in connection.events(headers):
        answer.add(data)
        if after_event:
            await after_event()
    return answer
