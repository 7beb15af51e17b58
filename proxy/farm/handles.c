/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temporary */
#include "farm/handles.h"
#include <stdlib.h>
#include <string.h>
#include "cache/caches.h"
struct handles { unsigned char *d; size_t len, room; };
struct handles *handles_new(void){ return calloc(1,sizeof(struct handles)); }
void handles_free(struct handles *h){ if(h){free(h->d);free(h);} }
bool handles_add(struct handles *h, struct caches *c, const uint64_t *keys, size_t n){
 for(size_t i=0;i<n;i++){ struct node *x=attrcache_by_key(c->attr,keys[i]); if(!x) continue;
  if(h->len+65>h->room){ size_t r=h->room?h->room*2:65536; unsigned char*d=realloc(h->d,r); if(!d) return false; h->d=d;h->room=r; }
  h->d[h->len++]=x->fh_len; memcpy(h->d+h->len,x->fh,x->fh_len); h->len+=x->fh_len; } return true; }
const void *handles_data(const struct handles *h,size_t*len){ *len=h->len; return h->d; }
bool handles_apply(struct caches *c,const void*data,size_t len,size_t*at,size_t max){ const unsigned char*p=data;
 while(*at<len && max-->0){ size_t n=p[*at]; if(n==0||n>64||n>len-*at-1){*at=len;break;} nfs3_fh fh={.len=(uint32_t)n,.data=(const char*)p+*at+1}; (void)attrcache_get(c->attr,&fh); *at+=n+1; } return *at<len; }
