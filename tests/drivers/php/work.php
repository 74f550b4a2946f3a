<?php
// The scripted work through PHP's drivers: work.php mysqli|pdo|pdo-emulated
declare(strict_types=1);
error_reporting(E_ALL);
$which = $argv[1];
$E = getenv();

function shown(mixed $value): string {
    if (is_string($value)) {
        return strlen($value) > 500 ? 'string[' . strlen($value) . ']' . md5($value)
            : 'string:' . (preg_match('//u', $value) ? json_encode($value, JSON_UNESCAPED_UNICODE) : bin2hex($value));
    }
    if (is_array($value)) {
        return '[' . implode(', ', array_map(fn($k, $v) => "$k: " . shown($v), array_keys($value), $value)) . ']';
    }
    return gettype($value) . ':' . var_export($value, true);
}
function out(string $label, mixed ...$values): void {
    echo $label, ' ', implode(' ', array_map('shown', $values)), "\n";
}
function sync(): void {
    echo "##sync\n";
    fgets(STDIN);
}

abstract class Driver {
    abstract function run(string $sql, ?string $label = null): void;
    abstract function prepared(string $sql, array $values, string $label): void;
    function each(): void {
        foreach (file($GLOBALS['E']['WORK'], FILE_IGNORE_NEW_LINES) as $line) {
            if ($line === '##sync') sync();
            elseif ($line !== '' && $line[0] !== '#') $this->run($line);
        }
    }
}

final class Mysqli_ extends Driver {
    public mysqli $c;
    function __construct(array $more = [], int $flags = 0) {
        global $E;
        $o = $more + ['user' => $E['DB_USER'], 'password' => $E['DB_PASSWORD'], 'db' => $E['DB_NAME']];
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        $this->c = mysqli_init();
        $this->c->options(MYSQLI_INIT_COMMAND, "SET time_zone='+03:00'");
        $this->c->options(MYSQLI_OPT_LOCAL_INFILE, true);
        $this->c->options(MYSQLI_OPT_INT_AND_FLOAT_NATIVE, true);
        $this->c->real_connect($E['DB_HOST'], $o['user'], $o['password'], $o['db'], (int)$E['DB_PORT'], null, $flags);
        $this->c->set_charset('utf8mb4');
    }
    function error(string $label, mysqli_sql_exception $e): void {
        out("$label error", $e->getCode(), $this->c->sqlstate, $e->getMessage());
    }
    function result(string $label, mysqli_result $r): void {
        foreach ($r->fetch_fields() as $f) {
            out("$label field", $f->name, $f->orgname, $f->table, $f->db, $f->type, $f->flags, $f->length, $f->decimals, $f->charsetnr);
        }
        while ($row = $r->fetch_row()) out("$label row", $row);
        $r->free();
    }
    function run(string $sql, ?string $label = null): void {
        $label ??= $sql;
        try {
            $this->c->multi_query($sql);
            do {
                $r = $this->c->store_result();
                if ($r) $this->result($label, $r);
                out("$label count", $this->c->affected_rows, $this->c->insert_id, $this->c->warning_count, $this->c->info);
                for ($w = $this->c->warning_count ? $this->c->get_warnings() : false; $w; $w = $w->next() ? $w : false) {
                    out("$label warning", $w->errno, $w->sqlstate, $w->message);
                }
                $more = $this->c->more_results();
            } while ($more && $this->c->next_result());
        } catch (mysqli_sql_exception $e) {
            $this->error($label, $e);
        }
    }
    function prepared(string $sql, array $values, string $label): void {
        try {
            $s = $this->c->prepare($sql);
            $s->execute($values);
            $r = $s->get_result();
            if ($r) $this->result($label, $r);
            out("$label count", $s->affected_rows, $s->insert_id, $s->param_count, $s->field_count);
            $s->close();
        } catch (mysqli_sql_exception $e) {
            $this->error($label, $e);
        }
    }
    function again(): void {
        $s = $this->c->prepare('SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id');
        foreach ([['i', 5], ['s', 'five 😀'], ['d', 5.5], ['s', null], ['i', PHP_INT_MIN]] as [$type, $value]) {
            $s->bind_param($type, $value);
            $s->execute();
            $this->result("again $type", $s->get_result());
        }
        $s->close();
        $s = $this->c->prepare('SELECT n FROM numbers WHERE n >= ? ORDER BY n LIMIT 25');
        $s->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
        $from = 100;
        $s->bind_param('i', $from);
        $s->execute();
        $s->bind_result($n);
        $sum = 0;
        while ($s->fetch()) $sum += $n;
        out('cursor', $sum);
        $s->close();
    }
    function big(): void {
        $data = str_repeat('abcdefgh', (17 << 17)) . 'tail';
        $s = $this->c->prepare('INSERT INTO big VALUES (1, ?)');
        $null = null;
        $s->bind_param('b', $null);
        foreach (str_split($data, 1 << 20) as $part) $s->send_long_data(0, $part);
        $s->execute();
        out('long data', $s->affected_rows);
        $row = $this->c->query('SELECT data, MD5(data) FROM big')->fetch_row();
        out('big', $row[0] === $data, $row[1]);
    }
    function streaming(): void {
        $this->c->real_query("SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n");
        $r = $this->c->use_result();
        for ($sum = 0; $row = $r->fetch_row();) $sum += $row[0] + $row[1] + strlen($row[2]);
        $r->free();
        out('streamed', $sum);
    }
    function more(): void {
        global $E;
        $this->again();
        $other = new Mysqli_();
        out('own id', $this->c->query('SELECT CONNECTION_ID()')->fetch_row()[0] === $this->c->thread_id);
        $this->c->begin_transaction(MYSQLI_TRANS_START_WITH_CONSISTENT_SNAPSHOT, 'name');
        $this->run('UPDATE locked SET n = 10 WHERE id = 1');
        $this->c->savepoint('one');
        $this->run('UPDATE locked SET n = 20 WHERE id = 2');
        $this->c->query('ROLLBACK TO one');
        $this->c->release_savepoint('one');
        $other->run('SET innodb_lock_wait_timeout = 1');
        $other->run('UPDATE locked SET n = 11 WHERE id = 1', 'waits');
        $this->c->commit();
        $other->run('SELECT * FROM locked ORDER BY id', 'committed');
        $this->c->autocommit(false);
        $this->run('UPDATE locked SET n = 77');
        $this->c->rollback();
        $this->c->autocommit(true);
        $this->run('SELECT * FROM locked ORDER BY id', 'rolled back');
        $other->c->query('SELECT SLEEP(25) FROM numbers', MYSQLI_ASYNC);
        do {
            $this->c->query('KILL QUERY ' . $other->c->thread_id);
            $read = $error = $reject = [$other->c];
        } while (!mysqli_poll($read, $error, $reject, 0, 200000));
        try {
            $r = $other->c->reap_async_query();
            while ($r->fetch_row());
            out('killed query', 'no error');
        } catch (mysqli_sql_exception $e) {
            out('killed query', $e->getCode(), $e->getMessage());
        }
        $other->run("SELECT 'alive'");
        $found = new Mysqli_([], MYSQLI_CLIENT_FOUND_ROWS);
        $found->run('UPDATE locked SET n = n', 'found rows');
        $this->run("SET @mine = 1, time_zone = '+01:00'");
        $this->c->change_user($E['DB_USER2'], $E['DB_PASSWORD2'], $E['DB_NAME']);
        $this->run('SELECT CURRENT_USER(), @mine, DATABASE()', 'after the change');
        out('ping and stat', $this->c->query('DO 1'), is_string($this->c->stat()));
        $this->c->select_db('information_schema');
        $this->run('SELECT DATABASE()');
        foreach ([['password' => 'wrong'], ['user' => 'nobody_here'], ['db' => 'no_such_database']] as $change) {
            try {
                new Mysqli_($change);
                out('login', 'accepted');
            } catch (mysqli_sql_exception $e) {
                out('login', $change, $e->getCode(), $e->getMessage());
            }
        }
    }
}

final class Pdo_ extends Driver {
    public PDO $c;
    function __construct(private bool $emulated, array $more = []) {
        global $E;
        $o = $more + ['user' => $E['DB_USER'], 'password' => $E['DB_PASSWORD'], 'db' => $E['DB_NAME']];
        $this->c = new PDO("mysql:host={$E['DB_HOST']};port={$E['DB_PORT']};dbname={$o['db']};charset=utf8mb4", $o['user'], $o['password'], [
            PDO::ATTR_EMULATE_PREPARES => $emulated, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
            PDO::MYSQL_ATTR_INIT_COMMAND => "SET time_zone='+03:00'", PDO::MYSQL_ATTR_LOCAL_INFILE => true,
            PDO::ATTR_STRINGIFY_FETCHES => false,
        ] + ($more['options'] ?? []));
    }
    function results(string $label, PDOStatement $s): void {
        do {
            for ($i = 0; $i < $s->columnCount(); $i++) out("$label column", $s->getColumnMeta($i));
            if ($s->columnCount()) foreach ($s->fetchAll(PDO::FETCH_NUM) as $row) out("$label row", $row);
            out("$label count", $s->rowCount(), $this->c->lastInsertId());
        } while ($s->nextRowset());
        $s->closeCursor();
    }
    function run(string $sql, ?string $label = null): void {
        $label ??= $sql;
        try {
            $this->results($label, $this->c->query($sql));
        } catch (PDOException $e) {
            out("$label error", $e->getCode(), $e->errorInfo);
        }
    }
    function prepared(string $sql, array $values, string $label): void {
        try {
            $s = $this->c->prepare($sql);
            $s->execute($values);
            $this->results($label, $s);
        } catch (PDOException $e) {
            out("$label error", $e->getCode(), $e->errorInfo);
        }
    }
    function big(): void {
        $data = str_repeat('abcdefgh', (17 << 17)) . 'tail';
        $s = $this->c->prepare('INSERT INTO big VALUES (1, ?)');
        $s->bindValue(1, $data, PDO::PARAM_LOB);
        $s->execute();
        $row = $this->c->query('SELECT data, MD5(data) FROM big')->fetch(PDO::FETCH_NUM);
        out('big', $row[0] === $data, $row[1]);
    }
    function streaming(): void {
        $this->c->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, false);
        $s = $this->c->query("SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n");
        for ($sum = 0; $row = $s->fetch(PDO::FETCH_NUM);) $sum += $row[0] + $row[1] + strlen($row[2]);
        $s->closeCursor();
        $this->c->setAttribute(PDO::MYSQL_ATTR_USE_BUFFERED_QUERY, true);
        out('streamed', $sum);
    }
    function more(): void {
        $s = $this->c->prepare('SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id');
        foreach ([[5, PDO::PARAM_INT], ['five 😀', PDO::PARAM_STR], [null, PDO::PARAM_NULL], [true, PDO::PARAM_BOOL]] as [$value, $type]) {
            $s->bindValue(1, $value, $type);
            $s->execute();
            out('again', $s->fetchAll(PDO::FETCH_ASSOC));
        }
        $other = new Pdo_($this->emulated);
        $this->c->beginTransaction();
        $this->run('UPDATE locked SET n = 10 WHERE id = 1');
        out('in transaction', $this->c->inTransaction());
        $other->run('SET innodb_lock_wait_timeout = 1');
        $other->run('UPDATE locked SET n = 11 WHERE id = 1', 'waits');
        $this->c->rollBack();
        $this->c->beginTransaction();
        $this->run('UPDATE locked SET n = 12 WHERE id = 1');
        $this->c->commit();
        $other->run('SELECT * FROM locked ORDER BY id', 'committed');
        $this->c->setAttribute(PDO::ATTR_AUTOCOMMIT, 0);
        $this->run('UPDATE locked SET n = 77');
        $this->c->rollBack();
        $this->c->setAttribute(PDO::ATTR_AUTOCOMMIT, 1);
        $this->run('SELECT * FROM locked ORDER BY id', 'rolled back');
        $found = new Pdo_($this->emulated, ['options' => [PDO::MYSQL_ATTR_FOUND_ROWS => true]]);
        $found->run('UPDATE locked SET n = n', 'found rows');
        foreach ([['password' => 'wrong'], ['user' => 'nobody_here'], ['db' => 'no_such_database']] as $change) {
            try {
                new Pdo_($this->emulated, $change);
                out('login', 'accepted');
            } catch (PDOException $e) {
                out('login', $change, $e->getCode(), $e->getMessage());
            }
        }
        for ($i = 0; $i < 3; $i++) {
            global $E;
            $kept = new PDO("mysql:host={$E['DB_HOST']};port={$E['DB_PORT']};dbname={$E['DB_NAME']}", $E['DB_USER'], $E['DB_PASSWORD'], [PDO::ATTR_PERSISTENT => true]);
            out('persistent', $kept->query('SELECT @kept, DATABASE()')->fetchAll(PDO::FETCH_NUM));
            $kept = null;
        }
    }
}

$make = fn() => match ($which) { 'mysqli' => new Mysqli_(), 'pdo' => new Pdo_(false), 'pdo-emulated' => new Pdo_(true) };
echo '##version ', PHP_VERSION, "\n";
$d = $make();
$d->each();
foreach ([1, -1.5, 'text 😀 \\ \' "', null, true, "\x00\xff'\\"] as $value) $d->prepared('SELECT ? AS v', [$value], 'value ' . shown($value));
foreach ([1, 2, 3] as $id) $d->prepared('SELECT * FROM types WHERE id = ?', [$id], "prepared types $id");
$d->prepared('INSERT INTO items (name, n) VALUES (?, ?)', ['prepared', 1], 'prepared insert');
$d->prepared('INSERT INTO items (name, n) VALUES (?, ?)', ['prepared', 1], 'prepared insert again');
$d->prepared('SELECT nowhere', [], 'prepared error');
$d->big();
$d->streaming();
foreach (['CALL two_results()', 'CALL fails()', "SELECT 1; SELECT 2, 'b'; DO 1; SELECT 3", 'SELECT 1; SELECT nowhere; SELECT 3', "SELECT 'goes on'"] as $sql) $d->run($sql);
$d->run("LOAD DATA LOCAL INFILE '{$E['LOAD']}' INTO TABLE loaded FIELDS TERMINATED BY ','", 'load');
$d->run('SELECT * FROM loaded ORDER BY a');
$d->more();
sync();
$d = $make();
foreach ([1, 2, 3] as $id) $d->prepared('SELECT * FROM types WHERE id = ?', [$id], "prepared types $id");
$d->streaming();
echo "##end\n";
