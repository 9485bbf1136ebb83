add_executable(bench_store bench_store.c)
target_link_libraries(bench_store PRIVATE sma_flags sma_chat)
add_test(NAME bench_store COMMAND bench_store --quick)
set_tests_properties(bench_store PROPERTIES LABELS bench TIMEOUT 600)
add_executable(bare_log bare_log.c) # the same rows, appended: ADR 0023
target_link_libraries(bare_log PRIVATE sma_flags)
