// SPDX-License-Identifier: GPL-2.0-or-later

// rclone, as far as bench/jobs has a use for it: `serve nfs` of an sftp
// remote. Without the backend `local` it keeps nothing on disk.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/sftp"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/serve/nfs"
)

func main() {
	cmd.Main()
}
