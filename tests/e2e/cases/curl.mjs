import assert from 'node:assert/strict';

export const api = 'curl';

const json = ['-H', 'Content-Type: application/json'];
const body = '{"messages": [{"role": "user", "content": "What is a volcano?"}], "temperature": 0}';
const kVolcano = 'A volcano is a mountain that can throw out hot rock.';

export const cases = {
  'gets models': async (t) => {
    const { code, out } = await t.curl(`${t.url}/v1/models`);
    assert.equal(code, 0);
    assert.equal(JSON.parse(out).data[0].id, 'kvern-tiny');
  },
  'chats without naming a model': async (t) => {
    const { out } = await t.curl(`${t.url}/v1/chat/completions`, ...json, '-d', body);
    assert.equal(JSON.parse(out).choices[0].message.content, kVolcano);
  },
  'sees a stream as it comes': async (t) => {
    const { out } = await t.curl('-N', `${t.url}/v1/chat/completions`, ...json, '-d', body.replace('}], ', '}], "stream": true, '));
    assert.ok(out.startsWith('data: {'));
    assert.ok(out.trimEnd().endsWith('data: [DONE]'));
  },
  'needs no content type': async (t) => {
    const { out } = await t.curl(`${t.url}/v1/chat/completions`, '-d', body);
    assert.equal(JSON.parse(out).choices[0].message.content, kVolcano);
  },
  'sees status and length': async (t) => {
    const { out } = await t.curl('-i', `${t.url}/v1/chat/completions`, ...json, '-d', '{}');
    assert.match(out, /^HTTP\/1\.1 400 /);
    assert.match(out, /content-length: \d+/i);
    assert.match(out, /content-type: application\/json/i);
  },
  'keeps its connection': async (t) => {
    const target = `${t.url}/v1/models`;
    const { err } = await t.curl('-v', target, target);
    assert.match(err, /Re-using existing connection/i);
  },
  'speaks HTTP/1.0': async (t) => {
    const { code, out } = await t.curl('--http1.0', `${t.url}/v1/chat/completions`, ...json, '-d', body.replace('}], ', '}], "stream": true, '));
    assert.equal(code, 0);
    assert.ok(out.trimEnd().endsWith('data: [DONE]'));
  },
};
