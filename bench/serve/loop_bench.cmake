# The engine without HTTP, on the scripts of serve_bench.py.
add_executable(loop_bench serve/loop_bench.cc)
target_link_libraries(loop_bench PRIVATE kvern::engine)
