// Runs the cases of cases/*.mjs against live servers and prints a table of what works.
//
//   node tests/e2e/run.mjs --kvern build/dev/src/cli/kvern --clients build/dev/peers/e2e --model MODEL [--only WORDS]
//                          [--table docs/conformance.md [--write]]
//
// With --table the cases must be those that stand there; --write writes them there when all have passed.
//
// A file of cases exports `api` (a name for the table), `cases` (name -> async function of the context below) and, where its
// server needs flags of its own, `serverFlags`. A case passes when it does not throw. Files with the same flags share a server.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { join, dirname } from 'node:path';

import { makeContext } from './context.mjs';
import { startServer } from './server.mjs';

const kCaseTimeoutMs = 60_000;

const { values: flags } = parseArgs({
  options: {
    kvern: { type: 'string' },
    clients: { type: 'string' },
    model: { type: 'string' },
    only: { type: 'string', default: '' },
    table: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});

const folder = join(dirname(fileURLToPath(import.meta.url)), 'cases');
const files = (await readdir(folder)).filter((name) => name.endsWith('.mjs')).sort();
const groups = await Promise.all(files.map((name) => import(pathToFileURL(join(folder, name)))));

async function within(limit, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${limit} ms`)), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const servers = new Map();
async function serverFor(serverFlags) {
  const key = JSON.stringify(serverFlags);
  if (!servers.has(key)) servers.set(key, await startServer({ ...flags, serverFlags }));
  return servers.get(key);
}

const rows = [];
for (const group of groups) {
  const server = await serverFor(group.serverFlags ?? []);
  const context = makeContext({ server, clients: flags.clients });
  for (const [name, run] of Object.entries(group.cases)) {
    if (!`${group.api} ${name}`.includes(flags.only)) continue;
    const row = { api: group.api, name, problem: '' };
    try {
      await within(kCaseTimeoutMs, run(context));
      if (!server.alive()) throw new Error('the server has ended');
    } catch (error) {
      row.problem = error?.stack ?? String(error);
    }
    rows.push(row);
  }
}

const problems = rows.filter((row) => row.problem !== '');
for (const server of servers.values()) {
  const code = await server.stop();
  if (code !== 0) problems.push({ api: 'server', name: 'ends cleanly', problem: `exit code ${code}\n${server.log()}` });
}

const width = (column) => Math.max(...rows.map((row) => row[column].length), column.length);
const line = (api, name, result) => `${api.padEnd(width('api'))}  ${name.padEnd(width('name'))}  ${result}`;
console.log(line('api', 'case', 'result'));
for (const row of rows) console.log(line(row.api, row.name, row.problem === '' ? 'ok' : 'FAILED'));

const kTableBegin = '| API | what works |\n| --- | --- |\n';
async function checkTable() {
  const text = await readFile(flags.table, 'utf8');
  const begin = text.indexOf(kTableBegin);
  const table = `${kTableBegin}${rows.map((row) => `| ${row.api} | ${row.name.replaceAll('|', '\\|')} |\n`).join('')}`;
  const whole = `${text.slice(0, begin)}${table}`.replace(/\b\d+ cases/, `${rows.length} cases`);
  if (begin < 0 || whole === text) return;
  if (flags.write && problems.length === 0) return writeFile(flags.table, whole);
  problems.push({ api: flags.table, name: 'has these cases', problem: 'it has others: run this again with --write' });
}
if (flags.table && flags.only === '') await checkTable();

for (const { api, name, problem } of problems) console.log(`\n=== ${api}: ${name}\n${problem}`);
console.log(`\n${rows.length} cases, ${problems.length} failed`);
process.exitCode = problems.length > 0 || rows.length === 0 ? 1 : 0;
