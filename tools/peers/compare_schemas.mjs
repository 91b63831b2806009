// Checks with ajv that what grammars of JSON Schemas give and take is valid, and that llama.cpp's published example
// grammars compile.
//
//   node compare_schemas.mjs DIRECTORY GRAMMAR_LINES TOKENIZER_JSON
//
// DIRECTORY is where install_grammars.sh put things; GRAMMAR_LINES the program tests/text/grammar/grammar_lines.cc. The exit
// status is 1 when a text is not valid or a grammar fails, or fewer than 1000 texts came; 77 (skipped) when ajv is not
// installed.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const kLeast = 1000;
const [, , directory, program, tokenizer] = process.argv;
if (!existsSync(join(directory, 'node_modules/ajv'))) {
  console.log('skipped: ajv is not installed; see tools/peers/install_grammars.sh');
  process.exit(77);
}
const require = createRequire(join(resolve(directory), 'package.json'));
const Ajv = require('ajv/dist/2020').default;
const addFormats = require('ajv-formats').default;

function run(...args) {
  const done = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(`${program} failed: ${done.stderr}`);
  return done.stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line));
}

const validators = new Map();
function validatorOf(schema) {
  const key = JSON.stringify(schema);
  if (!validators.has(key)) {
    const ajv = new Ajv({ strict: false, unicodeRegExp: true });
    addFormats(ajv);
    validators.set(key, ajv.compile(schema));
  }
  return validators.get(key);
}

let wrong = 0;
const lines = run(tokenizer);
for (const { schema, text } of lines) {
  const validate = validatorOf(schema);
  let valid = false;
  let reason = 'not JSON';
  try {
    valid = validate(JSON.parse(text));
    reason = JSON.stringify(validate.errors);
  } catch (error) {
    reason = String(error);
  }
  if (valid) continue;
  wrong += 1;
  if (wrong <= 10) console.log(`${text}\n  ${reason}\n  ${JSON.stringify(schema)}`);
}
const files = readdirSync(join(directory, 'grammars')).filter((name) => name.endsWith('.gbnf')).map((name) => join(directory, 'grammars', name));
const failed = run('--gbnf', ...files);
for (const { file, error } of failed) console.log(`${file}: ${error}`);
console.log(`${lines.length} texts, ${wrong} not valid; ${files.length} grammars, ${failed.length} failed`);
process.exit(wrong > 0 || failed.length > 0 || lines.length < kLeast || files.length < 6 ? 1 : 0);
