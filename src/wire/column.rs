//! Column definitions of a result set.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset_column_definition.html>
use super::bytes::{put_lenenc, put_lenenc_bytes, Reader};
use super::capabilities::MARIADB_EXTENDED_METADATA;
use super::Malformed;

/// Field types, as the protocol numbers them.
pub mod kind {
    pub const DECIMAL: u8 = 0x00;
    pub const TINY: u8 = 0x01;
    pub const SHORT: u8 = 0x02;
    pub const LONG: u8 = 0x03;
    pub const FLOAT: u8 = 0x04;
    pub const DOUBLE: u8 = 0x05;
    pub const NULL: u8 = 0x06;
    pub const TIMESTAMP: u8 = 0x07;
    pub const LONGLONG: u8 = 0x08;
    pub const INT24: u8 = 0x09;
    pub const DATE: u8 = 0x0a;
    pub const TIME: u8 = 0x0b;
    pub const DATETIME: u8 = 0x0c;
    pub const YEAR: u8 = 0x0d;
    pub const BIT: u8 = 0x10;
    pub const JSON: u8 = 0xf5;
    pub const NEWDECIMAL: u8 = 0xf6;
    /// From here on: BLOBs of all sizes, VAR_STRING, STRING.
    pub const TINY_BLOB: u8 = 0xf9;
    pub const MEDIUM_BLOB: u8 = 0xfa;
    pub const LONG_BLOB: u8 = 0xfb;
    pub const BLOB: u8 = 0xfc;
    pub const VAR_STRING: u8 = 0xfd;
    pub const STRING: u8 = 0xfe;
}

/// Column flags.
pub mod flags {
    pub const NOT_NULL: u16 = 1;
    pub const UNSIGNED: u16 = 32;
    pub const ZEROFILL: u16 = 64;
    pub const ENUM: u16 = 256;
    pub const SET: u16 = 2048;
}

/// The character set "binary": bytes without a collation.
pub const BINARY: u16 = 63;
/// `decimals` of a floating-point column without a fixed number of them.
pub const NOT_FIXED: u8 = 31;

/// ColumnDefinition41.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Column {
    pub catalog: Vec<u8>,
    pub schema: Vec<u8>,
    /// The name in the statement.
    pub table: Vec<u8>,
    /// The name in the schema.
    pub org_table: Vec<u8>,
    pub name: Vec<u8>,
    pub org_name: Vec<u8>,
    /// MariaDB's extended metadata.
    pub extended: Vec<u8>,
    pub collation: u16,
    /// Display width in bytes.
    pub length: u32,
    /// See [`kind`].
    pub kind: u8,
    /// See [`flags`].
    pub flags: u16,
    pub decimals: u8,
}

/// The packet in front of the definitions: their number, and what follows it (a flag under some capabilities).
///
/// # Errors
/// No number, or one that no result has.
pub fn decode_count(payload: &[u8]) -> Result<(usize, &[u8]), Malformed> {
    const WHAT: &str = "column count";
    const MOST: u64 = 0xffff;
    let mut reader = Reader::new(payload);
    let count = reader.lenenc(WHAT)?;
    if count == 0 || count > MOST {
        return Err(Malformed { what: WHAT });
    }
    Ok((count as usize, reader.rest()))
}

/// `flagged`: the capabilities ask for a byte that says whether definitions follow; they do.
pub fn encode_count(columns: usize, flagged: bool) -> Vec<u8> {
    let mut out = Vec::new();
    put_lenenc(&mut out, columns as u64);
    if flagged {
        out.push(1);
    }
    out
}

/// Length of the fixed part.
const FIXED: u8 = 12;

impl Column {
    /// # Errors
    /// A field is cut off.
    pub fn decode(payload: &[u8], capabilities: u64) -> Result<Column, Malformed> {
        let mut reader = Reader::new(payload);
        let mut text = |what| reader.lenenc_bytes(what).map(<[u8]>::to_vec);
        let mut column = Column {
            catalog: text("column catalog")?,
            schema: text("column schema")?,
            table: text("column table")?,
            org_table: text("column original table")?,
            name: text("column name")?,
            org_name: text("column original name")?,
            ..Column::default()
        };
        if capabilities & MARIADB_EXTENDED_METADATA != 0 {
            column.extended = text("column extended metadata")?;
        }
        reader.lenenc("column fixed length")?;
        column.collation = reader.u16("column collation")?;
        column.length = reader.u32("column length")?;
        column.kind = reader.u8("column type")?;
        column.flags = reader.u16("column flags")?;
        column.decimals = reader.u8("column decimals")?;
        Ok(column)
    }

    pub fn encode(&self, capabilities: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        let names = [
            &self.catalog,
            &self.schema,
            &self.table,
            &self.org_table,
            &self.name,
            &self.org_name,
        ];
        names.iter().for_each(|n| put_lenenc_bytes(&mut out, n));
        if capabilities & MARIADB_EXTENDED_METADATA != 0 {
            put_lenenc_bytes(&mut out, &self.extended);
        }
        out.push(FIXED);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.kind);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.extend_from_slice(&[self.decimals, 0, 0]);
        out
    }

    pub fn is_unsigned(&self) -> bool {
        self.flags & flags::UNSIGNED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_comes_back_byte_for_byte() {
        let column = Column {
            catalog: b"def".to_vec(),
            schema: b"app".to_vec(),
            table: b"t".to_vec(),
            org_table: b"t_0".to_vec(),
            name: b"a".to_vec(),
            org_name: b"a".to_vec(),
            extended: b"\x00\x04json".to_vec(),
            collation: 45,
            length: 80,
            kind: kind::NEWDECIMAL,
            flags: flags::NOT_NULL,
            decimals: 2,
        };
        for capabilities in [0, MARIADB_EXTENDED_METADATA] {
            let bytes = column.encode(capabilities);
            let back = Column::decode(&bytes, capabilities).unwrap();
            assert_eq!(back.encode(capabilities), bytes);
            assert_eq!((back.kind, back.decimals), (kind::NEWDECIMAL, 2));
            for cut in 0..bytes.len() - 2 {
                assert!(Column::decode(&bytes[..cut], capabilities).is_err());
            }
        }
    }
}
