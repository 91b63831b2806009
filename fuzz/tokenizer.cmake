kvern_add_fuzzer(tokenizer_json LINK kvern::text)
kvern_add_fuzzer(tokenizer_gguf LINK kvern::text)
kvern_add_fuzzer(tokenizer_text LINK kvern::text)
