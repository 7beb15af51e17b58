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
if(EXISTS "$ENV{DESTDIR}/var/lib/forefetch/pending-writes")
	message(WARNING "/var/lib/forefetch/pending-writes names writes that the "
		"server does not have yet. Do not remove it, nor what it names.")
endif()
