//! The key `ids` of `[[table]]`.
use super::super::walk::{Findings, Found};
use super::{Ids, Rule};

/// Who counts: Umpire, if it can keep what it gave out.
pub(super) fn ids(
    found: Option<&Found<&str>>,
    rule: &Rule,
    stored: bool,
    findings: &Findings<'_>,
) -> Ids {
    let Some(found) = found else {
        return match rule {
            Rule::Placed(_) => Ids::Server,
            _ if stored => Ids::Sequence,
            _ => Ids::Server,
        };
    };
    if matches!(rule, Rule::Placed(_)) {
        let message = "a table on one group has its ids from that group's server";
        findings.error(found.at, &found.key, message);
    }
    let ids = match found.value {
        "server" => return Ids::Server,
        "sequence" => Ids::Sequence,
        "snowflake" => Ids::Snowflake,
        other => {
            let message =
                format!("{other:?} is not one of \"server\", \"sequence\", \"snowflake\"");
            findings.error(found.at, &found.key, message);
            return Ids::Server;
        }
    };
    if !stored {
        let message = "needs a section [coordination], which keeps the ids that were given out";
        findings.error(found.at, &found.key, message);
    }
    ids
}
