# reference_ck.c: what the mailbox is measured against; out of line, built like the mailbox itself.
add_executable(bench_mailbox bench_mailbox.c reference_ck.c)
target_link_libraries(bench_mailbox PRIVATE sma_flags sma_mailbox PkgConfig::CK Threads::Threads m)
add_test(NAME bench_mailbox COMMAND bench_mailbox --quick)
set_tests_properties(bench_mailbox PROPERTIES LABELS bench TIMEOUT 120 RUN_SERIAL ON)
