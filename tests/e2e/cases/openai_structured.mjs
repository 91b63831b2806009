import assert from 'node:assert/strict';
import { user } from '../context.mjs';

export const api = 'OpenAI structured output';

const person = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 20 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
  required: ['name', 'age'],
  additionalProperties: false,
};
const format = (schema) => ({ type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } });
const ask = (t, more) => ({ model: t.model, messages: user('Tom is 9 years old.'), max_tokens: 200, temperature: 0, ...more });
const content = (answer) => answer.choices[0].message.content;

export const cases = {
  'follows a schema': async (t) => {
    const answer = await t.openai.chat.completions.create(ask(t, { response_format: format(person) }));
    const value = JSON.parse(content(answer));
    assert.deepEqual(Object.keys(value).sort(), ['age', 'name']);
    assert.equal(Number.isInteger(value.age), true);
    assert.equal(answer.choices[0].finish_reason, 'stop');
  },
  'follows a schema at any temperature': async (t) => {
    const answers = await Promise.all([1, 2, 3, 4].map((seed) =>
      t.openai.chat.completions.create(ask(t, { response_format: format(person), temperature: 2, seed }))));
    for (const answer of answers) {
      if (answer.choices[0].finish_reason !== 'stop') continue;
      const value = JSON.parse(content(answer));
      assert.ok(value.age >= 0 && value.age <= 120);
    }
  },
  'follows a schema in a stream': async (t) => {
    let text = '';
    for await (const chunk of await t.openai.chat.completions.create(ask(t, { response_format: format(person), stream: true })))
      text += chunk.choices[0].delta.content ?? '';
    assert.equal(typeof JSON.parse(text).name, 'string');
  },
  'is parsed by the client': async (t) => {
    const answer = await t.openai.chat.completions.parse(ask(t, { response_format: format(person) }));
    assert.deepEqual(answer.choices[0].message.parsed, JSON.parse(content(answer)));
  },
  'gives enumerated values only': async (t) => {
    const schema = { type: 'object', properties: { colour: { enum: ['red', 'green'] } }, required: ['colour'], additionalProperties: false };
    const value = JSON.parse(content(await t.openai.chat.completions.create(ask(t, { response_format: format(schema) }))));
    assert.ok(['red', 'green'].includes(value.colour));
  },
  'gives any object with json_object': async (t) => {
    const answer = await t.openai.chat.completions.create(ask(t, {
      messages: user('Tom is 9 years old. Use this form: {"name": string, "age": number}'), response_format: { type: 'json_object' } }));
    assert.equal(typeof JSON.parse(content(answer)), 'object');
  },
  'type text is no constraint': async (t) => {
    const plain = content(await t.openai.chat.completions.create(ask(t, {})));
    assert.equal(content(await t.openai.chat.completions.create(ask(t, { response_format: { type: 'text' } }))), plain);
  },
  'follows a grammar': async (t) => {
    const answer = await t.openai.chat.completions.create(ask(t, { grammar: 'root ::= ("yes" | "no") "!"' }));
    assert.match(content(answer), /^(yes|no)!$/);
  },
  'follows a grammar in completions': async (t) => {
    const answer = await t.openai.completions.create({ model: t.model, prompt: 'Is it?', grammar: 'root ::= [0-9]{3}', temperature: 1 });
    assert.match(answer.choices[0].text, /^[0-9]{3}$/);
  },
  'a schema that is wrong is refused': (t) =>
    t.refused('/v1/chat/completions', ask(t, { response_format: format({ type: 'nothing' }) }), 400,
      'response_format.json_schema.schema'),
  'a grammar that is wrong is refused': (t) =>
    t.refused('/v1/chat/completions', ask(t, { grammar: 'root ::= (' }), 400, 'grammar'),
  'several choices follow it each': async (t) => {
    const answer = await t.openai.chat.completions.create(
      ask(t, { response_format: format(person), n: 3, temperature: 1, seed: 4 }));
    for (const choice of answer.choices)
      if (choice.finish_reason === 'stop') assert.equal(typeof JSON.parse(choice.message.content).age, 'number');
  },
};
