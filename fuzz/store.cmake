kvern_add_fuzzer(kv_block LINK kvern::store)
kvern_add_fuzzer(kv_manifest LINK kvern::store)
kvern_add_fuzzer(kv_export LINK kvern::store)
kvern_add_fuzzer(redis LINK kvern::store)
