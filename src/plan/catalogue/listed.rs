//! SHOW TABLE STATUS and SHOW TRIGGERS: SELECTs over information_schema, planned as such.
use super::super::ddl::Tokens;
use super::super::edit::quoted;
use super::super::planner;
use super::super::request::{Planned, Request};
use super::super::show;
use super::super::types::Refusal;
use super::derived::literal;
use super::views::View;
use super::{names::Names, wanted::Wanted, SCHEMA};

struct Listing {
    /// Behind SHOW.
    words: &'static [&'static str],
    view: &'static str,
    schema: &'static str,
    /// The view's columns and what SHOW calls them.
    columns: &'static [[&'static str; 2]],
    /// What LIKE is about.
    like: &'static str,
}

const LISTINGS: [Listing; 2] = [
    Listing {
        words: &["table", "status"],
        view: "TABLES",
        schema: "TABLE_SCHEMA",
        columns: &[
            ["TABLE_NAME", "Name"],
            ["ENGINE", "Engine"],
            ["VERSION", "Version"],
            ["ROW_FORMAT", "Row_format"],
            ["TABLE_ROWS", "Rows"],
            ["AVG_ROW_LENGTH", "Avg_row_length"],
            ["DATA_LENGTH", "Data_length"],
            ["MAX_DATA_LENGTH", "Max_data_length"],
            ["INDEX_LENGTH", "Index_length"],
            ["DATA_FREE", "Data_free"],
            ["AUTO_INCREMENT", "Auto_increment"],
            ["CREATE_TIME", "Create_time"],
            ["UPDATE_TIME", "Update_time"],
            ["CHECK_TIME", "Check_time"],
            ["TABLE_COLLATION", "Collation"],
            ["CHECKSUM", "Checksum"],
            ["CREATE_OPTIONS", "Create_options"],
            ["TABLE_COMMENT", "Comment"],
            ["MAX_INDEX_LENGTH", "Max_index_length"],
            ["TEMPORARY", "Temporary"],
        ],
        like: "Name",
    },
    Listing {
        words: &["triggers"],
        view: "TRIGGERS",
        schema: "TRIGGER_SCHEMA",
        columns: &[
            ["TRIGGER_NAME", "Trigger"],
            ["EVENT_MANIPULATION", "Event"],
            ["EVENT_OBJECT_TABLE", "Table"],
            ["ACTION_STATEMENT", "Statement"],
            ["ACTION_TIMING", "Timing"],
            ["CREATED", "Created"],
            ["SQL_MODE", "sql_mode"],
            ["DEFINER", "Definer"],
            ["CHARACTER_SET_CLIENT", "character_set_client"],
            ["COLLATION_CONNECTION", "collation_connection"],
            ["DATABASE_COLLATION", "Database Collation"],
        ],
        like: "Table",
    },
];

/// The plan of such a SHOW; none: it is another one, or is right as it is.
///
/// # Errors
/// Those of the SELECT.
pub(in super::super) fn plan(request: &Request<'_>) -> Result<Option<Planned>, Refusal> {
    let tokens = Tokens::read(request);
    if !tokens.is(0, "show") {
        return Ok(None);
    }
    let at = tokens.skip(1, &["full"]);
    let is = |listing: &&Listing| {
        let mut words = listing.words.iter().enumerate();
        words.all(|(n, word)| tokens.is(at + n, word))
    };
    let Some(listing) = LISTINGS.iter().find(is) else {
        return Ok(None);
    };
    let Some(view) = View::find(listing.view) else {
        return Ok(None);
    };
    if Names::of(request, request.home, view, &Wanted::everything(), true).is_empty() {
        return Ok(None);
    }
    let Some(columns) = (request.columns)(SCHEMA, listing.view) else {
        return Ok(Some(Planned::Needs {
            schema: SCHEMA.into(),
            table: listing.view.into(),
            group: request.home,
            question: super::Columns::question(SCHEMA, listing.view),
        }));
    };
    let known = |name: &str| columns.position(name).is_some();
    let Some(sql) = select(request, &tokens, listing, at, &known) else {
        return Ok(None);
    };
    let planned = planner::plan(&Request {
        sql: &sql,
        ..*request
    })?;
    Ok(Some(planned))
}

fn select(
    request: &Request<'_>,
    tokens: &Tokens,
    listing: &Listing,
    at: usize,
    known: &dyn Fn(&str) -> bool,
) -> Option<Vec<u8>> {
    let at = at + listing.words.len();
    let named = tokens.is(at, "from") || tokens.is(at, "in");
    let (schema, next) = match named {
        true => (tokens.identifier(at + 1)?.text.as_str(), at + 2),
        false => (request.schema?, at),
    };
    let (_, filter) = show::filter(request, tokens, next)?;
    let columns = listing.columns.iter().filter(|[of, _]| known(of));
    let list: Vec<String> = columns
        .map(|[of, shown]| format!("{of} AS {}", quoted(shown)))
        .collect();
    let mut sql = format!(
        "SELECT * FROM (SELECT {} FROM {SCHEMA}.{} WHERE {} = {}) AS umpire_list",
        list.join(", "),
        listing.view,
        listing.schema,
        literal(schema)
    )
    .into_bytes();
    if let Some((start, end, like)) = filter {
        let how = match like {
            true => format!(" WHERE {} ", quoted(listing.like)),
            false => " ".into(),
        };
        sql.extend_from_slice(how.as_bytes());
        sql.extend_from_slice(request.sql.get(start..end)?);
    }
    sql.extend_from_slice(format!(" ORDER BY {}", quoted(listing.like)).as_bytes());
    Some(sql)
}
