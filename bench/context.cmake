add_executable(bench_context bench_context.c ${PROJECT_SOURCE_DIR}/tests/unit/agent/run_driver.c)
target_link_libraries(bench_context PRIVATE sma_flags sma_agent_run)
add_test(NAME bench_context COMMAND bench_context --quick)
set_tests_properties(bench_context PROPERTIES LABELS bench TIMEOUT 120)
