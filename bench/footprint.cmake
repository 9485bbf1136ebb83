if(NOT TARGET shipmyagent)
    return()
endif()
# The bare process: the same libraries initialised, as many parked threads, and nothing else.
add_executable(bare_footprint bare_footprint.c)
target_link_libraries(bare_footprint PRIVATE sma_flags PkgConfig::CURL PkgConfig::UV PkgConfig::SQLITE
    PkgConfig::JANSSON PkgConfig::CRYPTO PkgConfig::PCRE2 Threads::Threads)
add_executable(bench_footprint bench_footprint.c)
target_link_libraries(bench_footprint PRIVATE sma_flags Threads::Threads)
add_test(NAME bench_footprint COMMAND bench_footprint --binary $<TARGET_FILE:shipmyagent>
    --bare $<TARGET_FILE:bare_footprint> --quick)
set_tests_properties(bench_footprint PROPERTIES LABELS bench TIMEOUT 600)
