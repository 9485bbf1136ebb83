# Tests. Each is a process of its own, known to ctest by its name and its labels; a label says in which tier it runs:
#   unit sim scenario   scripts/test: the verdict of minutes
#   loops               ... and only scripts/test --ci has the time: what cuts, kills or breaks at every place in turn
#   threads             ... and --ci runs it with the thread sanitizer, too
#   long                scripts/test --all alone
#   crash install policy systemd     on the release build, or as root
#   soak bench          by hand
# A test with `loops` or `long` has its kind (unit ...) as well. The reason stands beside the label.

# The thread sanitizer compares threads. Left out of what is built and run with it: tests of one thread (the store's, which
# drive it by hand, words, rules, files), the command line, and of scenarios in which the same threads do the same things
# all but one. What these find is found with the other sanitizers.
set(SMA_SAYS_NOTHING_OF_THREADS
    test_store_.* test_state_[a-v].* test_text_.* test_config.* test_approval.* test_access.* test_doctor.* test_init.*
    test_cli.* test_mcp_tls test_skills.* test_markup.* test_media.* test_web_rules test_files.* test_run_.* test_fake_.*
    scenario_cli scenario_chat_terminal scenario_commands scenario_documents init_wizard init_flags scenario_doctor
    scenario_model_matrix scenario_model_price scenario_openai_world scenario_past scenario_pictures_refused scenario_seen
    scenario_bench scenario_chaos scenario_skills scenario_budget scenario_provider_keys
    scenario_simulate scenario_approval_tools)
list(JOIN SMA_SAYS_NOTHING_OF_THREADS "|" SMA_SAYS_NOTHING_OF_THREADS)

# sma_label(LABEL test...): a further label of tests of this folder.
function(sma_label label)
    foreach(name ${ARGN})
        if(TEST ${name})
            set_property(TEST ${name} APPEND PROPERTY LABELS ${label})
            get_property(program GLOBAL PROPERTY SMA_PROGRAM_${name})
            set_property(GLOBAL APPEND PROPERTY SMA_TESTS_${label} ${program})
        elseif(NOT SMA_SANITIZE MATCHES "thread") # there tests are left out
            message(WARNING "sma_label(${label} ...): there is no test ${name} in ${CMAKE_CURRENT_SOURCE_DIR}")
        endif()
    endforeach()
endfunction()

# sma_clock_one(test...): these run in the machine's time, whatever SMA_TEST_SCALE the others have. The caller says why.
function(sma_clock_one)
    set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT SMA_TEST_SCALE=1)
endfunction()

# sma_starts_in_sandbox(test...): a command in the sandbox is a program of the build. The sandbox hides /tmp: in a tree there
# these tests are left out, which ctest and scripts/run-tests say.
function(sma_starts_in_sandbox)
    if(PROJECT_BINARY_DIR MATCHES "^/tmp/")
        set_tests_properties(${ARGN} PROPERTIES DISABLED ON)
        set_property(GLOBAL APPEND PROPERTY SMA_HIDDEN_TESTS ${ARGN})
    endif()
endfunction()

# sma_case(name OF test [ARGS ...] [LABEL ...] [TIMEOUT s]): a test that is the program of another with other arguments.
function(sma_case name)
    cmake_parse_arguments(arg "" "OF;TIMEOUT" "LABEL;ARGS" ${ARGN})
    get_property(command GLOBAL PROPERTY SMA_COMMAND_${arg_OF})
    if(NOT command) # not in this configuration
        return()
    endif()
    if(NOT arg_LABEL)
        get_property(arg_LABEL GLOBAL PROPERTY SMA_LABEL_${arg_OF})
    endif()
    sma_register_test(${name} "${arg_LABEL}" "${arg_TIMEOUT}" ${command} ${arg_ARGS})
endfunction()

function(sma_register_test name labels timeout program)
    add_test(NAME ${name} COMMAND ${program} ${ARGN})
    if(NOT timeout)
        set(timeout 60)
    endif()
    if(SMA_SANITIZE) # slower, and on a busy machine slower again
        math(EXPR timeout "${timeout} * 4")
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout})
    if("scenario" IN_LIST labels) # they wait: the quick ones fill the gaps behind them
        set_tests_properties(${name} PROPERTIES COST 15)
    endif()
    set_property(GLOBAL PROPERTY SMA_PROGRAM_${name} ${program})
    foreach(label ${labels})
        set_property(GLOBAL APPEND PROPERTY SMA_TESTS_${label} ${program})
    endforeach()
endfunction()

# What every program of tests sees.
function(sma_test_program program)
    target_link_libraries(${program} PRIVATE sma_flags)
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${program} PRIVATE SMA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

# sma_bundle(folder [SOURCES ...] LINK ... [DEFINE ...] [MAIN file]): the program <folder>_tests, in which tests of a folder stand
# together: one link instead of dozens. SOURCES, what they share, are a library, sma_<folder>_tests, compiled once.
function(sma_bundle folder)
    cmake_parse_arguments(arg "" "MAIN" "SOURCES;LINK;DEFINE" ${ARGN})
    set(program ${folder}_tests)
    if(NOT arg_MAIN)
        set(arg_MAIN ${PROJECT_SOURCE_DIR}/tests/support/bundle.c)
    endif()
    add_executable(${program} ${arg_MAIN})
    if(arg_SOURCES)
        add_library(sma_${program} STATIC ${arg_SOURCES})
        target_link_libraries(sma_${program} PUBLIC sma_flags ${arg_LINK})
        target_include_directories(sma_${program} PUBLIC ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
        target_compile_definitions(sma_${program} PUBLIC SMA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${arg_DEFINE})
        target_link_libraries(${program} PRIVATE sma_${program})
    endif()
    target_link_libraries(${program} PRIVATE ${arg_LINK})
    target_compile_definitions(${program} PRIVATE ${arg_DEFINE})
    sma_test_program(${program})
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${program}.inc
        CONTENT "$<JOIN:$<TARGET_PROPERTY:${program},SMA_MAINS>,\n>\n")
    set_property(GLOBAL APPEND PROPERTY SMA_BUNDLES ${CMAKE_CURRENT_BINARY_DIR}/${program}.inc)
    target_compile_definitions(${program} PRIVATE SMA_BUNDLE="${CMAKE_CURRENT_BINARY_DIR}/${program}.inc")
    if(SMA_SANITIZE MATCHES "thread") # some have nothing left
        set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
endfunction()

# sma_test(name LABEL unit SOURCES ... LINK ... [TIMEOUT s] [ARGS ...] [CLOCK 1])   a program of its own
# sma_test(name LABEL unit IN folder [SOURCES file.c] ...)   in the program of the folder; without SOURCES <name>.c is the file
# CLOCK 1: in the machine's time (sma_clock_one).
function(sma_test name)
    cmake_parse_arguments(arg "" "IN;TIMEOUT;CLOCK" "LABEL;SOURCES;LINK;ARGS" ${ARGN})
    if(SMA_SANITIZE MATCHES "thread" AND name MATCHES "^(${SMA_SAYS_NOTHING_OF_THREADS})$" AND
       NOT name STREQUAL "test_store_actor")
        if(arg_IN)
            return()
        endif()
        set(arg_LABEL left_out)
    endif()
    if(arg_IN)
        set(program ${arg_IN}_tests)
        if(NOT arg_SOURCES)
            set(arg_SOURCES ${name}.c)
        endif()
        get_filename_component(main ${arg_SOURCES} NAME_WE)
        get_property(mains TARGET ${program} PROPERTY SMA_MAINS)
        if(NOT "X(${main})" IN_LIST mains)
            set_property(TARGET ${program} APPEND PROPERTY SMA_MAINS "X(${main})")
            target_sources(${program} PRIVATE ${arg_SOURCES})
            # its main() is called by the table of bundle.c
            set_source_files_properties(${arg_SOURCES} PROPERTIES COMPILE_OPTIONS "-Dmain=main_${main};-Wno-missing-prototypes")
        endif()
        set(command ${program} ${main})
    else()
        set(program ${name})
        set(command ${program})
        add_executable(${program} ${arg_SOURCES})
        target_link_libraries(${program} PRIVATE ${arg_LINK})
        sma_test_program(${program})
        if(arg_LABEL STREQUAL "left_out")
            set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
    endif()
    set_property(GLOBAL PROPERTY SMA_COMMAND_${name} ${command})
    set_property(GLOBAL PROPERTY SMA_LABEL_${name} ${arg_LABEL})
    sma_register_test(${name} "${arg_LABEL}" "${arg_TIMEOUT}" ${command} ${arg_ARGS})
    if(arg_CLOCK)
        sma_clock_one(${name})
    endif()
endfunction()

# sma_tests(folder name...): unit tests in the program of the folder, each <name>.c.
function(sma_tests folder)
    foreach(name ${ARGN})
        sma_test(${name} LABEL unit IN ${folder})
    endforeach()
endfunction()
