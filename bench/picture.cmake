add_executable(bench_picture bench_picture.c ${PROJECT_SOURCE_DIR}/tests/unit/agent/run_driver.c)
target_link_libraries(bench_picture PRIVATE sma_flags sma_agent_run m)
add_test(NAME bench_picture COMMAND bench_picture --quick)
set_tests_properties(bench_picture PROPERTIES LABELS bench TIMEOUT 120 RUN_SERIAL ON)
