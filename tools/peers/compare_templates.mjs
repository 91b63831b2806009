// Compares kvern's templates with @huggingface/jinja on the cases of tests/data/template/jinja_cases.json.
//
//   node compare_templates.mjs DIRECTORY RENDER_LINES jinja_cases.json
//
// DIRECTORY is where install_templates.sh put node_modules; RENDER_LINES the program tests/text/template/render_lines.cc.
// The cases carry what Python's Jinja gave. Where the peer agrees with Python, kvern must too: the exit status is 1 when
// it does not, when fewer than 200 cases are left to compare, and 77 (skipped) when the peer is not installed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const kLeast = 200;
const [, , directory, program, file] = process.argv;
if (!existsSync(join(directory, 'node_modules/@huggingface/jinja'))) {
  console.log('skipped: @huggingface/jinja is not installed; see tools/peers/install_templates.sh');
  process.exit(77);
}
const { Template } = createRequire(join(resolve(directory), 'package.json'))('@huggingface/jinja');
const { cases, context } = JSON.parse(readFileSync(file, 'utf8'));

function peer(source) {
  try {
    return { rendered: new Template(source).render({ ...context }) };
  } catch (error) {
    return { error: String(error) };
  }
}

const lines = cases.map((item) => JSON.stringify({ template: item.template, context })).join('\n') + '\n';
const run = spawnSync(program, { input: lines, encoding: 'utf8', maxBuffer: 1 << 28 });
const ours = run.stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line));
if (run.status !== 0 || ours.length !== cases.length) throw new Error(`${program} failed: ${run.stderr}`);

let compared = 0;
let elsewhere = 0;
const differences = [];
cases.forEach((item, i) => {
  const theirs = peer(item.template);
  const both = 'rendered' in theirs ? theirs.rendered === item.rendered : !('rendered' in item);
  if (!both) {
    ++elsewhere;
    return;
  }
  ++compared;
  if (ours[i].rendered !== theirs.rendered) differences.push({ template: item.template, ours: ours[i], theirs });
});
console.log(`${cases.length} cases: ${compared} where the peer agrees with Python, ${elsewhere} where it does not; ` +
  `${differences.length} differences of kvern`);
for (const difference of differences.slice(0, 20)) console.log(JSON.stringify(difference));
process.exit(differences.length > 0 || compared < kLeast ? 1 : 0);
