//! Tables' own names in column definitions, which keep their places and sequence numbers.
use super::bytes::{put_lenenc_bytes, Reader};
use super::capabilities::{MARIADB_CACHE_METADATA, OPTIONAL_RESULTSET_METADATA};
use super::column::decode_count;
use super::packet::{Header, HEADER, MAX_PAYLOAD};

/// What became of the beginning of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renamed {
    /// Some of the definitions are not here yet.
    NeedMore,
    /// No table in it has another name.
    Same,
    /// All that was here is in the output, with other names.
    Written,
}

/// Schema and table that stand for another schema and table.
pub type Names<'n> = [&'n str; 2];
/// What stands for this schema and table; None: they stay.
pub type Named<'f, 'n> = dyn Fn(&[u8], &[u8]) -> Option<Names<'n>> + 'f;

/// Appends the beginning of a reply to COM_QUERY or COM_STMT_EXECUTE with the tables' (not the aliases') names as `named`
/// gives them for schema and table. What cannot be read stays as it is.
pub fn rename_tables<'n>(
    reply: &[u8],
    capabilities: u64,
    named: &Named<'_, 'n>,
    out: &mut Vec<u8>,
) -> Renamed {
    let mut rest = reply;
    let columns = match packet(&mut rest) {
        Cut::Packet(_, payload) => columns(payload, capabilities),
        Cut::NeedMore => return Renamed::NeedMore,
        Cut::TooLong => 0,
    };
    let mut copied = 0;
    for _ in 0..columns {
        let start = reply.len() - rest.len();
        let (header, payload) = match packet(&mut rest) {
            Cut::Packet(header, payload) => (header, payload),
            Cut::NeedMore => return Renamed::NeedMore,
            Cut::TooLong => return Renamed::Same,
        };
        let Some(parts) = definition(payload, named) else {
            continue;
        };
        out.extend_from_slice(reply.get(copied..start).unwrap_or_default());
        copied = reply.len() - rest.len();
        let at = out.len();
        out.extend_from_slice(&[0, 0, 0, header.sequence]);
        parts
            .names
            .iter()
            .for_each(|name| put_lenenc_bytes(out, name));
        out.extend_from_slice(parts.rest);
        let length = (out.len() - at - HEADER) as u32;
        let place = out.iter_mut().skip(at);
        place
            .zip(&length.to_le_bytes()[..3])
            .for_each(|(to, from)| *to = *from);
    }
    if copied == 0 {
        return Renamed::Same;
    }
    out.extend_from_slice(reply.get(copied..).unwrap_or_default());
    Renamed::Written
}

enum Cut<'b> {
    Packet(Header, &'b [u8]),
    NeedMore,
    /// Of several packets: no definition.
    TooLong,
}

fn packet<'b>(rest: &mut &'b [u8]) -> Cut<'b> {
    let Some(header) = Header::decode(rest) else {
        return Cut::NeedMore;
    };
    if header.length == MAX_PAYLOAD {
        return Cut::TooLong;
    }
    let Some((packet, behind)) = rest.split_at_checked(HEADER + header.length) else {
        return Cut::NeedMore;
    };
    *rest = behind;
    Cut::Packet(header, packet.get(HEADER..).unwrap_or_default())
}

/// How many definitions follow.
fn columns(first: &[u8], capabilities: u64) -> usize {
    const FLAGGED: u64 = OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA;
    match decode_count(first) {
        Ok((_, [0, ..])) if capabilities & FLAGGED != 0 => 0,
        Ok((count, _)) => count,
        Err(_) => 0,
    }
}

struct Parts<'b> {
    /// Catalog, schema, alias, table.
    names: [&'b [u8]; 4],
    rest: &'b [u8],
}

/// None: its table has the name that it should have.
fn definition<'b, 'n: 'b>(payload: &'b [u8], named: &Named<'_, 'n>) -> Option<Parts<'b>> {
    const WHAT: &str = "column definition";
    let mut reader = Reader::new(payload);
    let mut text = || reader.lenenc_bytes(WHAT).ok();
    let (catalog, schema, alias, table) = (text()?, text()?, text()?, text()?);
    if table.is_empty() {
        return None;
    }
    let [schema, table] = named(schema, table)?;
    Some(Parts {
        names: [catalog, schema.as_bytes(), alias, table.as_bytes()],
        rest: reader.rest(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::capabilities::DEPRECATE_EOF;
    use super::super::column::{encode_count, Column};
    use super::super::packet::frame;
    use super::*;

    fn named(schema: &[u8], table: &[u8]) -> Option<Names<'static>> {
        (schema == b"app" && table == b"t_12").then_some(["shop", "tickets"])
    }

    fn reply(tables: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut sequence = frame(&encode_count(tables.len(), false), 1, &mut out);
        for table in tables {
            let of_table = !table.is_empty();
            let column = Column {
                catalog: b"def".to_vec(),
                schema: if *table == "tickets" {
                    b"shop".to_vec()
                } else {
                    b"app".to_vec()
                },
                table: if of_table { b"x".to_vec() } else { Vec::new() },
                org_table: table.as_bytes().to_vec(),
                name: b"n".to_vec(),
                ..Column::default()
            };
            sequence = frame(&column.encode(0), sequence, &mut out);
        }
        frame(b"\x011", sequence, &mut out);
        out
    }

    #[test]
    fn definitions_get_the_tables_own_name_and_nothing_else_changes() {
        let (before, after) = (
            ["t_12", "", "other", "t_12"],
            ["tickets", "", "other", "tickets"],
        );
        let (sent, expected) = (reply(&before), reply(&after));
        let mut out = Vec::new();
        assert_eq!(rename_tables(&sent, 0, &named, &mut out), Renamed::Written);
        assert_eq!(out, expected);
        // the row behind them need not be here
        for cut in 0..sent.len() {
            out.clear();
            let renamed = rename_tables(&sent[..cut], 0, &named, &mut out);
            match renamed {
                Renamed::NeedMore => assert!(cut < sent.len() - 6),
                Renamed::Written => assert!(expected.starts_with(&out)),
                Renamed::Same => panic!("{cut} bytes"),
            }
        }
    }

    #[test]
    fn other_replies_stay_as_they_are() {
        let mut out = Vec::new();
        let mut same = |reply: &[u8], capabilities| {
            assert_eq!(
                rename_tables(reply, capabilities, &named, &mut out),
                Renamed::Same
            );
        };
        same(&reply(&["other", ""]), 0);
        same(b"\x07\0\0\x01\0\0\0\x02\0\0\0", DEPRECATE_EOF);
        same(b"\x03\0\0\x01\xff\x15\x04", 0);
        same(b"\x02\0\0\x01\xfbx", 0);
        same(b"\0\0\0\x01", 0);
        same(b"\xff\xff\xff\x01", 0);
        // no definitions are sent
        same(b"\x02\0\0\x01\x02\0", OPTIONAL_RESULTSET_METADATA);
        // cut off in itself
        same(b"\x01\0\0\x01\x01\x05\0\0\x02\x03def\x09", 0);
    }
}
