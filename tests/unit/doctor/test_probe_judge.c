/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the facts of a probe to what a person is told. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>

#include "unittest.h"
#include "doctor/probe_private.h"

/* A server at which all is well, but for what a test changes. */
static struct probe_facts facts;
static const struct probe_target nas = {.host = "nas", .path = "/home"};

static int setup(void **state)
{
	static char home[] = "/home", src[] = "/src";

	(void)state;
	memset(&facts, 0, sizeof(facts));
	facts.naddr = 1;
	facts.addr[0].ss_family = AF_INET;
	facts.nfs_port = NFS_PORT;
	facts.mount_port = MOUNTD_PORT;
	facts.low_port = true;
	facts.exports[0] = home;
	facts.exports[1] = src;
	facts.nexports = 2;
	facts.exports_all = 2;
	facts.fh_len = 8;
	facts.auth_sys = true;
	return 0;
}

static void expect(const struct probe_target *t, enum probe_cause cause,
    const char *sentence, const char *remedy)
{
	struct probe_why why;

	probe_judge(t, &facts, &why);
	assert_int_equal(why.cause, cause);
	if (!strstr(why.sentence, sentence))
		fail_msg("\"%s\" is not in \"%s\"", sentence, why.sentence);
	if (!strstr(why.remedy, remedy))
		fail_msg("\"%s\" is not in \"%s\"", remedy, why.remedy);
}

FIXTURE_OF_STATE(setup, NULL);

TEST(test_works)
{
	expect(&nas, PROBE_WORKS, "", "");
}

TEST(test_name)
{
	facts.gai = EAI_NONAME;
	expect(&nas, PROBE_NO_NAME, "nas is not known", "getent ahosts nas");
	facts.gai = EAI_AGAIN;
	expect(&nas, PROBE_NO_NAME, "name servers", "resolv.conf");
}

TEST(test_reach)
{
	const struct probe_target port = {"nas", "/home", 4711, 0, 0};

	facts.rpcbind_err = facts.nfs_err = ENETUNREACH;
	expect(&nas, PROBE_NO_ROUTE, "no route", "ip route");
	facts.rpcbind_err = facts.nfs_err = ETIMEDOUT;
	expect(&nas, PROBE_SILENT, "nothing answers", "firewall");
	facts.rpcbind_err = 0;
	expect(&nas, PROBE_SILENT, "is there", "2049");
	facts.nfs_err = ECONNREFUSED;
	expect(&nas, PROBE_REFUSED, "nothing listens at its port 2049",
	    "start the NFS server");
	expect(&port, PROBE_REFUSED, "nothing listens", "nfs_port");
	facts.nfs_err = EPROTO;
	expect(&nas, PROBE_NOT_NFS, "does not answer like an NFS server", "");
}

TEST(test_versions)
{
	facts.nfs_err = EPROTONOSUPPORT;
	facts.nfs4_err = 0;
	expect(&nas, PROBE_V4_ONLY, "NFSv4 only", "vers3=y");
	expect(&nas, PROBE_V4_ONLY, "NFSv4 only", "vers=4 nas:/home");
	facts.nfs4_err = ETIMEDOUT;
	facts.low = facts.high = 4;
	expect(&nas, PROBE_V4_ONLY, "NFSv4 only", "vers3=y");
	facts.low = facts.high = 2;
	expect(&nas, PROBE_NOT_NFS, "NFSv2 at most", "");
	facts.low = facts.high = 0;
	expect(&nas, PROBE_NOT_NFS, "not an NFS server", "nfs_port");
}

TEST(test_ports)
{
	const struct probe_target ports = {"nas", "/home", 2049, 20048, 0};

	facts.rpcbind_err = ETIMEDOUT;
	expect(&nas, PROBE_RPCBIND, "rpcbind of nas",
	    "nfs_port = 2049 and mount_port = 20048");
	expect(&ports, PROBE_WORKS, "", "");
	facts.mount_err = ECONNREFUSED;
	expect(&nas, PROBE_RPCBIND, "rpcbind of nas", "[mountd]");
	facts.rpcbind_err = 0;
	expect(&nas, PROBE_NO_MOUNTD, "port 20048", "mount_port");
	facts.mount_port = 0;
	expect(&nas, PROBE_NO_MOUNTD, "knows no MOUNT", "rpc.mountd");
}

TEST(test_exports)
{
	const struct probe_target other = {.host = "nas", .path = "/homes"};
	const struct probe_target below = {.host = "nas", .path = "/home/x"};

	facts.mnt_status = MNT3ERR_ACCES;
	expect(&nas, PROBE_DENIED, "not to this machine", "/etc/exports");
	expect(&other, PROBE_NO_EXPORT,
	    "does not export /homes; it exports "
	    "/home, /src",
	    "exportfs");
	facts.low_port = false;
	expect(&nas, PROBE_UNPRIVILEGED, "above 1023", "sudo");
	facts.mnt_status = MNT3ERR_NOENT;
	expect(&below, PROBE_NO_EXPORT, "has no directory /home/x", "");
	facts.nexports = 0;
	facts.exports_all = 0;
	expect(&nas, PROBE_NO_EXPORT, "nor anything else", "");
	facts.mnt_status = MNT3ERR_SERVERFAULT;
	expect(&nas, PROBE_UNSURE, "10006", "log");
	facts.mnt_status = MNT3_OK;
	facts.auth_sys = false;
	strcpy(facts.flavors, "krb5");
	expect(&nas, PROBE_FLAVOR, "wants krb5", "sec=krb5");
}

/* A list of a thousand long names is cut, and nothing is written beyond. */
TEST(test_long_list)
{
	static char name[1025];

	memset(name, 'x', sizeof(name) - 1);
	for (facts.nexports = 0; facts.nexports < 20; facts.nexports++)
		facts.exports[facts.nexports] = name;
	facts.exports_all = 1000;
	facts.mnt_status = MNT3ERR_ACCES;
	expect(&nas, PROBE_NO_EXPORT, "does not export", "");
}
