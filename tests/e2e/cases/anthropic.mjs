import assert from 'node:assert/strict';
import { eventsOf, user } from '../context.mjs';

export const api = 'Anthropic messages';

const kVolcano = 'A volcano is a mountain that can throw out hot rock.';
const kMadrid = 'What is the weather in Madrid?';
const weather = {
  name: 'get_weather',
  description: 'Get the weather in a city',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string', description: 'Name of the city' } },
    required: ['city'],
  },
};
/** The client with the version of the API that has sampling fields; by itself it sends the newer one. */
const classic = (t) =>
  new t.Anthropic({ baseURL: t.url, apiKey: 'none', maxRetries: 0, defaultHeaders: { 'anthropic-version': '2023-06-01' } });
const modern = (t, more = {}) =>
  ({ model: t.model, max_tokens: 100, seed: 7, messages: user('What is a volcano?'), ...more });
const ask = (t, more = {}) =>
  ({ model: t.model, max_tokens: 100, temperature: 0, messages: user('What is a volcano?'), ...more });
const tools = (t, more = {}) => ask(t, { messages: user(kMadrid), tools: [weather], max_tokens: 200, ...more });
const text = (message) => message.content.filter((block) => block.type === 'text').map((block) => block.text).join('');

/** Sends a body as it is; the error that must come. */
async function refused(t, body, status, type, words, path = '/v1/messages') {
  const answer = await t.post(path, body);
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.json.type, 'error');
  assert.equal(answer.json.error.type, type, answer.text);
  assert.ok(answer.json.error.message.includes(words), answer.text);
  return answer;
}
const unsupported = (field, value) => (t) => refused(t, ask(t, { [field]: value }), 400, 'invalid_request_error', field);

export const cases = {
  'answers': async (t) => {
    const message = await classic(t).messages.create(ask(t));
    assert.match(message.id, /^msg_/);
    assert.equal(message.type, 'message');
    assert.equal(message.role, 'assistant');
    assert.equal(message.model, 'kvern-tiny');
    assert.deepEqual(message.content, [{ type: 'text', text: kVolcano }]);
    assert.equal(message.stop_reason, 'end_turn');
    assert.equal(message.stop_sequence, null);
  },
  'counts tokens, those that were kept apart': async (t) => {
    const { usage } = await classic(t).messages.create(ask(t));
    assert.equal(usage.input_tokens + usage.cache_read_input_tokens, 15);
    assert.equal(usage.cache_creation_input_tokens, 0);
    assert.equal(usage.output_tokens, 15);
  },
  'answers as the chat API does': async (t) => {
    const chat = await t.openai.chat.completions.create(
      { model: t.model, messages: user('What is a volcano?'), temperature: 0 });
    assert.equal(text(await classic(t).messages.create(ask(t))), chat.choices[0].message.content);
  },
  'takes a system prompt as a string or as blocks': async (t) => {
    const one = await classic(t).messages.create(ask(t, { system: 'Be brief.' }));
    const two = await classic(t).messages.create(
      ask(t, { system: [{ type: 'text', text: 'Be ' }, { type: 'text', text: 'brief.', cache_control: { type: 'ephemeral' } }] }));
    assert.equal(text(one), text(two));
  },
  'takes content as blocks': async (t) =>
    assert.equal(text(await classic(t).messages.create(
      ask(t, { messages: user([{ type: 'text', text: 'What is ' }, { type: 'text', text: 'a volcano?' }]) }))), kVolcano),
  'goes on from the beginning of an answer': async (t) => {
    const message = await classic(t).messages.create(ask(t, {
      messages: [...user('What is a volcano?'), { role: 'assistant', content: 'A volcano is a mountain' }],
    }));
    assert.equal('A volcano is a mountain' + text(message), kVolcano);
  },
  'repeats itself with a seed': async (t) => {
    const answers = await Promise.all([1, 2].map(() => classic(t).messages.create(ask(t, { temperature: 1, seed: 7 }))));
    assert.deepEqual(answers[0].content, answers[1].content);
  },
  'takes top_p and top_k': async (t) =>
    assert.equal(text(await classic(t).messages.create(ask(t, { temperature: 1, top_k: 1, top_p: 0.9 }))), kVolcano),
  'takes metadata': async (t) =>
    assert.equal(text(await classic(t).messages.create(ask(t, { metadata: { user_id: 'ann' } }))), kVolcano),
  'takes a service tier that changes nothing': async (t) =>
    assert.equal((await classic(t).messages.create(ask(t, { service_tier: 'auto' }))).usage.service_tier, 'standard'),
  'stops at max_tokens': async (t) => {
    const message = await classic(t).messages.create(ask(t, { max_tokens: 3 }));
    assert.equal(message.stop_reason, 'max_tokens');
    assert.equal(message.usage.output_tokens, 3);
  },
  'stops at a stop sequence and says which': async (t) => {
    const message = await classic(t).messages.create(ask(t, { stop_sequences: ['xyz', ' mountain'] }));
    assert.equal(text(message), 'A volcano is a');
    assert.equal(message.stop_reason, 'stop_sequence');
    assert.equal(message.stop_sequence, ' mountain');
  },
  'streams what it would answer': async (t) => {
    const stream = classic(t).messages.stream(ask(t));
    let joined = '';
    stream.on('text', (delta) => (joined += delta));
    const message = await stream.finalMessage();
    assert.equal(joined, kVolcano);
    assert.deepEqual(message.content, [{ type: 'text', text: kVolcano }]);
    assert.equal(message.stop_reason, 'end_turn');
    assert.equal(message.usage.output_tokens, 15);
  },
  'streams events in their order': async (t) => {
    const types = [];
    for await (const event of await classic(t).messages.create(ask(t, { stream: true }))) types.push(event.type);
    assert.deepEqual(types.slice(0, 2), ['message_start', 'content_block_start']);
    assert.deepEqual(types.slice(-3), ['content_block_stop', 'message_delta', 'message_stop']);
    assert.ok(types.slice(2, -3).every((type) => type === 'content_block_delta'));
  },
  'names each event': async (t) => {
    const answer = await t.post('/v1/messages', ask(t, { stream: true }));
    assert.equal(answer.headers.get('content-type'), 'text/event-stream');
    for (const event of answer.text.split('\n\n').filter((part) => part.startsWith('event: '))) {
      const [name, data] = event.split('\n');
      assert.equal(name, `event: ${JSON.parse(data.slice(6)).type}`);
    }
  },
  'tells the prompt\'s tokens at the start of a stream': async (t) => {
    const [start] = eventsOf((await t.post('/v1/messages', ask(t, { stream: true }))).text).map((data) => JSON.parse(data));
    assert.equal(start.message.usage.input_tokens + start.message.usage.cache_read_input_tokens, 15);
    assert.deepEqual(start.message.content, []);
  },
  'streams a stop sequence': async (t) => {
    const message = await classic(t).messages.stream(ask(t, { stop_sequences: [' mountain'] })).finalMessage();
    assert.equal(message.stop_reason, 'stop_sequence');
    assert.equal(message.stop_sequence, ' mountain');
    assert.equal(text(message), 'A volcano is a');
  },
  'has a request id': async (t) => {
    const { request_id } = await classic(t).messages.create(ask(t)).withResponse();
    assert.match(request_id, /./);
  },
  'ends a generation when the client goes': async (t) => {
    const stream = await classic(t).messages.create(ask(t, { stream: true, max_tokens: 900 }));
    for await (const event of stream) {
      if (event.type === 'content_block_delta') break;
    }
    assert.equal(text(await classic(t).messages.create(ask(t))), kVolcano);
  },
  'calls tools': async (t) => {
    const message = await classic(t).messages.create(tools(t));
    assert.equal(message.stop_reason, 'tool_use');
    const [block] = message.content;
    assert.equal(block.type, 'tool_use');
    assert.match(block.id, /^toolu_/);
    assert.equal(block.name, 'get_weather');
    assert.deepEqual(block.input, { city: 'Madrid' });
  },
  'calls tools in a stream': async (t) => {
    const stream = classic(t).messages.stream(tools(t));
    let pieces = 0;
    stream.on('inputJson', () => ++pieces);
    const message = await stream.finalMessage();
    assert.equal(message.stop_reason, 'tool_use');
    assert.deepEqual(message.content[0].input, { city: 'Madrid' });
    assert.ok(pieces > 1, 'arguments come as they are written');
  },
  'takes the results of tools': async (t) => {
    const first = await classic(t).messages.create(tools(t));
    const message = await classic(t).messages.create(tools(t, {
      messages: [...user(kMadrid), { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: first.content[0].id, content: '{"temperature": 20}' }] }],
    }));
    assert.equal(message.stop_reason, 'end_turn');
    assert.ok(text(message).length > 0);
  },
  'must call any tool': async (t) => {
    const message = await classic(t).messages.create(
      tools(t, { messages: user('What is a volcano?'), tool_choice: { type: 'any', disable_parallel_tool_use: true } }));
    assert.equal(message.content[0].type, 'tool_use');
    assert.equal(message.content.length, 1);
    assert.equal(typeof message.content[0].input.city, 'string');
  },
  'must call the tool that is named': async (t) => {
    const message = await classic(t).messages.create(
      tools(t, { tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true } }));
    assert.equal(message.content[0].name, 'get_weather');
  },
  'calls none when told so': async (t) => {
    const message = await classic(t).messages.create(tools(t, { tool_choice: { type: 'none' } }));
    assert.ok(message.content.every((block) => block.type === 'text'));
  },
  'follows a schema': async (t) => {
    const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 0, maximum: 120 } }, required: ['age'], additionalProperties: false };
    const message = await classic(t).messages.create(
      ask(t, { messages: user('Tom is 9 years old.'), output_config: { format: { type: 'json_schema', schema } } }));
    assert.ok(Number.isInteger(JSON.parse(text(message)).age));
  },
  'counts tokens without generating': async (t) =>
    assert.deepEqual(await classic(t).messages.countTokens({ model: t.model, messages: user('What is a volcano?') }), { input_tokens: 15 }),
  'counts tools and system prompts': async (t) => {
    const count = async (more) =>
      (await classic(t).messages.countTokens({ model: t.model, messages: user('Hi'), ...more })).input_tokens;
    const bare = await count({});
    assert.ok((await count({ system: 'Be brief.' })) > bare);
    assert.ok((await count({ tools: [weather] })) > bare + 20);
  },
  'thinking may be off': async (t) =>
    assert.equal(text(await classic(t).messages.create(ask(t, { thinking: { type: 'disabled' } }))), kVolcano),
  'thinking is refused where the model does not': (t) =>
    refused(t, ask(t, { thinking: { type: 'adaptive' } }), 400, 'invalid_request_error', 'thinking'),
  'max_tokens is needed': (t) => refused(t, ask(t, { max_tokens: undefined }), 400, 'invalid_request_error', 'max_tokens'),
  'messages are needed': (t) => refused(t, ask(t, { messages: undefined }), 400, 'invalid_request_error', 'messages'),
  'images are refused by name': (t) =>
    refused(t, ask(t, { messages: user([{ type: 'image', source: { type: 'url', url: 'x' } }]) }), 400, 'invalid_request_error',
      'messages[0].content[0].type'),
  'a result without its call is refused': (t) =>
    refused(t, ask(t, { messages: user([{ type: 'tool_result', tool_use_id: 'x', content: 'y' }]) }), 400, 'invalid_request_error',
      'messages[0].content[0].tool_use_id'),
  'server tools are refused by name': (t) =>
    refused(t, ask(t, { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }), 400, 'invalid_request_error', 'tools[0].type'),
  'container is refused by name': unsupported('container', 'c'),
  'mcp_servers is refused by name': unsupported('mcp_servers', [{ type: 'url' }]),
  'context_management is refused by name': unsupported('context_management', {}),
  'an unknown field is refused by name': unsupported('frobnicate', 1),
  'temperature ends at 1': unsupported('temperature', 1.5),
  'another model is the client\'s NotFoundError': (t) =>
    assert.rejects(classic(t).messages.create(ask(t, { model: 'claude-x' })), t.Anthropic.NotFoundError),
  'a bad request is the client\'s BadRequestError': (t) =>
    assert.rejects(classic(t).messages.create(ask(t, { max_tokens: 0 })), t.Anthropic.BadRequestError),
  'a prompt that is too long names both numbers': (t) =>
    refused(t, ask(t, { messages: user('word '.repeat(3000)) }), 400, 'invalid_request_error', '1024 tokens'),
  'bad JSON says where': (t) => refused(t, '{"a": ', 400, 'invalid_request_error', 'byte'),
  'answers the version that the client sends by itself': async (t) => {
    const message = await t.anthropic.messages.create(modern(t));
    assert.equal(message.type, 'message');
    assert.ok(text(message).length > 0);
  },
  'streams in the version that the client sends by itself': async (t) => {
    const whole = await t.anthropic.messages.create(modern(t));
    const streamed = await t.anthropic.messages.stream(modern(t)).finalMessage();
    assert.deepEqual(streamed.content, whole.content);
    assert.equal(streamed.stop_reason, whole.stop_reason);
  },
  'calls tools in the version that the client sends by itself': async (t) => {
    const message = await t.anthropic.messages.create(
      modern(t, { tools: [weather], max_tokens: 200, tool_choice: { type: 'any', disable_parallel_tool_use: true } }));
    assert.equal(message.content[0].type, 'tool_use');
  },
  'counts tokens in the version that the client sends by itself': async (t) =>
    assert.deepEqual(await t.anthropic.messages.countTokens({ model: t.model, messages: user('What is a volcano?') }), { input_tokens: 15 }),
  'the newer version has no sampling fields': async (t) => {
    for (const field of ['temperature', 'top_p', 'top_k']) {
      await assert.rejects(t.anthropic.messages.create(modern(t, { [field]: 1 })), (error) => {
        assert.ok(error instanceof t.Anthropic.BadRequestError);
        assert.ok(error.message.includes(field));
        return true;
      });
    }
  },
  'another version is refused': async (t) => {
    const answer = await t.post('/v1/messages', ask(t), { 'anthropic-version': '2023-01-01' });
    assert.equal(answer.status, 400);
    assert.match(answer.json.error.message, /anthropic-version/);
  },
  'curl': async (t) => {
    const { out } = await t.curl(`${t.url}/v1/messages`, '-H', 'x-api-key: none', '-H', 'anthropic-version: 2023-06-01',
      '-d', JSON.stringify(ask(t)));
    assert.equal(JSON.parse(out).content[0].text, kVolcano);
  },
};
