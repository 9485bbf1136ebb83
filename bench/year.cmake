if(NOT TARGET shipmyagent OR NOT TARGET sma_fake_telegram)
    return()
endif()
set(scenario ${PROJECT_SOURCE_DIR}/tests/scenario)
add_executable(year year/year.c year/year_mould.c year/year_plan.c year/year_write.c ${scenario}/approval_world.c
    ${scenario}/telegram_world.c)
target_link_libraries(year PRIVATE sma_fake_telegram sma_chat PkgConfig::SQLITE m Threads::Threads)
add_dependencies(year fake_model)
