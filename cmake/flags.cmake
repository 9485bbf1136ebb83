# Compiler settings as two interface targets: sma_flags for every target, sma_sanitize for all but the CK file.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(sma_flags INTERFACE)
target_compile_definitions(sma_flags INTERFACE _GNU_SOURCE SMA_VERSION="${PROJECT_VERSION}")
target_include_directories(sma_flags INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_options(sma_flags INTERFACE
    -Wall -Wextra -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Wpointer-arith -Wwrite-strings -Wundef -Werror=implicit -Werror=format-security
    $<$<C_COMPILER_ID:Clang>:-Wno-string-concatenation> # a long text in an array is wrapped by the formatter
    -fno-strict-overflow -fno-delete-null-pointer-checks -fno-common
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
if(SMA_TEST_CLOCK)
    if(CMAKE_BUILD_TYPE MATCHES "^(Release|MinSizeRel)$")
        message(FATAL_ERROR "SMA_TEST_CLOCK is for tests: what people use keeps the time of the machine")
    endif()
    target_compile_definitions(sma_flags INTERFACE SMA_TEST_CLOCK)
endif()
if(SMA_WERROR)
    target_compile_options(sma_flags INTERFACE -Werror)
endif()
if(SMA_BUILD_FUZZ)
    # A fuzzer sees only code that counts its edges: all of ours, not the target's own file alone.
    target_compile_options(sma_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SMA_SANITIZE)
    # The instrumentation hides value ranges from the optimiser, so that these three warn of what cannot happen; the
    # release preset has them on.
    target_compile_options(sma_flags INTERFACE -fsanitize=${SMA_SANITIZE} -fno-omit-frame-pointer
        $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> $<$<C_COMPILER_ID:GNU>:-Wno-format-overflow>
        $<$<C_COMPILER_ID:GNU>:-Wno-dangling-pointer>)
    target_link_options(sma_flags INTERFACE -fsanitize=${SMA_SANITIZE})
    find_program(SMA_MOLD mold) # hundreds of test programs are linked: seconds each with the usual linker
    if(SMA_MOLD AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        target_link_options(sma_flags INTERFACE -fuse-ld=mold)
    endif()
    if(SMA_SANITIZE MATCHES "undefined")
        target_compile_options(sma_flags INTERFACE -fno-sanitize-recover=undefined)
    endif()
else()
    set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
    target_compile_options(sma_flags INTERFACE
        "$<${optimised}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3;-fstack-protector-strong;-fstack-clash-protection>")
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
        target_compile_options(sma_flags INTERFACE $<${optimised}:-fcf-protection=full>)
    endif()
    target_link_options(sma_flags INTERFACE
        "$<${optimised}:-pie;-Wl,-z,relro,-z,now,-z,noexecstack;-Wl,--as-needed>")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/arrows.cmake)

# A build spends most of its time in starting compilers and reading headers. Where nobody edits what is built, files of
# a library are compiled together.
option(SMA_UNITS "Compile files of a library together; cmake/units.awk says which" OFF)
if(SMA_UNITS) # a file may call a variable as its neighbour calls a function; bounds are known across files
    target_compile_options(sma_flags INTERFACE -Wno-shadow
        $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> $<$<C_COMPILER_ID:GNU>:-Wno-format-overflow>)
    set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> qcsT <TARGET> <LINK_FLAGS> <OBJECTS>") # one process, and nothing is copied
    set(CMAKE_C_ARCHIVE_FINISH "")
endif()
function(sma_units library)
    list(FILTER ARGN INCLUDE REGEX "^[a-z_0-9]+\\.c$") # what lies in the folder: generated files stay alone
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/units.awk ${ARGN})
    execute_process(COMMAND awk -f ${PROJECT_SOURCE_DIR}/cmake/units.awk ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
        OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" lines "${lines}")
    foreach(line ${lines})
        string(REGEX MATCH "^([0-9]+) (.+)$" line "${line}")
        set_property(SOURCE ${CMAKE_MATCH_2} PROPERTY UNITY_GROUP ${CMAKE_MATCH_1})
    endforeach()
    set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# sma_library(name SOURCES ... LINK ...): one static library a folder; LINK spells the include arrows; SEES
# adds arrows to libraries whose headers it includes and whose code somebody else links.
function(sma_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINK;SEES;PRIVATE_LINK" ${ARGN})
    add_library(${name} STATIC ${arg_SOURCES})
    if(SMA_UNITS)
        sma_units(${name} ${arg_SOURCES})
    endif()
    target_link_libraries(${name} PUBLIC sma_flags ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
    sma_arrow(${name})
    foreach(seen ${arg_SEES})
        target_include_directories(${name} PUBLIC $<TARGET_PROPERTY:${seen},INTERFACE_INCLUDE_DIRECTORIES>)
    endforeach()
endfunction()
