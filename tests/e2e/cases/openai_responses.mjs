import assert from 'node:assert/strict';
import { eventsOf, user, weatherTool } from '../context.mjs';

export const api = 'OpenAI responses';

const kVolcano = 'A volcano is a mountain that can throw out hot rock.';
const kMadrid = 'What is the weather in Madrid?';
const weather = { type: 'function', strict: false, ...weatherTool.function };
const ask = (t, more = {}) => ({ model: t.model, temperature: 0, input: 'What is a volcano?', ...more });
const tools = (t, more = {}) => ask(t, { input: kMadrid, tools: [weather], max_output_tokens: 200, ...more });
const create = (t, more) => t.openai.responses.create(ask(t, more));
const refused = (field, value, param = field) => (t) => t.refused('/v1/responses', ask(t, { [field]: value }), 400, param);

async function collect(t, body) {
  const events = [];
  for await (const event of await t.openai.responses.create({ ...body, stream: true })) events.push(event);
  return events;
}

export const cases = {
  'answers': async (t) => {
    const response = await create(t);
    assert.match(response.id, /^resp_/);
    assert.equal(response.object, 'response');
    assert.equal(response.status, 'completed');
    assert.equal(response.model, 'kvern-tiny');
    assert.equal(response.output_text, kVolcano);
    assert.equal(response.output.length, 1);
    assert.match(response.output[0].id, /^msg_/);
    assert.equal(response.output[0].role, 'assistant');
    assert.equal(response.error, null);
    assert.ok(Math.abs(response.created_at - Date.now() / 1000) < 60);
  },
  'counts tokens': async (t) => {
    const { usage } = await create(t);
    assert.equal(usage.input_tokens, 15);
    assert.equal(usage.output_tokens, 15);
    assert.equal(usage.total_tokens, 30);
    assert.ok(usage.input_tokens_details.cached_tokens <= 15);
    assert.equal(usage.output_tokens_details.reasoning_tokens, 0);
  },
  'tells what was asked for': async (t) => {
    const response = await create(t, { temperature: 0.5, top_p: 0.9, metadata: { a: 'b' }, instructions: 'Be brief.', max_output_tokens: 5, user: 'ann' });
    assert.equal(response.temperature, 0.5);
    assert.equal(response.top_p, 0.9);
    assert.deepEqual(response.metadata, { a: 'b' });
    assert.equal(response.instructions, 'Be brief.');
    assert.equal(response.max_output_tokens, 5);
    assert.equal(response.user, 'ann');
    assert.equal(response.truncation, 'disabled');
    assert.deepEqual(response.text.format, { type: 'text' });
  },
  'takes messages': async (t) => assert.equal((await create(t, { input: user('What is a volcano?') })).output_text, kVolcano),
  'takes parts': async (t) =>
    assert.equal((await create(t, { input: user([{ type: 'input_text', text: 'What is a volcano?' }]) })).output_text, kVolcano),
  'takes instructions as a system message': async (t) => {
    const one = await create(t, { instructions: 'Be brief.' });
    const two = await create(t, { input: [{ role: 'system', content: 'Be brief.' }, ...user('What is a volcano?')] });
    assert.equal(one.output_text, two.output_text);
    assert.equal(one.usage.input_tokens, two.usage.input_tokens);
  },
  'is incomplete at max_output_tokens': async (t) => {
    const response = await create(t, { max_output_tokens: 3 });
    assert.equal(response.status, 'incomplete');
    assert.equal(response.incomplete_details.reason, 'max_output_tokens');
    assert.equal(response.output[0].status, 'incomplete');
    assert.equal(response.usage.output_tokens, 3);
  },
  'streams what it would answer': async (t) => {
    const stream = t.openai.responses.stream(ask(t));
    let joined = '';
    stream.on('response.output_text.delta', (event) => (joined += event.delta));
    const response = await stream.finalResponse();
    assert.equal(joined, kVolcano);
    assert.equal(response.output_text, kVolcano);
  },
  'streams events in their order': async (t) => {
    const types = (await collect(t, ask(t))).map((event) => event.type);
    assert.deepEqual(types.slice(0, 4),
      ['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added']);
    assert.deepEqual(types.slice(-4),
      ['response.output_text.done', 'response.content_part.done', 'response.output_item.done', 'response.completed']);
    assert.ok(types.slice(4, -4).every((type) => type === 'response.output_text.delta'));
  },
  'numbers events without gaps': async (t) =>
    (await collect(t, ask(t))).forEach((event, index) => assert.equal(event.sequence_number, index)),
  'names each event': async (t) => {
    const answer = await t.post('/v1/responses', ask(t, { stream: true }));
    for (const event of answer.text.split('\n\n').filter((part) => part.startsWith('event: '))) {
      const [name, data] = event.split('\n');
      assert.equal(name, `event: ${JSON.parse(data.slice(6)).type}`);
    }
    assert.equal(JSON.parse(eventsOf(answer.text).at(-1)).type, 'response.completed');
  },
  'streams an incomplete response': async (t) => {
    const last = (await collect(t, ask(t, { max_output_tokens: 2 }))).at(-1);
    assert.equal(last.type, 'response.incomplete');
    assert.equal(last.response.status, 'incomplete');
  },
  'calls functions': async (t) => {
    const response = await t.openai.responses.create(tools(t));
    const [call] = response.output;
    assert.equal(call.type, 'function_call');
    assert.match(call.id, /^fc_/);
    assert.match(call.call_id, /^call_/);
    assert.equal(call.name, 'get_weather');
    assert.deepEqual(JSON.parse(call.arguments), { city: 'Madrid' });
    assert.equal(response.status, 'completed');
  },
  'calls functions in a stream': async (t) => {
    let args = '';
    let done;
    for (const event of await collect(t, tools(t))) {
      if (event.type === 'response.function_call_arguments.delta') args += event.delta;
      if (event.type === 'response.function_call_arguments.done') done = event;
    }
    assert.equal(done.arguments, args);
    assert.deepEqual(JSON.parse(args), { city: 'Madrid' });
  },
  'takes outputs of functions': async (t) => {
    const first = await t.openai.responses.create(tools(t));
    const response = await t.openai.responses.create(tools(t, {
      input: [...user(kMadrid), ...first.output,
        { type: 'function_call_output', call_id: first.output[0].call_id, output: '{"temperature": 20}' }],
    }));
    assert.ok(response.output_text.length > 0);
  },
  'takes outputs of functions after a previous response': async (t) => {
    const first = await t.openai.responses.create(tools(t));
    const response = await t.openai.responses.create(tools(t, {
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: first.output[0].call_id, output: '{"temperature": 20}' }],
    }));
    assert.equal(response.previous_response_id, first.id);
    assert.ok(response.output_text.length > 0);
  },
  'must call a function': async (t) => {
    const response = await t.openai.responses.create(
      tools(t, { input: 'What is a volcano?', tool_choice: 'required', parallel_tool_calls: false }));
    assert.equal(response.output[0].type, 'function_call');
    assert.equal(response.tool_choice, 'required');
  },
  'must call the function that is named': async (t) => {
    const response = await t.openai.responses.create(
      tools(t, { tool_choice: { type: 'function', name: 'get_weather' }, parallel_tool_calls: false }));
    assert.equal(response.output[0].name, 'get_weather');
  },
  'calls none when told so': async (t) => {
    const response = await t.openai.responses.create(tools(t, { tool_choice: 'none' }));
    assert.ok(response.output.every((item) => item.type === 'message'));
  },
  'follows a schema': async (t) => {
    const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 0, maximum: 120 } }, required: ['age'], additionalProperties: false };
    const response = await create(t, { input: 'Tom is 9 years old.', max_output_tokens: 100,
      text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } });
    assert.ok(Number.isInteger(JSON.parse(response.output_text).age));
    assert.equal(response.text.format.name, 'answer');
  },
  'writes JSON': async (t) => {
    const response = await create(t, { max_output_tokens: 300, text: { format: { type: 'json_object' } } });
    if (response.status === 'completed') assert.equal(typeof JSON.parse(response.output_text), 'object');
    assert.ok(response.output_text.trimStart().startsWith('{'));
  },
  'tells log-probabilities': async (t) => {
    const response = await create(t, { include: ['message.output_text.logprobs'], top_logprobs: 2, max_output_tokens: 5 });
    const { logprobs } = response.output[0].content[0];
    assert.equal(logprobs.length, 5);
    for (const token of logprobs) {
      assert.ok(token.logprob <= 0);
      assert.equal(token.top_logprobs.length, 2);
    }
  },
  'is stored and shown': async (t) => {
    const response = await create(t);
    assert.deepEqual((await t.openai.responses.retrieve(response.id)).output, response.output);
  },
  'is not stored when told so': async (t) => {
    const response = await create(t, { store: false });
    await assert.rejects(t.openai.responses.retrieve(response.id), t.OpenAI.NotFoundError);
  },
  'is deleted': async (t) => {
    const response = await create(t);
    await t.openai.responses.delete(response.id);
    await assert.rejects(t.openai.responses.retrieve(response.id), t.OpenAI.NotFoundError);
  },
  'is stored when it was streamed': async (t) => {
    const { response } = (await collect(t, ask(t))).at(-1);
    assert.equal((await t.openai.responses.retrieve(response.id)).output_text, kVolcano);
  },
  'goes on from a previous response': async (t) => {
    const first = await create(t);
    const second = await create(t, { input: 'And what is a river?', previous_response_id: first.id });
    const whole = await create(t, {
      input: [...user('What is a volcano?'), { role: 'assistant', content: kVolcano }, ...user('And what is a river?')],
    });
    assert.equal(second.output_text, whole.output_text);
    assert.equal(second.usage.input_tokens, whole.usage.input_tokens);
  },
  'keeps the prefix of a conversation': async (t) => {
    const first = await create(t);
    const second = await create(t, { input: 'And what is a river?', previous_response_id: first.id });
    assert.ok(second.usage.input_tokens_details.cached_tokens >= 15);
  },
  'lists its input items': async (t) => {
    const first = await create(t);
    const second = await create(t, { input: 'And a river?', previous_response_id: first.id });
    const texts = [];
    for await (const item of t.openai.responses.inputItems.list(second.id, { order: 'asc', limit: 2 }))
      texts.push(item.content[0].text);
    assert.deepEqual(texts, ['What is a volcano?', kVolcano, 'And a river?']);
  },
  'counts input tokens': async (t) => {
    const { json } = await t.post('/v1/responses/input_tokens', { model: t.model, input: 'What is a volcano?' });
    assert.deepEqual(json, { object: 'response.input_tokens', input_tokens: 15 });
  },
  'a previous response that is not there': (t) =>
    t.refused('/v1/responses', ask(t, { previous_response_id: 'resp_none' }), 400, 'previous_response_id', 'previous_response_not_found'),
  'input is needed': refused('input', undefined),
  'images are refused by name': refused('input', user([{ type: 'input_image', image_url: 'x' }]), 'input[0].content[0].type'),
  'other items are refused by name': refused('input', [{ type: 'item_reference', id: 'x' }], 'input[0].type'),
  'server tools are refused by name': refused('tools', [{ type: 'web_search' }], 'tools[0].type'),
  'runs in the background': async (t) => {
    let response = await create(t, { background: true });
    assert.equal(response.background, true);
    for (let polls = 0; ['queued', 'in_progress'].includes(response.status) && polls < 600; ++polls) {
      await new Promise((done) => setTimeout(done, 50));
      response = await t.openai.responses.retrieve(response.id);
    }
    assert.ok(['completed', 'incomplete'].includes(response.status), response.status);
    assert.ok(response.output_text.length > 0);
  },
  'truncation auto is refused by name': refused('truncation', 'auto'),
  'conversation is refused by name': refused('conversation', 'conv_1'),
  'an unknown field is refused by name': refused('frobnicate', 1),
  'encrypted reasoning is refused by name': refused('include', ['reasoning.encrypted_content'], 'include[0]'),
  'another model is the client\'s NotFoundError': (t) => assert.rejects(create(t, { model: 'gpt-x' }), t.OpenAI.NotFoundError),
  'a prompt that is too long': (t) =>
    t.refused('/v1/responses', ask(t, { input: 'word '.repeat(3000) }), 400, 'input', 'context_length_exceeded'),
  'curl': async (t) => {
    const { out } = await t.curl(`${t.url}/v1/responses`, '-d', JSON.stringify(ask(t)));
    assert.equal(JSON.parse(out).output[0].content[0].text, kVolcano);
  },
};
