if(NOT TARGET shipmyagent OR NOT TARGET sma_fake_telegram)
    return()
endif()
add_executable(bench_turn bench_turn.c ${PROJECT_SOURCE_DIR}/tests/scenario/price.c)
target_link_libraries(bench_turn PRIVATE sma_test_process sma_fake_telegram m Threads::Threads)
add_dependencies(bench_turn fake_telegram fake_model)
add_test(NAME bench_turn COMMAND bench_turn --binary $<TARGET_FILE:shipmyagent>
    --telegram $<TARGET_FILE:fake_telegram> --model $<TARGET_FILE:fake_model> --quick)
set_tests_properties(bench_turn PROPERTIES LABELS bench TIMEOUT 600)
