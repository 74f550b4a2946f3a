//! COM_QUERY under CLIENT_QUERY_ATTRIBUTES: where the statement's text begins.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query.html>
use super::bytes::Reader;
use super::capabilities::QUERY_ATTRIBUTES;
use super::Malformed;

/// What precedes the text of a query without attributes: no parameters, one set of them.
pub const NO_ATTRIBUTES: [u8; 2] = [0, 1];

/// Offset of the text in the body of a COM_QUERY (behind the command byte).
///
/// # Errors
/// Attributes that do not follow the protocol or are not whole in `body`.
#[inline]
pub fn text_offset(body: &[u8], capabilities: u64) -> Result<usize, Malformed> {
    if capabilities & QUERY_ATTRIBUTES == 0 {
        return Ok(0);
    }
    match body {
        [0, 1, ..] => Ok(NO_ATTRIBUTES.len()),
        _ => skip_attributes(body),
    }
}

fn skip_attributes(body: &[u8]) -> Result<usize, Malformed> {
    let mut reader = Reader::new(body);
    let count = reader.lenenc("attribute count")?;
    reader.lenenc("attribute set count")?;
    if count == 0 {
        return Ok(body.len() - reader.left());
    }
    // a parameter takes three bytes of types and names at least
    let count = usize::try_from(count)
        .ok()
        .filter(|n| *n <= body.len() / 3)
        .ok_or(Malformed {
            what: "attribute count",
        })?;
    let nulls = reader.take(count.div_ceil(8), "attribute NULL bitmap")?;
    if reader.u8("attribute bound flag")? != 1 {
        return Err(Malformed {
            what: "attribute bound flag",
        });
    }
    let mut types = Vec::with_capacity(count);
    for _ in 0..count {
        types.push(reader.u16("attribute type")? as u8);
        reader.lenenc_bytes("attribute name")?;
    }
    for (i, kind) in types.into_iter().enumerate() {
        if nulls[i / 8] & (1 << (i % 8)) == 0 {
            skip_value(&mut reader, kind)?;
        }
    }
    Ok(body.len() - reader.left())
}

/// Binary values by field type.
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>
fn skip_value(reader: &mut Reader<'_>, kind: u8) -> Result<(), Malformed> {
    let fixed = match kind {
        0x01 => 1,               // TINY
        0x02 | 0x0d => 2,        // SHORT, YEAR
        0x03 | 0x04 | 0x09 => 4, // LONG, FLOAT, INT24
        0x05 | 0x08 => 8,        // DOUBLE, LONGLONG
        0x06 => 0,               // NULL
        0x07 | 0x0a | 0x0b | 0x0c => usize::from(reader.u8("attribute time length")?),
        _ => {
            reader.lenenc_bytes("attribute value")?;
            return Ok(());
        }
    };
    reader.take(fixed, "attribute value").map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_capability_the_text_is_the_body() {
        assert_eq!(text_offset(b"SELECT 1", 0), Ok(0));
    }

    #[test]
    fn no_attributes_are_two_bytes() {
        assert_eq!(text_offset(b"\x00\x01SELECT 1", QUERY_ATTRIBUTES), Ok(2));
    }

    #[test]
    fn attributes_are_skipped_by_their_types() {
        let mut body = vec![2, 1, 0b10, 1, 0x08, 0, 1, b'a', 0xfe, 0, 1, b'b'];
        body.extend_from_slice(&7u64.to_le_bytes());
        let at = body.len();
        body.extend_from_slice(b"SELECT 1");
        assert_eq!(text_offset(&body, QUERY_ATTRIBUTES), Ok(at));
    }

    #[test]
    fn cut_attributes_are_malformed_at_every_length() {
        let mut body = vec![
            2, 1, 0, 1, 0x0c, 0, 1, b'a', 0xfe, 0, 1, b'b', 4, 1, 2, 3, 4, 2, b'x', b'y',
        ];
        let whole = body.len();
        assert_eq!(text_offset(&body, QUERY_ATTRIBUTES), Ok(whole));
        while body.len() > 1 {
            body.pop();
            assert!(
                text_offset(&body, QUERY_ATTRIBUTES).is_err(),
                "{} bytes",
                body.len()
            );
        }
    }
}
