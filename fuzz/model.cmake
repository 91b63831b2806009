kvern_add_fuzzer(gguf LINK kvern::model)
kvern_add_fuzzer(safetensors LINK kvern::model)
kvern_add_fuzzer(config LINK kvern::model)
