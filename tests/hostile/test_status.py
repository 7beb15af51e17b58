# SPDX-License-Identifier: GPL-2.0-or-later
"""What `forefetch status` and `stats` say is so."""
import daemon
import rpc


class Latency(daemon.Case):
    settings = {"prefetch": "off", "consistency": "frozen"}

    def test_every_call_counts(self):
        """Answers from memory, one in eight of which is timed."""
        c = self.connect()
        for _ in range(203):
            c.nfs(rpc.GETATTR, rpc.opaque(rpc.ROOT))
        row = next(r for r in self.ff.control("stats")["calls"]
                   if (r["side"], r["procedure"]) == ("client", "GETATTR"))
        self.assertEqual(row["calls"], 203)
        self.assertEqual(sum(n for _, _, n in row["histogram"]), 203)
        self.assertGreaterEqual(row["sum_us"], row["max_us"])
        self.assertLessEqual(row["sum_us"], 203 * row["max_us"])


if __name__ == "__main__":
    daemon.main()
