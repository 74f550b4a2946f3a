//! Whether a statement may change the server's accounts. Rather too often than not: what follows is one look at
//! them before the next login.
use super::types::{Effects, Sniffed, Verb};
use memchr::memchr2_iter;

/// A statement that names a table of the schema mysql does so near its beginning.
const NEAR: usize = 4096;
/// One of these stands in every statement about accounts.
const ABOUT_ACCOUNTS: [&[u8]; 5] = [b"user", b"role", b"grant", b"password", b"privileges"];

/// `in_mysql`: the session's schema is `mysql`, so that its tables need not be named in full.
pub fn may_change_accounts(sniffed: &Sniffed, sql: &[u8], in_mysql: bool) -> bool {
    let about = || ABOUT_ACCOUNTS.iter().any(|word| mentions(sql, word));
    let tables = || in_mysql || mentions(&sql[..sql.len().min(NEAR)], b"mysql");
    if sniffed
        .effects
        .intersects(Effects::MULTI_STATEMENT | Effects::UNREAD | Effects::PREPARES)
    {
        return about() || tables();
    }
    match sniffed.verb {
        Verb::Grant | Verb::Revoke => true,
        Verb::Create | Verb::Alter | Verb::Drop | Verb::Rename | Verb::Flush => about(),
        // settings that decide who gets in: require_secure_transport, skip_name_resolve, default_password_lifetime
        Verb::Set => sniffed
            .effects
            .intersects(Effects::SET_OTHER | Effects::SET_GLOBAL),
        Verb::Insert
        | Verb::Replace
        | Verb::Update
        | Verb::Delete
        | Verb::Truncate
        | Verb::Load
        | Verb::With => tables(),
        _ => false,
    }
}

/// In any case; `word` in lower case.
fn mentions(text: &[u8], word: &[u8]) -> bool {
    let Some(&first) = word.first() else {
        return false;
    };
    memchr2_iter(first, first.to_ascii_uppercase(), text).any(|at| {
        text.get(at..at + word.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    })
}
