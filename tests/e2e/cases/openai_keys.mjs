import assert from 'node:assert/strict';
import { user } from '../context.mjs';

export const api = 'OpenAI keys';
export const serverFlags = ['--api-key', 'alice:sk-alice', '--api-key', 'bob:sk-bob'];

const client = (t, apiKey) => new t.OpenAI({ baseURL: `${t.url}/v1`, apiKey, maxRetries: 0 });
const chat = (t, more = {}) => ({ model: t.model, messages: user('Please tell me of a boat and a bird.'), max_tokens: 1, ...more });

export const cases = {
  'a key is needed': async (t) => {
    const answer = await t.post('/v1/chat/completions', chat(t));
    assert.equal(answer.status, 401);
    assert.equal(typeof answer.json.error.message, 'string');
  },
  'a wrong key is the client\'s AuthenticationError': (t) =>
    assert.rejects(client(t, 'sk-eve').chat.completions.create(chat(t)), t.OpenAI.AuthenticationError),
  'a right key is let in': async (t) =>
    assert.equal((await client(t, 'sk-alice').chat.completions.create(chat(t))).choices.length, 1),
  'clients do not share prefixes': async (t) => {
    const cached = async (key) =>
      (await client(t, key).chat.completions.create(chat(t))).usage.prompt_tokens_details.cached_tokens;
    await cached('sk-alice');
    assert.ok((await cached('sk-alice')) > 0);
    assert.equal(await cached('sk-bob'), 0);
    assert.ok((await cached('sk-bob')) > 0);
  },
};
