/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers from the caches, one function a procedure. Each returns true where
 * it took care of the request: answered it, or asked for what is missing to
 * answer it and will be tried again. Else the call is the server's.
 */
#ifndef FOREFETCH_CACHED_H
#define FOREFETCH_CACHED_H

#include <stdbool.h>

struct svc_rqst;

bool cached_getattr(struct svc_rqst *rqst);
bool cached_lookup(struct svc_rqst *rqst);
bool cached_access(struct svc_rqst *rqst);
bool cached_read(struct svc_rqst *rqst);
bool cached_readdir(struct svc_rqst *rqst);
bool cached_readdirplus(struct svc_rqst *rqst);
/* READLINK, FSSTAT, FSINFO, PATHCONF, GETACL. */
bool cached_answer(struct svc_rqst *rqst);

#endif
