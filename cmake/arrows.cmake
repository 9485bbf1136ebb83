# The include arrows. A library's headers are reached through a folder of its own, build/arrows/<library>, that holds
# nothing but a link to the library's folder; linking the library brings that folder onto the include path. So an #include
# of a folder whose library is not in the LINK line (or behind one that is) does not compile. A build that nobody edits
# (SMA_UNITS) reads the sources where they are: looking through thirty folders for each header costs more than the header.
function(sma_arrow name)
    if(SMA_UNITS)
        target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} PUBLIC ${PROJECT_SOURCE_DIR}/src)
        return()
    endif()
    file(RELATIVE_PATH place ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
    set(arrow ${PROJECT_BINARY_DIR}/arrows/${name})
    get_filename_component(above ${arrow}/${place} DIRECTORY)
    file(MAKE_DIRECTORY ${above})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${arrow}/${place} SYMBOLIC)
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} PUBLIC ${arrow})
endfunction()
