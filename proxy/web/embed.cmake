# SPDX-License-Identifier: GPL-2.0-or-later
#
# cmake -DOUT=page_data.h -DFILES=index.html;... -P embed.cmake: files as arrays
# of C, without a zero at their end.
set(text "/* Made by embed.cmake. */\n")
foreach(file ${FILES})
	get_filename_component(name ${file} NAME)
	string(MAKE_C_IDENTIFIER page_${name} name)
	file(READ ${file} hex HEX)
	string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
	string(APPEND text "static const char ${name}[] = {\n${hex}};\n")
endforeach()
file(WRITE ${OUT} "${text}")
