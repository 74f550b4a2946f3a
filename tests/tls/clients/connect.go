package main

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"os"

	"github.com/go-sql-driver/mysql"
)

func main() {
	pem, err := os.ReadFile(os.Args[2])
	stop(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for _, version := range []struct {
		name   string
		number uint16
	}{{"TLSv1.2", tls.VersionTLS12}, {"TLSv1.3", tls.VersionTLS13}} {
		settings := &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: version.number, MaxVersion: version.number}
		stop(mysql.RegisterTLSConfig(version.name, settings))
		database, err := sql.Open("mysql", "app:apppw@tcp(127.0.0.1:"+os.Args[1]+")/?tls="+version.name)
		stop(err)
		var value string
		stop(database.QueryRow("SELECT REPEAT('z', ?)", 100000).Scan(&value))
		fmt.Println(version.name, len(value))
		database.Close()
	}
}

func stop(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
