import assert from 'node:assert/strict';
import { user } from '../context.mjs';

export const api = 'Anthropic keys';
export const serverFlags = ['--api-key', 'alice:sk-alice', '--api-key', 'bob:sk-bob'];

const client = (t, apiKey) => new t.Anthropic({ baseURL: t.url, apiKey, maxRetries: 0 });
const ask = (t) => ({ model: t.model, messages: user('Hi'), max_tokens: 1 });

export const cases = {
  'a right key is let in': async (t) => assert.equal((await client(t, 'sk-alice').messages.create(ask(t))).type, 'message'),
  'a wrong key is the client\'s AuthenticationError': (t) =>
    assert.rejects(client(t, 'sk-eve').messages.create(ask(t)), (error) => {
      assert.ok(error instanceof t.Anthropic.AuthenticationError);
      assert.equal(error.error.error.type, 'authentication_error');
      return true;
    }),
  'a key is needed': async (t) => {
    const answer = await t.post('/v1/messages', ask(t));
    assert.equal(answer.status, 401);
    assert.equal(answer.json.type, 'error');
    assert.equal(answer.json.error.type, 'authentication_error');
  },
  'responses belong to their key': async (t) => {
    const openai = (apiKey) => new t.OpenAI({ baseURL: `${t.url}/v1`, apiKey, maxRetries: 0 });
    const { id } = await openai('sk-alice').responses.create({ model: t.model, input: 'Hi', max_output_tokens: 1 });
    assert.equal((await openai('sk-alice').responses.retrieve(id)).id, id);
    await assert.rejects(openai('sk-bob').responses.retrieve(id), t.OpenAI.NotFoundError);
  },
};
