//! SHOW … as a server without tables answers it: the columns that clients look for, and hardly a row.

use super::variables::{self, Wanted};
use super::DATABASE;
use crate::admin::sql::answer::Table;
use crate::admin::sql::statement;

/// What SHOW can be asked for, by its first words; and the columns of the answer, which has no row.
const EMPTY: [(&str, &str); 33] = [
    ("warnings", "Level,Code,Message"),
    ("errors", "Level,Code,Message"),
    ("plugins", "Name,Status,Type,Library,License"),
    ("privileges", "Privilege,Context,Comment"),
    ("open tables", "Database,Table,In_use,Name_locked"),
    ("profiles", "Query_ID,Duration,Query"),
    ("profile", "Status,Duration"),
    ("master status", "File,Position,Binlog_Do_DB,Binlog_Ignore_DB"),
    ("binary log status", "File,Position,Binlog_Do_DB,Binlog_Ignore_DB"),
    ("master logs", "Log_name,File_size"),
    ("binary logs", "Log_name,File_size"),
    ("slave status", "Slave_IO_State,Master_Host,Master_User,Master_Port"),
    ("all slaves status", "Connection_name,Slave_SQL_State,Slave_IO_State,Master_Host"),
    ("replica status", "Replica_IO_State,Source_Host,Source_User,Source_Port"),
    ("slave hosts", "Server_id,Host,Port,Master_id"),
    ("replicas", "Server_Id,Host,Port,Source_Id"),
    ("triggers", "Trigger,Event,Table,Statement,Timing,Created,sql_mode,Definer,character_set_client,collation_connection,Database Collation"),
    ("events", "Db,Name,Definer,Time zone,Type,Execute at,Interval value,Interval field,Starts,Ends,Status,Originator,character_set_client,collation_connection,Database Collation"),
    ("function status", ROUTINE),
    ("procedure status", ROUTINE),
    ("package status", ROUTINE),
    ("package body status", ROUTINE),
    ("table status", "Name,Engine,Version,Row_format,Rows,Avg_row_length,Data_length,Max_data_length,Index_length,Data_free,Auto_increment,Create_time,Update_time,Check_time,Collation,Checksum,Create_options,Comment"),
    ("columns", "Field,Type,Null,Key,Default,Extra"),
    ("fields", "Field,Type,Null,Key,Default,Extra"),
    ("full columns", FULL_COLUMNS),
    ("full fields", FULL_COLUMNS),
    ("index", INDEX),
    ("indexes", INDEX),
    ("keys", INDEX),
    ("full tables", "Tables_in_umpire,Table_type"),
    ("tables", "Tables_in_umpire"),
    ("engine", "Type,Name,Status"),
];

const ROUTINE: &str = "Db,Name,Type,Definer,Modified,Created,Security_type,Comment,character_set_client,collation_connection,Database Collation";
const FULL_COLUMNS: &str = "Field,Type,Collation,Null,Key,Default,Extra,Privileges,Comment";
const INDEX: &str = "Table,Non_unique,Key_name,Seq_in_index,Column_name,Collation,Cardinality,Sub_part,Packed,Null,Index_type,Comment,Index_comment";

/// What follows SHOW; None: nothing that this knows. `user`: who asks.
pub fn show(rest: &str, user: &str) -> Option<Table> {
    let scoped = ["session", "local", "global"]
        .iter()
        .find_map(|scope| statement::after(rest, scope))
        .unwrap_or(rest);
    if let Some(rest) = statement::after(scoped, "variables") {
        return variables::show(rest);
    }
    filled(rest, user).or_else(|| {
        let (_, columns) = EMPTY
            .iter()
            .find(|(words, _)| statement::after(rest, words).is_some())?;
        let columns: Vec<&str> = columns.split(',').collect();
        Some(Table::new(&columns))
    })
}

/// The answers that have rows.
fn filled(rest: &str, user: &str) -> Option<Table> {
    let after = |words| statement::after(rest, words);
    if let Some(rest) = after("databases").or_else(|| after("schemas")) {
        let wanted = Wanted::read(rest)?;
        let mut table = Table::new(&["Database"]);
        if wanted.holds(DATABASE) {
            table.push([DATABASE.into()]);
        }
        return Some(table);
    }
    if after("count(*) warnings").is_some() || after("count(*) errors").is_some() {
        let kind = if after("count(*) errors").is_some() {
            "error"
        } else {
            "warning"
        };
        return Some(one(&[&format!("@@session.{kind}_count")], &["0"]));
    }
    if after("create database")
        .or_else(|| after("create schema"))
        .is_some()
    {
        let create =
            format!("CREATE DATABASE `{DATABASE}` /*!40100 DEFAULT CHARACTER SET utf8mb4 */");
        return Some(one(&["Database", "Create Database"], &[DATABASE, &create]));
    }
    if after("grants").is_some() {
        let grant = format!("GRANT ALL PRIVILEGES ON *.* TO '{user}'@'%'");
        return Some(one(&[&format!("Grants for {user}@%")], &[&grant]));
    }
    if after("engines")
        .or_else(|| after("storage engines"))
        .is_some()
    {
        let columns = [
            "Engine",
            "Support",
            "Comment",
            "Transactions",
            "XA",
            "Savepoints",
        ];
        return Some(one(
            &columns,
            &[
                "UMPIRE",
                "DEFAULT",
                "The proxy's own tables",
                "NO",
                "NO",
                "NO",
            ],
        ));
    }
    if after("charset")
        .or_else(|| after("character set"))
        .is_some()
    {
        let columns = ["Charset", "Description", "Default collation", "Maxlen"];
        return Some(one(
            &columns,
            &["utf8mb4", "UTF-8 Unicode", "utf8mb4_general_ci", "4"],
        ));
    }
    after("collation")?;
    let columns = [
        "Collation",
        "Charset",
        "Id",
        "Default",
        "Compiled",
        "Sortlen",
    ];
    Some(one(
        &columns,
        &["utf8mb4_general_ci", "utf8mb4", "45", "Yes", "Yes", "1"],
    ))
}

/// One row.
fn one(columns: &[&str], values: &[&str]) -> Table {
    let mut table = Table::new(columns);
    table
        .rows
        .push(values.iter().map(|v| Some(v.to_string())).collect());
    table
}
