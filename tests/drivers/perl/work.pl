#!/usr/bin/perl
# The scripted work through Perl's DBI: work.pl mysql|MariaDB
use strict;
use warnings;
use DBI qw(:sql_types);
use Digest::MD5 qw(md5_hex);
binmode STDOUT, ':raw';
$| = 1;
my $which = $ARGV[0];
my $p = lc($which);    # of the driver's own attributes: mysql_insertid, mariadb_insertid

sub shown {
    my ($v) = @_;
    return 'undef' unless defined $v;
    utf8::encode($v) if utf8::is_utf8($v);
    return 'long[' . length($v) . ']' . md5_hex($v) if length($v) > 500;
    $v =~ s/([^\x20-\x7e])/sprintf('\\x%02x', ord $1)/ge;
    return "'$v'";
}
sub out { my $label = shift; utf8::encode($label) if utf8::is_utf8($label); print "$label ", join(' ', map { shown($_) } @_), "\n"; }
sub sync { print "##sync\n"; <STDIN>; }

sub connect_ {
    my (%o) = @_;
    my $name = $o{db} // $ENV{DB_NAME};
    my $dsn = "DBI:$which:database=$name;host=$ENV{DB_HOST};port=$ENV{DB_PORT};${p}_local_infile=1;${p}_multi_statements=1"
        . (exists $o{found} ? ";${p}_client_found_rows=$o{found}" : '') . ($o{options} // '');
    my $utf8 = $which eq 'mysql' ? { mysql_enable_utf8mb4 => 1 } : {};
    return DBI->connect($dsn, $o{user} // $ENV{DB_USER}, $o{password} // $ENV{DB_PASSWORD},
        { RaiseError => 0, PrintError => 0, AutoCommit => 1, "${p}_init_command" => "SET time_zone='+03:00'", %$utf8 });
}

sub results {
    my ($dbh, $sth, $label) = @_;
    my $number = 0;
    do {
        if ($sth->{NUM_OF_FIELDS}) {
            out("$label columns", map { defined $_ ? $_ : 'undef' } @{ $sth->{NAME} }, @{ $sth->{TYPE} }, @{ $sth->{PRECISION} }, @{ $sth->{NULLABLE} });
            while (my $row = $sth->fetchrow_arrayref) { out("$label row", @$row); }
        }
        out("$label count", $sth->rows, $sth->{"${p}_insertid"}, $sth->{"${p}_warning_count"});
        if ($sth->err) { out("$label error", $sth->err, $sth->state, $sth->errstr); }
    } while ($number++ < 20 && $sth->more_results);
    $sth->finish;
}

sub run {
    my ($dbh, $sql, $label, @values) = @_;
    $label //= $sql;
    my $sth = $dbh->prepare($sql);
    if (!$sth || !$sth->execute(@values)) {
        my $h = $sth // $dbh;
        return out("$label error", $h->err, $h->state, $h->errstr);
    }
    results($dbh, $sth, $label);
}

sub prepared {
    my ($dbh) = @_;
    for my $server (0, 1) {
        my $attributes = { "${p}_server_prepare" => $server };
        my $sth = $dbh->prepare('SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id', $attributes);
        for my $case ([5, SQL_INTEGER], ['five', SQL_VARCHAR], [undef, SQL_VARCHAR], [5.5, SQL_DOUBLE], ["\x01\x02", SQL_BINARY]) {
            $sth->bind_param(1, @$case);
            $sth->execute;
            results($dbh, $sth, "prepared $server");
        }
        for my $id (1 .. 3) {
            $sth = $dbh->prepare('SELECT id, ti, tu, si, mi, i, iu, bi, bu, de, f, d, da, t6, dt6, ts6, y, c, vc, txt, vb, e, s, j, bo FROM types WHERE id = ?', $attributes);
            $sth->execute($id);
            results($dbh, $sth, "prepared types $server $id");
        }
        $sth = $dbh->prepare('SELECT nowhere', $attributes);
        out("prepared error $server", $dbh->err // ($sth->execute ? 'none' : $sth->err));
    }
}

sub streaming {
    my ($dbh) = @_;
    my $sth = $dbh->prepare("SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n", { "${p}_use_result" => 1 });
    $sth->execute;
    my $sum = 0;
    while (my $row = $sth->fetchrow_arrayref) { $sum += $row->[0] + $row->[1] + length $row->[2]; }
    out('streamed', $sum);
}

my $driver = "DBD::$which";
eval "require $driver" or die $@;
{ no strict 'refs'; print "##version ${\"${driver}::VERSION\"}\n"; }
my $dbh = connect_() or die $DBI::errstr;
open my $work, '<', $ENV{WORK} or die $!;
while (my $line = <$work>) {
    chomp $line;
    if ($line eq '##sync') { sync() }
    elsif ($line ne '' && $line !~ /^#/) {
        # DBD::MariaDB wants characters, DBD::mysql takes either
        utf8::decode($line);
        run($dbh, $line);
    }
}
prepared($dbh);
my $insert = $dbh->prepare('INSERT INTO items (name, n) VALUES (?, ?)');
my @status;
out('batch', $insert->execute_array({ ArrayTupleStatus => \@status }, [map { "batch $_" } 1 .. 50], [1 .. 50]), @status);
out('last id', $dbh->last_insert_id(undef, undef, undef, undef));
run($dbh, 'SELECT COUNT(*), SUM(n) FROM items');
my $data = 'abcdefgh' x (17 << 17) . 'tail';
$insert = $dbh->prepare('INSERT INTO big VALUES (1, ?)');
$insert->bind_param(1, $data, SQL_BLOB);
out('big insert', $insert->execute);
# DBI cuts long values at LongReadLen where a driver obeys it
$dbh->{LongReadLen} = 64 << 20;
my ($read, $md5) = $dbh->selectrow_array('SELECT data, MD5(data) FROM big');
out('big', $read eq $data ? 'same' : 'other', $md5);
streaming($dbh);
run($dbh, $_) for 'CALL two_results()', 'CALL fails()', "SELECT 1; SELECT 2, 'b'; SELECT 3", 'SELECT 1; SELECT nowhere; SELECT 3', "SELECT 'goes on'";
run($dbh, "LOAD DATA LOCAL INFILE '$ENV{LOAD}' INTO TABLE loaded FIELDS TERMINATED BY ','", 'load');
run($dbh, 'SELECT * FROM loaded ORDER BY a');
my $other = connect_();
$dbh->begin_work;
run($dbh, 'UPDATE locked SET n = 10 WHERE id = 1');
run($other, 'SET innodb_lock_wait_timeout = 1');
run($other, 'UPDATE locked SET n = 11 WHERE id = 1', 'waits');
$dbh->rollback;
$dbh->{AutoCommit} = 0;
run($dbh, 'UPDATE locked SET n = 12 WHERE id = 1');
$dbh->commit;
run($dbh, 'UPDATE locked SET n = 13 WHERE id = 1');
$dbh->rollback;
$dbh->{AutoCommit} = 1;
run($other, 'SELECT * FROM locked ORDER BY id', 'committed');
my ($own) = $dbh->selectrow_array('SELECT CONNECTION_ID()');
out('own id', $own == ($dbh->{"${p}_thread_id"}) ? 'yes' : 'no');
for my $found (0, 1) {
    my $h = connect_(found => $found);
    run($h, 'UPDATE locked SET n = n', "found rows $found");
    $h->disconnect;
}
run($dbh, 'KILL 4000000000', 'kill nobody');
run($dbh, 'KILL ' . $other->{"${p}_thread_id"}, 'kill');
my $alive = 1;
for (1 .. 100) { last unless $alive = defined $other->do('DO SLEEP(0.1)'); }
out('killed', $alive ? 'alive' : 'gone');
out('ping', $dbh->ping ? 1 : 0);
out('tables', sort map { s/.*\.//r } $dbh->tables(undef, $ENV{DB_NAME}, '%', 'TABLE'));
my $info = $dbh->column_info(undef, $ENV{DB_NAME}, 'types', '%');
while (my $row = $info->fetchrow_arrayref) { out('column info', @$row[2 .. 10]); }
for my $o ({ password => 'wrong' }, { user => 'nobody_here' }, { db => 'no_such_database' }) {
    my $h = connect_(%$o);
    out('login', $h ? 'accepted' : ($DBI::err, $DBI::state, $DBI::errstr));
}
sync();
$dbh->disconnect;
$dbh = connect_();
prepared($dbh);
streaming($dbh);
print "##end\n";
