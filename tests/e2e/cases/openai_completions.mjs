import assert from 'node:assert/strict';
import { eventsOf } from '../context.mjs';

export const api = 'OpenAI completions';

const greedy = (t, more = {}) => ({ model: t.model, prompt: 'Once upon a time', temperature: 0, max_tokens: 12, ...more });

export const cases = {
  'complete a text': async (t) => {
    const answer = await t.openai.completions.create(greedy(t));
    assert.equal(answer.object, 'text_completion');
    assert.match(answer.id, /^cmpl-/);
    assert.match(answer.choices[0].text, /^, /);
    assert.equal(answer.choices[0].finish_reason, 'length');
    assert.equal(answer.choices[0].logprobs, null);
    assert.equal(answer.usage.completion_tokens, 12);
  },
  'give 16 tokens when not told': async (t) =>
    assert.equal((await t.openai.completions.create(greedy(t, { max_tokens: undefined }))).usage.completion_tokens, 16),
  'stream what they would answer': async (t) => {
    const whole = (await t.openai.completions.create(greedy(t))).choices[0].text;
    let text = '';
    let reason;
    for await (const chunk of await t.openai.completions.create(greedy(t, { stream: true }))) {
      assert.equal(chunk.object, 'text_completion');
      text += chunk.choices[0].text;
      reason = chunk.choices[0].finish_reason ?? reason;
    }
    assert.equal(text, whole);
    assert.equal(reason, 'length');
  },
  'stream usage and [DONE]': async (t) => {
    const answer = await t.post('/v1/completions', greedy(t, { stream: true, stream_options: { include_usage: true } }));
    const events = eventsOf(answer.text);
    assert.equal(events.at(-1), '[DONE]');
    const last = JSON.parse(events.at(-2));
    assert.deepEqual(last.choices, []);
    assert.equal(last.usage.completion_tokens, 12);
  },
  'take several prompts': async (t) => {
    const prompts = ['Once upon a time', 'One day, a small boy'];
    const answer = await t.openai.completions.create(greedy(t, { prompt: prompts }));
    assert.deepEqual(answer.choices.map((choice) => choice.index), [0, 1]);
    const alone = await Promise.all(prompts.map((prompt) => t.openai.completions.create(greedy(t, { prompt }))));
    assert.deepEqual(answer.choices.map((choice) => choice.text), alone.map((one) => one.choices[0].text));
  },
  'stream several prompts': async (t) => {
    const prompt = ['Once upon a time', 'One day, a small boy'];
    const whole = await t.openai.completions.create(greedy(t, { prompt }));
    const texts = ['', ''];
    for await (const chunk of await t.openai.completions.create(greedy(t, { prompt, stream: true })))
      texts[chunk.choices[0].index] += chunk.choices[0].text;
    assert.deepEqual(texts, whole.choices.map((choice) => choice.text));
  },
  'take token ids': async (t) => {
    const text = await t.openai.completions.create(greedy(t, { return_token_ids: true }));
    const ids = text.choices[0].prompt_token_ids;
    assert.equal((await t.openai.completions.create(greedy(t, { prompt: ids }))).choices[0].text, text.choices[0].text);
    const both = await t.openai.completions.create(greedy(t, { prompt: [ids, ids] }));
    assert.deepEqual(both.choices.map((choice) => choice.text), [text.choices[0].text, text.choices[0].text]);
  },
  'echo the prompt': async (t) => {
    const answer = await t.openai.completions.create(greedy(t, { echo: true }));
    assert.match(answer.choices[0].text, /^Once upon a time, /);
  },
  'echo the prompt in a stream': async (t) => {
    let text = '';
    for await (const chunk of await t.openai.completions.create(greedy(t, { echo: true, stream: true }))) text += chunk.choices[0].text;
    assert.match(text, /^Once upon a time, /);
  },
  'give log-probabilities': async (t) => {
    const { text, logprobs } = (await t.openai.completions.create(greedy(t, { logprobs: 2 }))).choices[0];
    assert.equal(logprobs.tokens.join(''), text);
    assert.equal(logprobs.tokens.length, logprobs.token_logprobs.length);
    logprobs.tokens.forEach((token, i) => {
      assert.ok(Object.keys(logprobs.top_logprobs[i]).length >= 2);
      assert.equal(text.slice(logprobs.text_offset[i], logprobs.text_offset[i] + token.length), token);
    });
  },
  'score a text with echo and no new tokens': async (t) => {
    const { text, logprobs, finish_reason: reason } =
      (await t.openai.completions.create(greedy(t, { echo: true, logprobs: 1, max_tokens: 0 }))).choices[0];
    assert.equal(text, 'Once upon a time');
    assert.equal(reason, 'length');
    assert.deepEqual(logprobs.tokens, ['Once', ' upon', ' a', ' time']);
    assert.equal(logprobs.token_logprobs[0], null);
    assert.ok(logprobs.token_logprobs.slice(1).every((value) => value <= 0));
  },
  'stream log-probabilities': async (t) => {
    const whole = (await t.openai.completions.create(greedy(t, { logprobs: 1 }))).choices[0].logprobs.tokens;
    const tokens = [];
    for await (const chunk of await t.openai.completions.create(greedy(t, { logprobs: 1, stream: true })))
      tokens.push(...(chunk.choices[0].logprobs?.tokens ?? []));
    assert.deepEqual(tokens, whole);
  },
  'give n choices': async (t) => {
    const answer = await t.openai.completions.create(greedy(t, { temperature: 1, n: 3, seed: 1 }));
    assert.equal(new Set(answer.choices.map((choice) => choice.text)).size, 3);
  },
  'give the best of many': async (t) => {
    const answer = await t.openai.completions.create(greedy(t, { temperature: 1, n: 1, best_of: 4, seed: 1 }));
    assert.equal(answer.choices.length, 1);
    assert.equal(answer.choices[0].index, 0);
    assert.equal(answer.usage.completion_tokens, 48);
  },
  'stop before a stop string': async (t) => {
    const answer = await t.openai.completions.create(greedy(t, { stop: [' a '], max_tokens: 40 }));
    assert.equal(answer.choices[0].text.includes(' a '), false);
    assert.equal(answer.choices[0].finish_reason, 'stop');
  },
  'read special tokens in the prompt': async (t) => {
    const answer = await t.openai.completions.create(greedy(t, {
      prompt: '<|im_start|>user\nWhat is a volcano?<|im_end|>\n<|im_start|>assistant\n', max_tokens: 30 }));
    assert.equal(answer.choices[0].text, 'A volcano is a mountain that can throw out hot rock.');
    assert.equal(answer.choices[0].finish_reason, 'stop');
  },
  'need a prompt': (t) => t.refused('/v1/completions', { model: t.model }, 400, 'prompt'),
  'refuse an empty prompt': (t) => t.refused('/v1/completions', greedy(t, { prompt: '' }), 400, 'prompt'),
  'refuse an empty list of prompts': (t) => t.refused('/v1/completions', greedy(t, { prompt: [] }), 400, 'prompt'),
  'refuse token ids that are not in the vocabulary': (t) =>
    t.refused('/v1/completions', greedy(t, { prompt: [5, 4096] }), 400, 'prompt[1]'),
  'refuse a suffix': (t) => t.refused('/v1/completions', greedy(t, { suffix: 'end' }), 400, 'suffix', 'unsupported_parameter'),
  'refuse best_of in a stream': (t) => t.refused('/v1/completions', greedy(t, { best_of: 2, stream: true }), 400, 'best_of'),
};
