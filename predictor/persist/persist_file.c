/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files around persist.c, and ways to look at what was learned. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/core.h"
#include "predictor/persist/persist.h"

#define FILE_BYTES_MAX ((off_t)1 << 30)

static int read_all(int fd, char **data, size_t *len)
{
	struct stat st;
	size_t at = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX)
		return -EBADMSG;
	*len = (size_t)st.st_size;
	*data = malloc(*len + 1);
	if (!*data)
		return -ENOMEM;
	while (at < *len) {
		ssize_t n = read(fd, *data + at, *len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	*len = at;
	return 0;
}

static void set_aside(
    const char *path, const char *as, const char *why, char *err)
{
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s.%s", path, as);
	if (rename(path, other))
		snprintf(err, PERSIST_ERR_MAX, "%s: %s, and stays there: %s",
		    path, why, strerror(errno));
	else
		snprintf(err, PERSIST_ERR_MAX, "%s: %s; set aside as .%s", path,
		    why, as);
}

int predictor_load(
    struct predictor *p, const char *path, char err[PERSIST_ERR_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *data = NULL;
	size_t len = 0;
	int ret;

	ret = fd < 0 ? -errno : read_all(fd, &data, &len);
	if (fd >= 0)
		close(fd);
	if (!ret)
		ret = predictor_import(p, data, len);
	free(data);
	if (ret == -EBADMSG)
		set_aside(path, "damaged", "the file is damaged", err);
	else if (ret == -EPROTONOSUPPORT)
		set_aside(path, "newer", "a newer version wrote it", err);
	else if (ret)
		snprintf(err, PERSIST_ERR_MAX, "%s: %s", path, strerror(-ret));
	return ret;
}

struct walk {
	const struct predictor *p;
	predictor_on_trail each;
	void *ctx;
};

static int on_trail(void *ctx, const struct trail_part *part)
{
	struct walk *w = ctx;
	uint64_t keys[TRAIL_PART];

	for (uint32_t i = 0; i < part->n; i++)
		keys[i] = objects_at(w->p->objects, part->objects[i])->key;
	return w->each(w->ctx, keys, part->n, part->more);
}

int predictor_each_trail(
    const struct predictor *p, predictor_on_trail each, void *ctx)
{
	struct walk w = {p, each, ctx};

	return trails_walk(p->trails, on_trail, &w);
}

struct show {
	const struct predictor *p;
	FILE *out;
	const char *(*name)(void *ctx, uint64_t object);
	void *ctx;
	bool in_program;
};

static int on_show(void *ctx, const uint64_t *objects, size_t n, bool more)
{
	struct show *s = ctx;

	if (!more) {
		fputs("trail\n", s->out);
		s->in_program = false;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t id = objects_find(s->p->objects, objects[i]);
		bool exec =
		    id != OBJECT_NONE && objects_at(s->p->objects, id)->exec;
		const char *name = s->name ? s->name(s->ctx, objects[i]) : NULL;

		fputs(exec ? "  " : s->in_program ? "    " : "  ", s->out);
		if (name)
			fprintf(s->out, "%s\n", name);
		else
			fprintf(s->out, "%016lx\n", (unsigned long)objects[i]);
		s->in_program |= exec;
	}
	return 0;
}

void predictor_show(const struct predictor *p, FILE *out,
    const char *(*name)(void *ctx, uint64_t object), void *ctx)
{
	struct show s = {p, out, name, ctx, false};

	predictor_each_trail(p, on_show, &s);
}
