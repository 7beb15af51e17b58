/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the configuration that is at work in a file of the runtime directory,
 * as `forefetchd -t -v` prints it: every setting, so that it means the same to
 * a later daemon whose defaults differ. */
#include "daemon/lastgood.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/statefile.h"
#include "config/config.h"

/* The name of the file. */
#define NAME "last.conf"

/* In the first directory of those that systemd names. */
static bool path_of(char path[PATH_MAX])
{
	const char *dir = getenv("RUNTIME_DIRECTORY");
	int n;

	if (!dir || !*dir)
		return false;
	n = snprintf(path, PATH_MAX, "%.*s/" NAME, (int)strcspn(dir, ":"), dir);
	return n > 0 && n < PATH_MAX;
}

/* If it cannot be written, an older one is removed: it is not at work any
 * more. */
void lastgood_save(const struct config *config)
{
	char path[PATH_MAX], *text = NULL;
	size_t len;
	FILE *out;
	int rc = -ENOMEM;

	if (!path_of(path))
		return;
	out = open_memstream(&text, &len);
	if (out) {
		config_print(config, out);
		if (fclose(out) == 0)
			rc = statefile_write(path, text, len);
	}
	free(text);
	/* An older one is not what is at work. */
	if (rc < 0)
		(void)unlink(path);
	if (rc < 0)
		log_warn("lastgood file=%s: %s: a restart while the "
			 "configuration is wrong will fail",
		    path, strerror(-rc));
}

struct config *lastgood_load(void)
{
	char path[PATH_MAX], err[CONFIG_ERR_MAX];
	struct config_source source = {.file = path};

	return path_of(path) ? config_load(&source, err, sizeof(err)) : NULL;
}
