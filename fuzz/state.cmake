kvern_add_fuzzer(row_image LINK kvern::state)
