/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds which files the configuration is in, and reads those that may be read:
 * FILE, then *.conf of its directory and of the one for this run, in the order
 * of their names. Whoever can write to one of these decides what is mounted, so
 * in the directories that is root or the daemon's user only.
 *
 * The text goes to config_parse.c; an error of a file does not end the reading,
 * so that one run tells all of them. daemon/ loads at start and again at each
 * reload, when nothing here may wait: for a writer of a FIFO, for example.
 */
#include "config/config.h"
#include "config/config_parse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES (1u << 20)
#define DIR_FILES_MAX  1024 /* the most files *.conf in one directory */

struct loader {
	const struct config_source *source;
	struct config_parser *parser;
	/* Room for FILE_MAX_BYTES + 1 bytes, so that a longer file shows. */
	char *text;
};

/* Returns NULL where `st` belongs to root or to our user, who alone may write
 * to it; else why not. */
static const char *why_unsafe(const struct stat *st)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it belongs neither to root nor to the user that "
		       "forefetchd runs as; change its owner with chown";
	if ((st->st_mode & S_IWOTH) ||
	    ((st->st_mode & S_IWGRP) && st->st_gid != 0 &&
		st->st_gid != getegid()))
		return "others may write to it; chmod go-w it";
	return NULL;
}

/* Reads a file, and returns the bytes read, at most FILE_MAX_BYTES + 1, or
 * -errno. */
static ssize_t read_all(int fd, char *text)
{
	size_t len = 0;
	ssize_t n;

	while (len <= FILE_MAX_BYTES) {
		n = read(fd, text + len, FILE_MAX_BYTES + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* Refuses a file that cannot be read, with the error of the system. */
static void refuse(struct loader *l, const char *name, int error)
{
	char why[256];

	snprintf(why, sizeof(why), "cannot be read: %s", strerror(error));
	config_parser_refuse(l->parser, name, why);
}

/* Reads and parses a file, and closes its descriptor. Returns whether something
 * was read. */
static bool add_descriptor(struct loader *l, int fd, const char *name)
{
	ssize_t len = read_all(fd, l->text);
	char why[64];

	close(fd);
	if (len < 0) {
		refuse(l, name, (int)-len);
		return false;
	}
	if (len > FILE_MAX_BYTES) {
		snprintf(
		    why, sizeof(why), "larger than %u bytes", FILE_MAX_BYTES);
		config_parser_refuse(l->parser, name, why);
		return false;
	}
	config_parser_add(l->parser, name, l->text, (size_t)len);
	return true;
}

/* ---- FILE -------------------------------------------------------------- */

/* Opens FILE; a descriptor or -errno. Before a daemon runs it may be a pipe,
 * too, and is waited for; a daemon that reloads takes a regular file only. */
static int open_main(const struct config_source *source)
{
	bool again = source->former != NULL;
	int fd = open(source->file,
	    O_RDONLY | O_CLOEXEC | O_NOCTTY | (again ? O_NONBLOCK : 0));
	struct stat st;

	if (fd < 0)
		return -errno;
	if (again && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		close(fd);
		return S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
	}
	return fd;
}

/* Reads FILE, and returns whether there was something to read. Its owner is not
 * looked at: whoever starts the daemon named it. */
static bool add_main(struct loader *l)
{
	const char *file = l->source->file;
	const struct config *former = l->source->former;
	int fd = open_main(l->source);

	if (fd == -ENOENT && strcmp(file, CONFIG_FILE_DEFAULT) == 0 &&
	    !(former && former->has_main))
		config_parser_add(l->parser, file, "", 0);
	else if (fd == -ESPIPE)
		config_parser_refuse(l->parser, file, "it is not a file");
	else if (fd < 0)
		refuse(l, file, -fd);
	else
		return add_descriptor(l, fd, file);
	return false;
}

/* ---- directories ------------------------------------------------------- */

/* Whether a directory's entry counts, for scandirat(3): an editor's copies and
 * hidden files do not. */
static int is_conf(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > strlen(".conf") &&
	       strcmp(entry->d_name + len - strlen(".conf"), ".conf") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Refuses an entry that cannot be opened, unless it was removed a moment ago.
 */
static void refuse_entry(
    struct loader *l, int dir, const char *entry, const char *name, int error)
{
	struct stat st;

	if (error != ENOENT)
		refuse(l, name, error);
	else if (fstatat(dir, entry, &st, AT_SYMLINK_NOFOLLOW) == 0)
		config_parser_refuse(l->parser, name,
		    "it is a link to a file that does not exist");
}

/* Reads one file of a directory if it is safe. It is opened so that nothing
 * waits for whoever writes into a FIFO. */
static void add_entry(
    struct loader *l, int dir, const char *path, const char *entry)
{
	int fd =
	    openat(dir, entry, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char quoted[NAME_MAX * 4 + 1], name[PATH_MAX + sizeof(quoted) + 1];
	const char *why = NULL;
	struct stat st;

	log_escape(quoted, sizeof(quoted), entry, strlen(entry));
	snprintf(name, sizeof(name), "%s/%s", path, quoted);
	if (fd < 0) {
		refuse_entry(l, dir, entry, name, errno);
		return;
	}
	if (fstat(fd, &st) < 0)
		why = "cannot be examined";
	else if (!S_ISREG(st.st_mode))
		why = "it is not a file";
	else
		why = why_unsafe(&st);
	if (!why) {
		add_descriptor(l, fd, name);
		return;
	}
	close(fd);
	config_parser_refuse(l->parser, name, why);
}

/* Reads the files of an open directory in the order of their names. */
static void add_entries(struct loader *l, int dir, const char *path)
{
	struct dirent **list;
	int n = scandirat(dir, ".", &list, is_conf, by_name);

	if (n < 0) {
		refuse(l, path, errno);
		return;
	}
	if (n > DIR_FILES_MAX)
		config_parser_refuse(
		    l->parser, path, "there are too many files *.conf in it");
	for (int i = 0; i < n; i++) {
		if (n <= DIR_FILES_MAX)
			add_entry(l, dir, path, list[i]->d_name);
		free(list[i]);
	}
	free(list);
}

/* Reads a directory if it is there and safe. One that others may write to is
 * refused as a whole, since its entries could be exchanged. */
static void add_directory(struct loader *l, const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	const char *why = NULL;
	struct stat st;

	if (dir < 0) {
		if (errno != ENOENT)
			refuse(l, path, errno);
		return;
	}
	if (fstat(dir, &st) == 0)
		why = why_unsafe(&st);
	if (why)
		config_parser_refuse(l->parser, path, why);
	else
		add_entries(l, dir, path);
	close(dir);
}

/* Returns FILE's own directory: "X.d" for "X.conf", and for "X". For the caller
 * to free; NULL without memory. */
static char *own_directory(const char *file)
{
	size_t len = strlen(file);
	char *path = malloc(len + sizeof(".d"));

	if (!path)
		return NULL;
	if (len > 5 && strcmp(file + len - 5, ".conf") == 0)
		len -= 5;
	memcpy(path, file, len);
	strcpy(path + len, ".d");
	return path;
}

/* ---- all of it --------------------------------------------------------- */

/* Whether FILE lost all that it had, as a file does that is being written. */
static bool is_emptied(
    const struct config_source *source, const struct config *cfg)
{
	return source->former && source->former->has_main && !cfg->has_main;
}

/* Reads all places in their order; 0, or -EINVAL with a message. */
static int load(struct loader *l, struct config *cfg)
{
	char *own = own_directory(l->source->file);

	if (!own)
		config_parser_refuse(
		    l->parser, l->source->file, "out of memory");
	if (add_main(l) && is_emptied(l->source, cfg))
		config_parser_refuse(l->parser, l->source->file,
		    "it has no section any more; restart forefetchd if that is "
		    "intended");
	if (own)
		add_directory(l, own);
	if (l->source->run_dir)
		add_directory(l, l->source->run_dir);
	free(own);
	return config_parser_end(l->parser);
}

struct config *config_load(
    const struct config_source *source, char *err, size_t errlen)
{
	struct config *cfg = calloc(1, sizeof(*cfg));
	struct loader l = {
	    .source = source, .text = malloc(FILE_MAX_BYTES + 1)};

	if (cfg && l.text)
		l.parser = config_parser_new(cfg,
		    source->errors_max > 0 ? source->errors_max : 1, err,
		    errlen);
	if (!l.parser) {
		snprintf(err, errlen, "%s: out of memory", source->file);
	} else if (load(&l, cfg) == 0) {
		free(l.text);
		return cfg;
	}
	free(l.text);
	config_free(cfg);
	return NULL;
}

struct config *config_parse_string(
    const char *text, const char *name, char *err, size_t errlen)
{
	struct config *cfg = calloc(1, sizeof(*cfg));
	struct config_parser *p =
	    cfg ? config_parser_new(cfg, 1, err, errlen) : NULL;

	if (!p) {
		snprintf(err, errlen, "%s: out of memory", name);
		config_free(cfg);
		return NULL;
	}
	config_parser_add(p, name, text, strlen(text));
	if (config_parser_end(p) == 0)
		return cfg;
	config_free(cfg);
	return NULL;
}
