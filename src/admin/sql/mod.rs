//! The admin port: statements over the MySQL protocol, usable with the `mysql` and `mariadb`
//! clients.

mod answer;
mod commands;
mod login;
mod pace;
mod server;
mod session;
mod statement;
mod stream;

pub(super) use server::serve;
