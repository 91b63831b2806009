kvern_add_test(server/auth/api_keys_test.cc LINK kvern::server)
