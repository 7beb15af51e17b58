// SPDX-License-Identifier: GPL-2.0-or-later

// connect HOST:PORT [...] stands for ssh in rclone's sftp: the same bytes,
// unencrypted. What else rclone says to ssh is not heard.
package main

import (
	"io"
	"log"
	"net"
	"os"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("connect: ")
	server, err := net.Dial("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		io.Copy(server, os.Stdin)
		server.(*net.TCPConn).CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, server); err != nil {
		log.Fatal(err)
	}
}
