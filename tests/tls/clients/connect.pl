use strict;
use warnings;
use DBI;

my ($port, $ca) = @ARGV;
my $source = "DBI:MariaDB:host=127.0.0.1;port=$port;mariadb_ssl=1;mariadb_ssl_ca_file=$ca;"
    . "mariadb_ssl_verify_server_cert=1";
my $connection = DBI->connect($source, 'app', 'apppw', { RaiseError => 0, PrintError => 0 });
unless ($connection) {
    print $DBI::errstr, "\n";
    exit 1;
}
my ($value) = $connection->selectrow_array("SELECT REPEAT('z', 100000)");
print 'TLS ', length($value), "\n";
