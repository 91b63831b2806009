import assert from 'node:assert/strict';

export const api = 'OpenAI models';

export const cases = {
  'are listed': async (t) => {
    const ids = [];
    for await (const model of t.openai.models.list()) {
      assert.equal(model.object, 'model');
      assert.equal(typeof model.created, 'number');
      ids.push(model.id);
    }
    assert.deepEqual(ids, ['kvern-tiny', 'gpt-alias']);
  },
  'are shown by name': async (t) => assert.equal((await t.openai.models.retrieve('kvern-tiny')).id, 'kvern-tiny'),
  'are shown by alias': async (t) => assert.equal((await t.openai.models.retrieve('gpt-alias')).id, 'gpt-alias'),
  'that are not there are a 404': (t) => assert.rejects(t.openai.models.retrieve('gpt-4'), t.OpenAI.NotFoundError),
};
