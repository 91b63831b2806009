import assert from 'node:assert/strict';
import { user } from '../context.mjs';

export const api = 'OpenAI errors';

const path = '/v1/chat/completions';
const chat = (t, more = {}) => ({ model: t.model, messages: user('Hi'), max_tokens: 4, ...more });

export const cases = {
  'another model is the client\'s NotFoundError': async (t) => {
    await assert.rejects(t.openai.chat.completions.create(chat(t, { model: 'gpt-4o' })), (error) => {
      assert.ok(error instanceof t.OpenAI.NotFoundError);
      assert.equal(error.status, 404);
      assert.equal(error.code, 'model_not_found');
      assert.equal(error.param, 'model');
      return true;
    });
  },
  'a wrong value is the client\'s BadRequestError': async (t) => {
    await assert.rejects(t.openai.chat.completions.create(chat(t, { temperature: 3 })), (error) => {
      assert.ok(error instanceof t.OpenAI.BadRequestError);
      assert.equal(error.param, 'temperature');
      assert.equal(error.type, 'invalid_request_error');
      assert.match(error.message, /from 0 to 2/);
      return true;
    });
  },
  'a wrong value in a stream is an error before the stream': (t) =>
    assert.rejects(t.openai.chat.completions.create(chat(t, { n: 0, stream: true })), t.OpenAI.BadRequestError),
  'a prompt longer than the context names both numbers': async (t) => {
    const error = await t.refused(path, chat(t, { messages: user('word '.repeat(3000)) }), 400, 'messages', 'context_length_exceeded');
    assert.match(error.message, /1024/);
    assert.match(error.message, /\d{4,}.*\d{4,}/);
  },
  'an unknown field': (t) => t.refused(path, chat(t, { frobnicate: 1 }), 400, 'frobnicate', 'unsupported_parameter'),
  'a field that is documented and not done': (t) => t.refused(path, chat(t, { store: true }), 400, 'store', 'unsupported_parameter'),
  'audio': (t) => t.refused(path, chat(t, { modalities: ['audio'], audio: {} }), 400, 'modalities'),
  'pictures': (t) =>
    t.refused(path, chat(t, { messages: user([{ type: 'image_url', image_url: { url: 'data:,' } }]) }), 400,
      'messages[0].content[0].type', 'unsupported_parameter'),
  'deprecated functions': (t) => t.refused(path, chat(t, { functions: [] }), 400, 'functions'),
  'no messages': (t) => t.refused(path, chat(t, { messages: [] }), 400, 'messages'),
  'a role that is none': (t) => t.refused(path, chat(t, { messages: [{ role: 'king', content: '' }] }), 400, 'messages[0].role'),
  'a message without content': (t) => t.refused(path, chat(t, { messages: [{ role: 'user' }] }), 400, 'messages[0].content'),
  'a tool\'s result without its call': (t) =>
    t.refused(path, chat(t, { messages: [{ role: 'tool', content: '' }] }), 400, 'messages[0].tool_call_id'),
  'max_tokens 0': (t) => t.refused(path, chat(t, { max_tokens: 0 }), 400, 'max_tokens'),
  'n too large': (t) => t.refused(path, chat(t, { n: 100000 }), 400, 'n'),
  'a bias for no token': (t) => t.refused(path, chat(t, { logit_bias: { 999999: 1 } }), 400, 'logit_bias'),
  'an empty stop string': (t) => t.refused(path, chat(t, { stop: [''] }), 400, 'stop[0]'),
  'top_logprobs without logprobs': (t) => t.refused(path, chat(t, { top_logprobs: 2 }), 400, 'top_logprobs'),
  'stream_options without a stream': (t) => t.refused(path, chat(t, { stream_options: {} }), 400, 'stream_options'),
  'no JSON': (t) => t.refused(path, '{"messages": [', 400, null, 'invalid_json'),
  'NaN': (t) => t.refused(path, '{"temperature": NaN}', 400, null, 'invalid_json'),
  'an infinite number': (t) => t.refused(path, '{"messages": [{"role": "user", "content": "a"}], "top_p": 1e400}', 400, 'top_p'),
  'JSON that nests too deeply': (t) => t.refused(path, '['.repeat(100000), 400, null, 'invalid_json'),
  'a list for a body': (t) => t.refused(path, '[]', 400),
  'nothing for a body': (t) => t.refused(path, '', 400),
  'a path that is none': async (t) => assert.equal((await t.post('/v1/nothing', {})).status, 404),
  'a method that is none': async (t) => assert.equal((await t.request('GET', path)).status, 405),
  'the server still works after all of these': async (t) => {
    const answer = await t.openai.chat.completions.create(chat(t, { temperature: 0, messages: user('What is a volcano?'), max_tokens: 30 }));
    assert.equal(answer.choices[0].message.content, 'A volcano is a mountain that can throw out hot rock.');
  },
};
