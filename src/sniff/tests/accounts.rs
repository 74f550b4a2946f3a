use crate::sniff::{may_change_accounts, sniff, Dialect};

fn changes(sql: &str, in_mysql: bool) -> bool {
    let sniffed = sniff(sql.as_bytes(), true, Dialect::default());
    may_change_accounts(&sniffed, sql.as_bytes(), in_mysql)
}

#[test]
fn every_statement_about_accounts_is_seen() {
    let statements = [
        "CREATE USER a@b IDENTIFIED BY 'x'",
        "create /* x */ or replace\n user a",
        "ALTER USER a ACCOUNT LOCK",
        "DROP USER IF EXISTS a, b",
        "RENAME USER a TO b",
        "GRANT SELECT ON *.* TO a",
        "REVOKE ALL ON *.* FROM a",
        "SET PASSWORD FOR a = PASSWORD('x')",
        "SET DEFAULT ROLE r FOR a",
        "CREATE ROLE r",
        "DROP ROLE r",
        "FLUSH PRIVILEGES",
        "UPDATE mysql.user SET authentication_string = ''",
        "DELETE FROM `mysql`.`db`",
        "INSERT INTO MYSQL.global_priv VALUES (1)",
        "TRUNCATE mysql.db",
        "SELECT 1; DROP USER a",
        "EXECUTE IMMEDIATE 'CREATE USER a'",
        "PREPARE s FROM 'GRANT ALL ON *.* TO a'",
    ];
    for sql in statements {
        assert!(changes(sql, false), "{sql}");
    }
    assert!(changes("DELETE FROM user", true));
}

#[test]
fn ordinary_statements_do_not_make_the_accounts_stale() {
    let statements = [
        "INSERT INTO t VALUES ('user', 'password')",
        "UPDATE users SET name = 'grant'",
        "DELETE FROM user",
        "CREATE TABLE t (a INT)",
        "SET autocommit = 0",
        "FLUSH TABLES",
        "CALL p()",
        "SELECT * FROM mysql.user",
    ];
    for sql in statements {
        assert!(!changes(sql, false), "{sql}");
    }
}
