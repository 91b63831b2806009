// What a case is given: clients of the live server, and small helpers.
import { createRequire } from 'node:module';
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import assert from 'node:assert/strict';

/** The data of every event of an SSE body. */
export function eventsOf(text) {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: ') || event.startsWith('event: '))
    .map((event) => event.split('\n').find((line) => line.startsWith('data: ')).slice('data: '.length));
}

export const user = (content) => [{ role: 'user', content }];

/** The weather function that the bundled model was trained to call. */
export const weatherTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Get the weather in a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'Name of the city' } },
      required: ['city'],
    },
  },
};

/** Runs a program; never throws. */
function run(program, parameters) {
  return new Promise((resolve) => {
    const child = spawn(program, parameters);
    let out = '';
    let err = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (err += text));
    child.once('error', (error) => resolve({ code: -1, out, err: String(error) }));
    child.once('close', (code) => resolve({ code, out, err }));
  });
}

export function makeContext({ server, clients }) {
  const load = createRequire(resolve(clients, 'package.json'));
  const { OpenAI } = load('openai');
  const Anthropic = load('@anthropic-ai/sdk').Anthropic;
  const { url } = server;
  return {
    url,
    model: 'kvern-tiny',
    OpenAI,
    Anthropic,
    openai: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 }),
    /** A plain request: { status, headers, text, json }. */
    async request(method, path, body, headers = {}) {
      const response = await fetch(url + path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      });
      const text = await response.text();
      let json;
      try {
        json = JSON.parse(text);
      } catch {
        json = undefined;
      }
      return { status: response.status, headers: response.headers, text, json };
    },
    post(path, body, headers) {
      return this.request('POST', path, body, headers);
    },
    curl: (...parameters) => run('curl', ['-sS', '--max-time', '30', ...parameters]),
    /** The request is answered with this status, and with an error about this field. */
    async refused(path, body, status, param, code) {
      const answer = await this.post(path, body);
      assert.equal(answer.status, status, answer.text);
      assert.equal(typeof answer.json.error.message, 'string');
      assert.equal(typeof answer.json.error.type, 'string');
      if (param !== undefined) assert.equal(answer.json.error.param, param, answer.text);
      if (code !== undefined) assert.equal(answer.json.error.code, code, answer.text);
      return answer.json.error;
    },
  };
}
