# Tests of the chat-template engine.
kvern_add_test(template/reference_cases_test.cc LINK kvern::text)
kvern_add_test(template/chat_template_test.cc LINK kvern::text)
kvern_add_test(template/white_space_test.cc LINK kvern::text)
kvern_add_test(template/limits_test.cc LINK kvern::text)
kvern_add_test(template/strftime_test.cc LINK kvern::text)
kvern_add_test(template/unicode_test.cc LINK kvern::text)
kvern_add_test(template/number_text_test.cc LINK kvern::text)
kvern_add_test(template/shared_goldens_test.cc LINK kvern::text LABELS shared)

# For comparisons with other engines (tools/peers).
add_executable(render_lines template/render_lines.cc)
target_link_libraries(render_lines PRIVATE kvern::text)

if(KVERN_NODE)
  add_test(NAME text/template/compare_templates
    COMMAND ${KVERN_NODE} ${PROJECT_SOURCE_DIR}/tools/peers/compare_templates.mjs ${KVERN_PEERS_DIR}
      $<TARGET_FILE:render_lines> ${PROJECT_SOURCE_DIR}/tests/data/template/jinja_cases.json)
  set_tests_properties(text/template/compare_templates PROPERTIES LABELS peer TIMEOUT 120
    FIXTURES_REQUIRED peer_templates)
endif()
