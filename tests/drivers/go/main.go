// The scripted work through go-sql-driver/mysql: go-work [interpolate]
package main

import (
	"bufio"
	"context"
	"crypto/md5"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

var input = bufio.NewReader(os.Stdin)

func env(name string) string { return os.Getenv(name) }

func dsn(user, password, database, more string) string {
	return fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?charset=utf8mb4&multiStatements=true&maxAllowedPacket=67108864&time_zone=%%27%%2B03%%3A00%%27%s",
		user, password, env("DB_HOST"), env("DB_PORT"), database, more)
}

func open(more string) *sql.DB {
	db, err := sql.Open("mysql", dsn(env("DB_USER"), env("DB_PASSWORD"), env("DB_NAME"), more))
	if err != nil {
		panic(err)
	}
	return db
}

func shown(value interface{}) string {
	switch v := value.(type) {
	case nil:
		return "nil"
	case []byte:
		if len(v) > 500 {
			return fmt.Sprintf("bytes[%d]%x", len(v), md5.Sum(v))
		}
		return fmt.Sprintf("bytes:%q", v)
	case time.Time:
		return "time:" + v.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%T:%v", value, value)
}

func out(label string, values ...interface{}) {
	text := make([]string, len(values))
	for i, value := range values {
		text[i] = shown(value)
	}
	fmt.Println(label, strings.Join(text, " "))
}

func fail(label string, err error) {
	var server *mysql.MySQLError
	if errors.As(err, &server) {
		out(label+" error", int(server.Number), server.Message)
	} else {
		out(label+" error", err.Error())
	}
}

func await() {
	fmt.Println("##sync")
	input.ReadString('\n')
}

type querier interface {
	QueryContext(context.Context, string, ...interface{}) (*sql.Rows, error)
	ExecContext(context.Context, string, ...interface{}) (sql.Result, error)
}

var background = context.Background()

func returnsRows(query string) bool {
	for _, word := range []string{"SELECT", "SHOW", "DESCRIBE", "EXPLAIN", "CHECK", "ANALYZE", "CALL", "WITH"} {
		if strings.HasPrefix(query, word) {
			return true
		}
	}
	return false
}

func run(c querier, label, query string, values ...interface{}) {
	if !returnsRows(query) {
		result, err := c.ExecContext(background, query, values...)
		if err != nil {
			fail(label, err)
			return
		}
		id, _ := result.LastInsertId()
		affected, _ := result.RowsAffected()
		out(label+" count", affected, id)
		return
	}
	rows, err := c.QueryContext(background, query, values...)
	if err != nil {
		fail(label, err)
		return
	}
	defer rows.Close()
	print(label, rows)
}

func print(label string, rows *sql.Rows) {
	for more := true; more; more = rows.NextResultSet() {
		types, err := rows.ColumnTypes()
		if err != nil {
			fail(label, err)
			return
		}
		for _, t := range types {
			nullable, known := t.Nullable()
			precision, scale, sized := t.DecimalSize()
			out(label+" column", t.Name(), t.DatabaseTypeName(), nullable, known, precision, scale, sized, fmt.Sprint(t.ScanType()))
		}
		for rows.Next() {
			row := make([]interface{}, len(types))
			targets := make([]interface{}, len(types))
			for i := range row {
				targets[i] = &row[i]
			}
			if err := rows.Scan(targets...); err != nil {
				fail(label+" scan", err)
			}
			out(label+" row", row...)
		}
		if err := rows.Err(); err != nil {
			fail(label+" rows", err)
		}
	}
	if err := rows.Err(); err != nil {
		fail(label+" end", err)
	}
}

func statements(c querier) {
	text, err := os.ReadFile(env("WORK"))
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if line == "##sync" {
			await()
		} else if line != "" && line[0] != '#' {
			run(c, line, line)
		}
	}
}

func prepared(c *sql.Conn) {
	values := []interface{}{5, "five 😀", nil, 5.5, []byte{0, 255}, int64(-1 << 63), true, time.Date(2024, 2, 29, 1, 2, 3, 4567000, time.UTC), uint64(1<<63 + 1)}
	s, err := c.PrepareContext(background, "SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id")
	if err != nil {
		fail("prepare", err)
		return
	}
	for _, value := range values {
		rows, err := s.Query(value)
		if err != nil {
			fail("prepared "+shown(value), err)
			continue
		}
		print("prepared "+shown(value), rows)
		rows.Close()
	}
	s.Close()
	for id := 1; id < 4; id++ {
		run(c, fmt.Sprint("prepared types ", id), "SELECT * FROM types WHERE id = ?", id)
	}
	run(c, "prepared insert", "INSERT INTO items (name, n) VALUES (?, ?)", "prepared", 1)
	run(c, "prepared insert again", "INSERT INTO items (name, n) VALUES (?, ?)", "prepared", 1)
	run(c, "prepared delete", "DELETE FROM items WHERE name = ?", "prepared")
}

func streaming(c *sql.Conn) {
	rows, err := c.QueryContext(background, "SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n")
	if err != nil {
		fail("stream", err)
		return
	}
	var n, square, sum int64
	var text string
	for rows.Next() {
		if err := rows.Scan(&n, &square, &text); err != nil {
			fail("stream", err)
		}
		sum += n + square + int64(len(text))
	}
	rows.Close()
	out("streamed", sum)
}

func big(c *sql.Conn) {
	data := []byte(strings.Repeat("abcdefgh", 17<<17) + "tail")
	run(c, "big insert", "INSERT INTO big VALUES (1, ?)", data)
	var read []byte
	if err := c.QueryRowContext(background, "SELECT data FROM big").Scan(&read); err != nil {
		fail("big", err)
	}
	out("big", string(read) == string(data))
}

func transactions(db *sql.DB) {
	other, _ := db.Conn(background)
	defer other.Close()
	tx, err := db.BeginTx(background, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		fail("begin", err)
		return
	}
	run(tx, "update", "UPDATE locked SET n = 10 WHERE id = 1")
	run(other, "set", "SET innodb_lock_wait_timeout = 1")
	run(other, "waits", "UPDATE locked SET n = 11 WHERE id = 1")
	tx.Rollback()
	tx, _ = db.Begin()
	run(tx, "update", "UPDATE locked SET n = 12 WHERE id = 1")
	tx.Commit()
	run(other, "committed", "SELECT * FROM locked ORDER BY id")
	tx, err = db.BeginTx(background, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		fail("begin read only", err)
		return
	}
	run(tx, "read only", "UPDATE locked SET n = 13 WHERE id = 1")
	run(tx, "read only", "SELECT n FROM locked WHERE id = 1")
	tx.Commit()
	deadlock(db)
	// the driver closes a connection whose context ends
	ctx, cancel := context.WithTimeout(background, 500*time.Millisecond)
	defer cancel()
	_, err = db.ExecContext(ctx, "DO SLEEP(25)")
	fail("deadline", err)
	run(db, "after the deadline", "SELECT 'goes on'")
}

func deadlock(db *sql.DB) {
	var arrived, done sync.WaitGroup
	arrived.Add(2)
	done.Add(2)
	side := func(first, second int) {
		defer done.Done()
		for attempt := 0; attempt < 3; attempt++ {
			tx, err := db.Begin()
			if err != nil {
				fail("deadlock begin", err)
				return
			}
			tx.Exec("UPDATE locked SET n = n + 1 WHERE id = ?", first)
			if attempt == 0 {
				arrived.Done()
				arrived.Wait()
			}
			if _, err = tx.Exec("UPDATE locked SET n = n + 1 WHERE id = ?", second); err == nil {
				tx.Commit()
				return
			}
			fail("deadlock", err)
			tx.Rollback()
		}
	}
	go side(2, 3)
	go side(3, 2)
	done.Wait()
	run(db, "after the deadlock", "SELECT * FROM locked ORDER BY id")
}

func kill(db *sql.DB) {
	victim, _ := db.Conn(background)
	defer victim.Close()
	var id int64
	victim.QueryRowContext(background, "SELECT CONNECTION_ID()").Scan(&id)
	ended := make(chan error)
	go func() {
		rows, err := victim.QueryContext(background, "SELECT SLEEP(25) FROM numbers")
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			rows.Close()
		}
		ended <- err
	}()
	for {
		run(db, "", "DO 0")
		db.Exec(fmt.Sprintf("KILL QUERY %d", id))
		select {
		case err := <-ended:
			fail("killed query", err)
			run(victim, "alive", "SELECT 'alive'")
			run(db, "kill nobody", "KILL 4000000000")
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func pooled(db *sql.DB) {
	var all sync.WaitGroup
	results := make([]int, 40)
	for n := range results {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			if err := db.QueryRow("SELECT ? + n FROM numbers WHERE n = ?", n, n).Scan(&results[n]); err != nil {
				results[n] = -1
			}
		}(n)
	}
	all.Wait()
	out("pool", results)
}

func logins() {
	for _, words := range [][3]string{{env("DB_USER"), "wrong", env("DB_NAME")}, {"nobody_here", "x", env("DB_NAME")}, {env("DB_USER"), env("DB_PASSWORD"), "no_such_database"}} {
		db, _ := sql.Open("mysql", dsn(words[0], words[1], words[2], ""))
		if err := db.Ping(); err != nil {
			fail("login", err)
		} else {
			out("login", "accepted")
		}
		db.Close()
	}
}

func main() {
	more := ""
	if len(os.Args) > 1 {
		more = "&interpolateParams=true&parseTime=true"
	}
	fmt.Println("##version", env("DRIVER_VERSION"))
	db := open(more)
	db.SetMaxOpenConns(5)
	c, err := db.Conn(background)
	if err != nil {
		panic(err)
	}
	statements(c)
	prepared(c)
	big(c)
	streaming(c)
	// not an error behind a first result: this version of the driver waits for ever then
	for _, query := range []string{"CALL two_results()", "SELECT 1; SELECT 2, 'b'; SELECT 3", "SELECT 'goes on'"} {
		run(c, query, query)
	}
	mysql.RegisterLocalFile(env("LOAD"))
	run(c, "load", "LOAD DATA LOCAL INFILE '"+env("LOAD")+"' INTO TABLE loaded FIELDS TERMINATED BY ','")
	run(c, "load elsewhere", "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE loaded")
	run(c, "loaded", "SELECT * FROM loaded ORDER BY a")
	c.Raw(func(raw interface{}) error {
		return raw.(driver.SessionResetter).ResetSession(background)
	})
	c.Close()
	transactions(db)
	kill(db)
	pooled(db)
	found := open(more + "&clientFoundRows=true")
	run(found, "found rows", "UPDATE locked SET n = n")
	found.Close()
	logins()
	await()
	c, _ = db.Conn(background)
	run(c, "types", "SELECT * FROM types WHERE id = ?", 1)
	streaming(c)
	c.Close()
	db.Close()
	fmt.Println("##end")
}
