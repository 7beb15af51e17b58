# SPDX-License-Identifier: GPL-2.0-or-later
#
# Removes what the last `cmake --install` of this build directory put there, and
# the directories of ours that are empty then. Caches and configuration stay.
set(manifest install_manifest.txt)
if(NOT EXISTS ${manifest})
	message(FATAL_ERROR "nothing was installed from here: "
		"there is no ${manifest}")
endif()
file(STRINGS ${manifest} files)
if("$ENV{DESTDIR}" STREQUAL "")
	if(EXISTS /var/lib/forefetch/pending-writes)
		message(FATAL_ERROR "/var/lib/forefetch/pending-writes names writes "
			"that the server does not have yet: nothing was removed")
	endif()
	execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/in-use RESULT_VARIABLE used)
	if(used EQUAL 1)
		message(FATAL_ERROR "so nothing was removed")
	endif()
	# A unit whose file is gone can be neither stopped nor disabled. Another
	# installation's is let alone.
	set(units ${files})
	list(FILTER units INCLUDE REGEX "/forefetchd\\.service$")
	execute_process(COMMAND systemctl show -P FragmentPath forefetchd.service
		OUTPUT_VARIABLE unit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(unit AND unit IN_LIST units)
		execute_process(COMMAND systemctl disable --now forefetchd.service)
	endif()
endif()
foreach(file IN LISTS files)
	set(file "$ENV{DESTDIR}${file}")
	if(EXISTS "${file}" OR IS_SYMLINK "${file}")
		message("removing ${file}")
		file(REMOVE "${file}")
	endif()
	get_filename_component(dir "${file}" DIRECTORY)
	while(dir MATCHES "/forefetch(/|$)" AND EXISTS "${dir}")
		file(GLOB left "${dir}/*")
		if(left)
			break()
		endif()
		file(REMOVE_RECURSE "${dir}")
		get_filename_component(dir "${dir}" DIRECTORY)
	endwhile()
endforeach()
message("The daemon's user, /etc/forefetch.conf, /var/cache/forefetch and "
	"/var/lib/forefetch are still there.")
