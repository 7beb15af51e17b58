# SPDX-License-Identifier: GPL-2.0-or-later
#
# Installs mount.forefetch and umount.forefetch, links to the command: in
# ${helper_dir}, and with the prefix /usr/local in /sbin, too, where mount(8) looks
# and nowhere else. They share a manual, in ${man_dir}.
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
get_filename_component(helper_dir "${helper_dir}" ABSOLUTE BASE_DIR "${prefix}")
get_filename_component(man_dir "${man_dir}" ABSOLUTE BASE_DIR "${prefix}")
get_filename_component(bin_dir "${bin_dir}" ABSOLUTE BASE_DIR "${prefix}")

# A link in ${dir} to ${target}.
function(install_link dir name target)
	set(to "$ENV{DESTDIR}${dir}")
	message("-- Installing: ${to}/${name}")
	file(MAKE_DIRECTORY "${to}")
	file(CREATE_LINK "${target}" "${to}/${name}" SYMBOLIC)
	list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${dir}/${name}")
	set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}"
		PARENT_SCOPE)
endfunction()

install_link("${man_dir}" umount.forefetch.8 mount.forefetch.8)
file(RELATIVE_PATH command "${helper_dir}" "${bin_dir}/forefetch")
foreach(name mount.forefetch umount.forefetch)
	install_link("${helper_dir}" ${name} "${command}")
	if(helper_dir MATCHES "^(/usr)?/sbin$" OR NOT "$ENV{DESTDIR}" STREQUAL "")
		continue()
	endif()
	execute_process(COMMAND test -w /sbin RESULT_VARIABLE closed)
	if(prefix STREQUAL "/usr/local" AND NOT closed)
		install_link(/sbin ${name} "${bin_dir}/forefetch")
	else()
		message("-- mount(8) looks in /sbin only: "
			"ln -s ${helper_dir}/${name} /sbin/")
	endif()
endforeach()
