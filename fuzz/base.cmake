kvern_add_fuzzer(json LINK kvern::base)
