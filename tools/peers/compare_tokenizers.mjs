// Compares kvern's tokenizer with Hugging Face's on random texts: ids (special tokens found, none added) and decodings.
//
//   node compare_tokenizers.mjs DIRECTORY TOKENIZE_LINES tokenizer.json [COUNT | characters] [SEED]
//
// DIRECTORY is where install_tokenizers.sh put node_modules; TOKENIZE_LINES the program tests/text/tokenize_lines.cc.
// Prints the number of texts and of differences, and the first differences; the exit status is 1 when there are any.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [, , directory, program, file, countText = '100000', seedText = '1'] = process.argv;
const { Tokenizer } = createRequire(join(resolve(directory), 'package.json'))('tokenizers');

// mulberry32: small, seeded, the same everywhere.
let state = Number(seedText) >>> 0;
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];

const words = ('the of and Hello world function return Donaudampfschiff naïve café straße I\'m you\'RE it\'S can\'t ' +
  'кошка собака Ελλάδα ψυχή שלום مرحبا नमस्ते สวัสดี 你好 世界 こんにちは カタカナ 한국어 ሰላም Tiếng Việt İstanbul ﬁne ' +
  'http://a.b/c?d=e&f=%20 foo_bar fooBar FOO x+=1; if(x){y} 3.14159 1,234,567 0xFF 12345678901 ½ ² Ⅳ ٣٤ 中文1英文').split(' ');
const spaces = [' ', '  ', '   ', '\t', '\n', '\r\n', '\r', '\u00a0', '\u3000', '\u2028', '\u200b', '\u0085', '\v', '\f',
  '\n\n\n', ' \n ', '\t\t', '\u1680', '\u180e', '\u202f', ' '.repeat(17), '\n'.repeat(9)];
const emoji = ['😀', '👨‍👩‍👧‍👦', '🏳️‍🌈', '👩🏿‍🚀', '1️⃣', '©️', '🇩🇪', '🫨', '❤️', '🧿'];
const marks = ['\u0301', '\u0308', '\u0327', '\u05b0', '\u064b', '\u093f', '\u20dd', '\u200d', '\ufe0f', '\u0345'];
const controls = ['\0', '\x01', '\x07', '\x1b', '\x7f', '\ufeff', '\u202e', '\ufffd', '\ufffe', '\u2060', '\u00ad'];
const code = ['    def f(x):\n', '\treturn x  # ok\n', '{"a": [1, 2.5e3, null]}', '</div><br/>', '#include <vector>\n',
  'for (int i=0;i<n;++i)', '/* ... */', '=== --- ***', '\\n\\t\\"', '$HOME/${x}', 'a\\b', '`~!@#$%^&*()_+-=[]{}|;:\'",.<>/?'];
const literals = ['<s>', '</s>', '<unk>', '<0x0A>', '<0xE2>', '[INST]', '<|im_start|>', '<|im_end|>', '<|endoftext|>',
  '<|begin_of_text|>', '<|eot_id|>', '<start_of_turn>', '<end_of_turn>', '<bos>', '<think>', '</think>', '<tool_call>',
  '<|im_sta', 'rt|>', '▁', '▁▁', 'Ġ', '<unused5>', '[multimodal]', '<', '>', '|'];
// Ranges of assigned characters; what other libraries' Unicode versions add later stays out.
const ranges = [[0x20, 0x7e], [0xa0, 0x24f], [0x370, 0x3ff], [0x400, 0x4ff], [0x531, 0x587], [0x591, 0x5f4], [0x600, 0x6ff],
  [0x900, 0x97f], [0xe01, 0xe5b], [0x10a0, 0x10ff], [0x1100, 0x11ff], [0x1200, 0x137c], [0x1e00, 0x1fff], [0x2000, 0x206f],
  [0x20a0, 0x20bf], [0x2100, 0x214f], [0x2190, 0x23ff], [0x2500, 0x27bf], [0x3040, 0x30ff], [0x4e00, 0x9fa5],
  [0xac00, 0xd7a3], [0xf900, 0xfad9], [0xfb00, 0xfb06], [0xff01, 0xffee], [0x10330, 0x1034a], [0x1d400, 0x1d7ff],
  [0x1f300, 0x1f64f], [0x1f680, 0x1f6d2], [0x20000, 0x2a6d6]];

function character() {
  const [low, high] = pick(ranges);
  return String.fromCodePoint(low + below(high - low + 1));
}
const run = (make, most) => Array.from({ length: 1 + below(most) }, make).join('');
const parts = [
  () => pick(words), () => ' ' + pick(words), () => pick(spaces), () => pick(emoji), () => pick(marks), () => pick(controls),
  () => pick(code), () => pick(literals), () => run(character, 4), () => pick(words) + pick(marks),
  () => run(() => String.fromCharCode(0x61 + below(26)), 12), () => run(() => String(below(10)), 8),
  () => pick(words).toUpperCase(), () => pick(words).normalize('NFD'), () => run(() => pick('.,;:!?-_\'"()'), 4),
];
const text = () => run(() => pick(parts)(), 1 + below(24)).replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '');

const tokenizer = Tokenizer.fromString(readFileSync(file, 'utf8'));
const child = spawn(program, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
child.stdin.on('error', () => {});
// Not node:readline, which also ends lines at U+2028.
async function* lines(stream) {
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop();
    yield* parts;
  }
}
const answers = lines(child.stdout);
// With `characters` for a count: every character there is, between letters, digits, spaces and after another one.
function* characters() {
  for (let c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    const s = String.fromCodePoint(c);
    yield `a${s}b ${s} 1${s}2\u0301${s}`;
  }
}
function* randomTexts(n) {
  for (let i = 0; i < n; ++i) yield text();
}
const source = countText === 'characters' ? characters() : randomTexts(Number(countText));
const take = (n) => {
  const out = [];
  while (out.length < n) {
    const next = source.next();
    if (next.done) break;
    out.push(next.value);
  }
  return out;
};
let count = 0;
let differences = 0;
for (let texts = take(500); texts.length > 0; texts = take(500)) {
  count += texts.length;
  child.stdin.write(texts.map((t) => JSON.stringify(t) + '\n').join(''));
  const encodings = await tokenizer.encodeBatch(texts, { addSpecialTokens: false });
  const wanted = encodings.map((e) => e.getIds());
  const decoded = await tokenizer.decodeBatch(wanted, false);
  for (let i = 0; i < texts.length; ++i) {
    const line = await answers.next();
    if (line.done) throw new Error('the program ended early');
    const { ids, text: got } = JSON.parse(line.value);
    if (JSON.stringify(ids) === JSON.stringify(wanted[i]) && got === decoded[i]) continue;
    if (++differences <= 5)
      console.log(JSON.stringify({ text: texts[i], wanted: wanted[i], ids, wantedText: decoded[i], gotText: got }));
  }
}
child.stdin.end();
console.log(`${file}: ${count} texts, ${differences} differences`);
process.exit(differences === 0 ? 0 : 1);
