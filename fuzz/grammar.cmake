kvern_add_fuzzer(grammar_gbnf LINK kvern::text)
kvern_add_fuzzer(grammar_schema LINK kvern::text)
