import assert from 'node:assert/strict';
import { user, weatherTool } from '../context.mjs';

export const api = 'llama-server';

const kEmoji = 'Hi \u{1F600} café';
const tokens = async (t, body) => {
  const answer = await t.post('/tokenize', body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.tokens;
};

export const cases = {
  'GET /health': async (t) => {
    const answer = await t.request('GET', '/health');
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json, { status: 'ok' });
  },
  'GET /props': async (t) => {
    const { json } = await t.request('GET', '/props');
    assert.equal(json.default_generation_settings.n_ctx, 1024);
    assert.equal(json.default_generation_settings.params.temperature, 1);
    assert.ok(json.total_slots > 0);
    assert.match(json.model_path, /\.gguf$/);
    assert.match(json.chat_template, /im_start/);
    assert.equal(json.chat_template_caps.supports_tools, true);
    assert.equal(json.modalities.vision, false);
    assert.equal(json.is_sleeping, false);
    assert.equal(typeof json.build_info, 'string');
  },
  'GET /slots of an idle server is empty': async (t) => assert.deepEqual((await t.request('GET', '/slots')).json, []),
  'GET /slots shows running rows without their text': async (t) => {
    const abort = new AbortController();
    // Long enough to be seen, however busy the machine is.
    const stream = await t.openai.chat.completions.create(
      { model: t.model, messages: user('Tell me a secret story.'), stream: true, n: 64, ignore_eos: true, max_tokens: 900 },
      { signal: abort.signal });
    let seen = false;
    for await (const chunk of stream) {
      if (!chunk.choices[0]?.delta?.content) continue;
      const { json, text } = await t.request('GET', '/slots');
      if (json.length < 64) continue; // as of up to 20 ms ago: before the request, or while its prompt was computed
      assert.equal(json.length, 64);
      assert.equal(new Set(json.map((row) => row.id_task)).size, 1);
      assert.equal(new Set(json.map((row) => row.choice)).size, 64);
      assert.ok(json.some((row) => row.state === 'decode' && row.is_processing && row.next_token.n_decoded > 0));
      assert.ok(json.every((row) => row.n_prompt_tokens > 0));
      assert.ok(!text.includes('secret'));
      seen = true;
      break;
    }
    abort.abort();
    assert.ok(seen);
  },
  'GET /slots?fail_on_no_slot=1 when nothing waits': async (t) =>
    assert.equal((await t.request('GET', '/slots?fail_on_no_slot=1')).status, 200),
  'POST /tokenize': async (t) => {
    const ids = await tokens(t, { content: 'Hello there.' });
    assert.ok(ids.length > 1 && ids.every(Number.isInteger));
  },
  'POST /tokenize of nothing': async (t) => assert.deepEqual(await tokens(t, { content: '' }), []),
  'POST /tokenize with pieces': async (t) => {
    const bytes = [];
    for (const { id, piece } of await tokens(t, { content: kEmoji, with_pieces: true })) {
      assert.ok(Number.isInteger(id));
      bytes.push(...(typeof piece === 'string' ? Buffer.from(piece) : piece));
    }
    assert.equal(Buffer.from(bytes).toString(), kEmoji);
  },
  'POST /tokenize with special tokens': async (t) => {
    assert.equal((await tokens(t, { content: '<|im_end|>' })).length, 1);
    assert.ok((await tokens(t, { content: '<|im_end|>', parse_special: false })).length > 1);
  },
  'POST /detokenize is the inverse': async (t) => {
    for (const content of ['Hello there.', kEmoji, '<|im_start|>user\nHi']) {
      const answer = await t.post('/detokenize', { tokens: await tokens(t, { content }) });
      assert.equal(answer.json.content, content);
    }
  },
  'POST /detokenize refuses ids that do not exist': (t) =>
    t.refused('/detokenize', { tokens: [1, 999999] }, 400, 'tokens[1]'),
  'POST /tokenize needs content': (t) => t.refused('/tokenize', {}, 400, 'content'),
  'POST /tokenize refuses what it does not know': (t) => t.refused('/tokenize', { content: 'a', typo: 1 }, 400, 'typo'),
  'POST /apply-template': async (t) => {
    const { json } = await t.post('/apply-template', { messages: user('Hi') });
    assert.equal(json.prompt, '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n');
  },
  'POST /apply-template with tools': async (t) => {
    const { json } = await t.post('/apply-template', { messages: user('Hi'), tools: [weatherTool] });
    assert.match(json.prompt, /get_weather/);
  },
  'POST /apply-template gives what chat generates from': async (t) => {
    const { json } = await t.post('/apply-template', { messages: user('What is a volcano?') });
    const text = await t.openai.completions.create({ model: t.model, prompt: json.prompt, temperature: 0, max_tokens: 60 });
    const chat = await t.openai.chat.completions.create(
      { model: t.model, messages: user('What is a volcano?'), temperature: 0, max_tokens: 60 });
    assert.equal(text.choices[0].text, chat.choices[0].message.content);
    assert.equal(text.usage.prompt_tokens, chat.usage.prompt_tokens);
  },
  'POST /props is not there': async (t) => {
    const answer = await t.post('/props', {});
    assert.equal(answer.status, 405);
    assert.match(answer.headers.get('allow'), /GET/);
  },
  'curl /tokenize': async (t) => {
    const { out } = await t.curl(`${t.url}/tokenize`, '-d', '{"content": "Hi"}');
    assert.ok(Array.isArray(JSON.parse(out).tokens));
  },
};
