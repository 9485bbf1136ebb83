# What the package holds: the binary and its short name, man page, systemd unit, completion, documents. The simulators are
# a component and a package of their own: nobody needs them to run a bot.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
if(NOT TARGET shipmyagent)
    return()
endif()
install(TARGETS shipmyagent RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS shrink_picture fetch_page RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/shipmyagent)
install(CODE "file(CREATE_LINK shipmyagent
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/sma\" SYMBOLIC)")
install(FILES packaging/shipmyagent.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(CODE "file(CREATE_LINK shipmyagent.1
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/sma.1\" SYMBOLIC)")
# The unit names the binary, whose place is known at install time only (--prefix, packages).
install(CODE "set(CMAKE_INSTALL_FULL_BINDIR \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
configure_file(\"${CMAKE_CURRENT_SOURCE_DIR}/packaging/shipmyagent@.service.in\"
    \"${CMAKE_CURRENT_BINARY_DIR}/shipmyagent@.service\" @ONLY)")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/shipmyagent@.service DESTINATION lib/systemd/system)
install(FILES packaging/shipmyagent.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME shipmyagent)
install(CODE "file(CREATE_LINK shipmyagent
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions/sma\" SYMBOLIC)")
# zsh of Debian looks into one folder for packages, and into another for what an administrator installs.
install(CODE "if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(zsh_folder vendor-completions)
else()
    set(zsh_folder site-functions)
endif()
file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${zsh_folder}\" TYPE FILE
    RENAME _shipmyagent FILES \"${CMAKE_CURRENT_SOURCE_DIR}/packaging/shipmyagent.zsh\")")
install(FILES packaging/shipmyagent.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# The documents in their folders, so that the links between them lead somewhere.
file(GLOB documents CONFIGURE_DEPENDS *.md)
install(FILES ${documents} LICENSE packaging/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES packaging/grafana.json DESTINATION ${CMAKE_INSTALL_DATADIR}/shipmyagent)

if(SMA_BUILD_SIMULATORS)
    install(TARGETS ${SMA_SIMULATORS} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/shipmyagent COMPONENT simulators)
    install(FILES simulators/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/simulators COMPONENT simulators)
    install(FILES simulators/model/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/simulators RENAME model.md
        COMPONENT simulators)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME shipmyagent)
set(CPACK_DEBIAN_SIMULATORS_PACKAGE_NAME shipmyagent-simulators)
set(CPACK_COMPONENT_SIMULATORS_DESCRIPTION "Strict offline simulators of Telegram, Feishu, QQ and model providers")
set(CPACK_PACKAGE_NAME shipmyagent)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# Each release of the distribution has its own versions of the libraries: a package says for which it was made.
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
if(EXISTS /etc/os-release)
    file(STRINGS /etc/os-release made_for REGEX "^(ID|VERSION_ID)=")
    list(TRANSFORM made_for REPLACE "^[A-Z_]+=\"?([^\"]*)\"?$" "\\1")
    list(SORT made_for ORDER DESCENDING) # the name, then the number
    list(JOIN made_for "" made_for)
    string(REPLACE debian deb made_for "${made_for}")
    string(APPEND CPACK_DEBIAN_PACKAGE_RELEASE "~${made_for}")
endif()
set(CPACK_PACKAGE_CONTACT "ShipMyAgent maintainers <maintainers@users.noreply.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_SET_DESTDIR ON) # so that the install prefix is /usr itself, not a staging folder
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libwebsockets opens its plugin for libuv by itself: no linker sees it
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "ca-certificates, libedit2, libwebsockets-evlib-uv, passwd, util-linux")
# The user that the unit runs as; services end with their program, and a purge leaves none.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/packaging/postinst
    ${CMAKE_CURRENT_SOURCE_DIR}/packaging/prerm ${CMAKE_CURRENT_SOURCE_DIR}/packaging/postrm)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "bubblewrap")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "shipmyagent-simulators, libarchive-tools")
include(CPack)
