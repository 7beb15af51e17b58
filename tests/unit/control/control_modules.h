/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a server's modules that the linker replaces in the tests of
 * control (tests/CMakeLists.txt); each program has its own. */
#ifndef FOREFETCH_TEST_CONTROL_MODULES_H
#define FOREFETCH_TEST_CONTROL_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "explain/forget.h"

struct caches;
struct compact;
struct explain;
struct hint_stream;
struct hints;
struct objnames;
struct predictor;
struct prefetch;
struct user;
struct warm;
struct warm_progress;
struct warm_walk;

int __wrap_compact_begin(struct compact *c);
bool __wrap_compact_busy(const struct compact *c);
struct warm_walk *__wrap_warm_begin(struct warm *wm, const struct user *who,
    const char *export, const char *path, bool data);
void __wrap_warm_get_progress(
    const struct warm_walk *walk, struct warm_progress *out);
void __wrap_warm_end(struct warm_walk *walk);
struct hint_stream *__wrap_hint_begin(struct hints *h, const struct user *who,
    const char *export, const char *path);
void __wrap_explain(struct caches *c, struct prefetch *pf,
    const struct user *user, const char *export, const char *path,
    uint64_t now_us, struct explain *out);
enum forget_found __wrap_forget_begin(struct forget *f, struct caches *c,
    const char *export, const char *path, uint64_t now_us);
bool __wrap_forget_step(struct forget *f, uint64_t now_us);
struct predictor *__wrap_prefetch_predictor(struct prefetch *pf);
void __wrap_prefetch_edited(struct prefetch *pf);
bool __wrap_prefetch_loads(const struct prefetch *pf);
int __wrap_prefetch_clear(struct prefetch *pf);
bool __wrap_objnames_step(struct objnames *on, struct caches *c,
    const struct user *user, uint64_t now_us, size_t steps);

#endif
