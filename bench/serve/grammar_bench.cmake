# What structured output costs for each token. Needs a tokenizer.json (tools/peers/install_tokenizers.sh has some).
add_executable(grammar_bench serve/grammar_bench.cc)
target_link_libraries(grammar_bench PRIVATE kvern::text)
