// Makes tokenizers that use the less common components, each a variation of one that make_tokenizer_json.mjs made, for
// compare_tokenizers.mjs.
//
//   node make_component_tokenizers.mjs DIRECTORY
//
// Writes DIRECTORY/components/*.json.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const directory = process.argv[2];
const out = join(directory, 'components');
mkdirSync(out, { recursive: true });
const load = (name) => JSON.parse(readFileSync(join(directory, 'made', `${name}.json`), 'utf8'));
const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };

function save(name, base, change) {
  const tokenizer = load(base);
  change(tokenizer);
  writeFileSync(join(out, `${name}.json`), JSON.stringify(tokenizer));
}
const split = (pattern, behavior, invert) => ({ type: 'Split', pattern, behavior, invert });

const preTokenizers = {
  digits: { type: 'Digits', individual_digits: false },
  single_digits: { type: 'Digits', individual_digits: true },
  punctuation: { type: 'Punctuation', behavior: 'Isolated' },
  punctuation_runs: { type: 'Punctuation', behavior: 'Contiguous' },
  words: { type: 'Whitespace' },
  space: { type: 'WhitespaceSplit' },
  bert: { type: 'BertPreTokenizer' },
  delimiter: { type: 'CharDelimiterSplit', delimiter: 'e' },
  prefix_space: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
};
for (const behavior of ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'])
  for (const invert of [false, true])
    preTokenizers[`split_${behavior}_${invert}`] = split({ Regex: '\\s|\\p{N}|a*' }, behavior, invert);
for (const [name, pre] of Object.entries(preTokenizers))
  save(`pre_${name}`, 'gpt2', (t) => {
    t.pre_tokenizer = name === 'prefix_space' ? pre : { type: 'Sequence', pretokenizers: [pre, byteLevel] };
  });

const normalizers = {
  nfd: { type: 'NFD' }, nfkc: { type: 'NFKC' }, nfkd: { type: 'NFKD' }, lower: { type: 'Lowercase' },
  accents: { type: 'Sequence', normalizers: [{ type: 'NFD' }, { type: 'StripAccents' }] },
  strip: { type: 'Strip', strip_left: true, strip_right: true },
  strip_left: { type: 'Strip', strip_left: true, strip_right: false },
  nmt: { type: 'Nmt' },
  replace: { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
};
for (const [name, normalizer] of Object.entries(normalizers))
  save(`normalizer_${name}`, 'gpt2', (t) => { t.normalizer = normalizer; });
save('normalizer_bytes', 'gpt2', (t) => {
  t.normalizer = { type: 'ByteLevel' };
  t.pre_tokenizer = null;
});

const metaspace = (scheme, splits) => (t) => {
  t.normalizer = null;
  t.pre_tokenizer = { type: 'Metaspace', replacement: '\u2581', prepend_scheme: scheme, split: splits };
  t.decoder = { type: 'Metaspace', replacement: '\u2581', prepend_scheme: scheme, split: splits };
};
for (const scheme of ['always', 'first', 'never'])
  for (const splits of [true, false]) save(`metaspace_${scheme}_${splits}`, 'llama2', metaspace(scheme, splits));

const unigram = (byteFallback) => (t) => {
  const tokens = Object.entries(t.model.vocab).sort((a, b) => a[1] - b[1]);
  t.model = {
    type: 'Unigram', unk_id: 0, byte_fallback: byteFallback,
    vocab: tokens.map(([text, id]) => [text, id < 3 ? 0 : -1 - Math.log(id)]),
  };
  metaspace('always', true)(t);
};
save('unigram', 'llama2', unigram(false));
save('unigram_bytes', 'llama2', unigram(true));

save('unk', 'llama2', (t) => { Object.assign(t.model, { byte_fallback: false, fuse_unk: false }); });
save('unk_fused', 'llama2', (t) => { Object.assign(t.model, { byte_fallback: false, fuse_unk: true }); });
save('ignore_merges', 'llama2', (t) => {
  t.model.ignore_merges = true;
  metaspace('first', true)(t);
});
save('no_decoder', 'gpt2', (t) => { t.decoder = null; });
save('added', 'gpt2', (t) => {
  let next = 50257;
  const add = (content, options) => t.added_tokens.push({
    id: t.model.vocab[content] ?? next++, content, single_word: false, lstrip: false, rstrip: false, normalized: false,
    special: false, ...options,
  });
  t.normalizer = { type: 'Lowercase' };
  add('<s>', { lstrip: true, special: true });
  add('</s>', { rstrip: true });
  add('the', { single_word: true, normalized: true });
  add('hello', { normalized: true });
  add('<|im_start|>', { lstrip: true, rstrip: true });
  add('\u4f60\u597d', { single_word: true });
});
