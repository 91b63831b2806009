import assert from 'node:assert/strict';
import { user, weatherTool } from '../context.mjs';

export const api = 'OpenAI tools';

const timerTool = {
  type: 'function',
  function: {
    name: 'set_timer',
    description: 'Set a timer',
    parameters: { type: 'object', properties: { minutes: { type: 'integer' } }, required: ['minutes'], additionalProperties: false },
  },
};
const ask = (t, content, more = {}) =>
  ({ model: t.model, temperature: 0, messages: user(content), tools: [weatherTool], max_tokens: 200, ...more });
const kMadrid = 'What is the weather in Madrid?';

export const cases = {
  'are called': async (t) => {
    const answer = await t.openai.chat.completions.create(ask(t, kMadrid));
    const [choice] = answer.choices;
    assert.equal(choice.finish_reason, 'tool_calls');
    assert.equal(choice.message.content, null);
    assert.equal(choice.message.tool_calls.length, 1);
    assert.match(choice.message.tool_calls[0].id, /^call_/);
    assert.equal(choice.message.tool_calls[0].type, 'function');
    assert.equal(choice.message.tool_calls[0].function.name, 'get_weather');
    assert.deepEqual(JSON.parse(choice.message.tool_calls[0].function.arguments), { city: 'Madrid' });
  },
  'are called in a stream': async (t) => {
    let name = '';
    let args = '';
    let pieces = 0;
    let reason;
    for await (const chunk of await t.openai.chat.completions.create(ask(t, kMadrid, { stream: true }))) {
      const [choice] = chunk.choices;
      assert.ok(!choice.delta.content, 'no half of a marker is content');
      for (const call of choice.delta.tool_calls ?? []) {
        assert.equal(call.index, 0);
        name += call.function.name ?? '';
        args += call.function.arguments ?? '';
        ++pieces;
      }
      reason = choice.finish_reason ?? reason;
    }
    assert.equal(name, 'get_weather');
    assert.deepEqual(JSON.parse(args), { city: 'Madrid' });
    assert.ok(pieces > 1, 'arguments come as they are written');
    assert.equal(reason, 'tool_calls');
  },
  'are read by the client\'s stream helper': async (t) => {
    const final = await t.openai.chat.completions.stream(ask(t, kMadrid)).finalChatCompletion();
    assert.equal(final.choices[0].message.tool_calls[0].function.name, 'get_weather');
  },
  'are run by the client\'s runner': async (t) => {
    const asked = [];
    const runner = t.openai.chat.completions.runTools({
      model: t.model, temperature: 0, messages: user('How is the weather in Oslo?'),
      tools: [{
        type: 'function',
        function: {
          ...weatherTool.function,
          function: ({ city }) => {
            asked.push(city);
            return '{"weather": "snowy", "temperature": -4}';
          },
          parse: JSON.parse,
        },
      }],
    });
    const final = await runner.finalContent();
    assert.deepEqual(asked, ['Oslo']);
    assert.equal(final, 'It is snowy in Oslo, and it is -4 degrees.');
  },
  'their results are read': async (t) => {
    const answer = await t.openai.chat.completions.create(ask(t, '', {
      messages: [...user('How is the weather in Oslo?'),
        { role: 'assistant', content: null, tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city": "Oslo"}' } }] },
        { role: 'tool', tool_call_id: 'call_1', content: '{"weather": "snowy", "temperature": -4}' }],
    }));
    assert.equal(answer.choices[0].message.content, 'It is snowy in Oslo, and it is -4 degrees.');
    assert.equal(answer.choices[0].finish_reason, 'stop');
  },
  'are not called without need': async (t) => {
    const answer = await t.openai.chat.completions.create(ask(t, 'Hello!'));
    assert.equal(answer.choices[0].finish_reason, 'stop');
    assert.ok(answer.choices[0].message.content.length > 0);
    assert.equal(answer.choices[0].message.tool_calls, undefined);
  },
  'are not shown with tool_choice none': async (t) => {
    const none = await t.openai.chat.completions.create(ask(t, kMadrid, { tool_choice: 'none' }));
    const without = await t.openai.chat.completions.create(ask(t, kMadrid, { tools: undefined }));
    assert.equal(none.usage.prompt_tokens, without.usage.prompt_tokens);
    assert.equal(none.choices[0].message.tool_calls, undefined);
  },
  'are called when required': async (t) => {
    const answer = await t.openai.chat.completions.create(ask(t, 'Hello!', { tool_choice: 'required' }));
    const [choice] = answer.choices;
    assert.equal(choice.finish_reason, 'tool_calls');
    assert.equal(choice.message.tool_calls[0].function.name, 'get_weather');
    assert.equal(typeof JSON.parse(choice.message.tool_calls[0].function.arguments).city, 'string');
  },
  'are called by name': async (t) => {
    const answer = await t.openai.chat.completions.create(ask(t, kMadrid, {
      tools: [weatherTool, timerTool], parallel_tool_calls: false,
      tool_choice: { type: 'function', function: { name: 'set_timer' } },
    }));
    const [call] = answer.choices[0].message.tool_calls;
    assert.equal(call.function.name, 'set_timer');
    assert.equal(Number.isInteger(JSON.parse(call.function.arguments).minutes), true);
  },
  'are called by name in a stream': async (t) => {
    const final = await t.openai.chat.completions.stream(ask(t, kMadrid, {
      tools: [weatherTool, timerTool], parallel_tool_calls: false,
      tool_choice: { type: 'function', function: { name: 'set_timer' } },
    })).finalChatCompletion();
    assert.equal(final.choices[0].message.tool_calls[0].function.name, 'set_timer');
  },
  'are called once without parallel_tool_calls': async (t) => {
    const answer = await t.openai.chat.completions.create(
      ask(t, kMadrid, { tool_choice: 'required', parallel_tool_calls: false }));
    assert.equal(answer.choices[0].message.tool_calls.length, 1);
  },
  'follow their schema when strict': async (t) => {
    const strict = { type: 'function', function: { ...timerTool.function, strict: true } };
    const answer = await t.openai.chat.completions.create(
      ask(t, 'Set a timer for 5 minutes.', { tools: [strict], seed: 1, temperature: 1, max_tokens: 100 }));
    for (const call of answer.choices[0].message.tool_calls ?? [])
      assert.deepEqual(Object.keys(JSON.parse(call.function.arguments)), ['minutes']);
  },
  'without parameters are taken': async (t) => {
    const tools = [{ type: 'function', function: { name: 'ping' } }];
    const answer = await t.openai.chat.completions.create(ask(t, 'Ping.', { tools, tool_choice: 'required', max_tokens: 60 }));
    assert.equal(answer.choices[0].message.tool_calls[0].function.name, 'ping');
  },
  'that are wrong are refused by their place': (t) =>
    t.refused('/v1/chat/completions', ask(t, 'Hi', { tools: [weatherTool, { type: 'custom', custom: {} }] }), 400,
      'tools[1].type', 'unsupported_parameter'),
  'that were not given cannot be chosen': (t) =>
    t.refused('/v1/chat/completions', ask(t, 'Hi', { tool_choice: { type: 'function', function: { name: 'x' } } }), 400,
      'tool_choice.function.name'),
};
