<?php
[, $port, $ca] = $argv;
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
try {
    $connection = mysqli_init();
    $connection->options(MYSQLI_OPT_SSL_VERIFY_SERVER_CERT, true);
    $connection->ssl_set(null, null, $ca, null, null);
    @$connection->real_connect('127.0.0.1', 'app', 'apppw', null, (int)$port, null, MYSQLI_CLIENT_SSL);
    $row = $connection->query("SELECT REPEAT('z', 100000)")->fetch_row();
    echo 'TLS ', strlen($row[0]), "\n";
} catch (Throwable $error) {
    echo $error->getMessage(), "\n";
    exit(1);
}
