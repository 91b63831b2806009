kvern_add_fuzzer(template LINK kvern::text)
