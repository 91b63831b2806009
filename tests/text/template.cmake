# Tests of the chat-template engine.
kvern_add_test(template/reference_cases_test.cc LINK kvern::text)
kvern_add_test(template/chat_template_test.cc LINK kvern::text)
kvern_add_test(template/white_space_test.cc LINK kvern::text)
kvern_add_test(template/limits_test.cc LINK kvern::text)
kvern_add_test(template/shared_goldens_test.cc LINK kvern::text LABELS shared)

# For comparisons with other engines (tools/peers).
add_executable(render_lines template/render_lines.cc)
target_link_libraries(render_lines PRIVATE kvern::text)
