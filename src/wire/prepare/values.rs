//! The values of COM_STMT_EXECUTE, one by one: to plan by them, and to bind them to another statement.
use super::{Content, Execute, Given, PARAMETER_COUNT_AVAILABLE};
use crate::wire::bytes::{put_lenenc, Reader};
use crate::wire::capabilities::QUERY_ATTRIBUTES;
use crate::wire::column::kind;
use crate::wire::{command, Malformed};
use std::collections::BTreeMap;

/// One bound value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Field type.
    pub kind: u8,
    pub unsigned: bool,
    /// As it is in the packet, the length in front included; None: NULL.
    pub raw: Option<Vec<u8>>,
}

/// As [`Bound`], where it lies in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'p> {
    /// Field type.
    pub kind: u8,
    pub unsigned: bool,
    /// The bytes behind the length, of types that have one; None: NULL.
    pub content: Option<&'p [u8]>,
}

pub(super) const UNSIGNED: u8 = 0x80;

/// Values that came in COM_STMT_SEND_LONG_DATA, by parameter: the EXECUTE has a type for them and nothing else.
pub type LongData = BTreeMap<u16, Vec<u8>>;

impl Execute {
    /// `payload`: the whole command. `known`: the types that an earlier EXECUTE sent, if this one has none. `long`: values
    /// that came before.
    ///
    /// # Errors
    /// Values without types, or not as announced.
    pub fn values(
        &self,
        payload: &[u8],
        parameters: u16,
        known: Option<&[u8]>,
        capabilities: u64,
        long: &LongData,
    ) -> Result<Vec<Bound>, Malformed> {
        const WHAT: &str = "parameter values";
        let malformed = Malformed { what: WHAT };
        let Some(flag_at) = self.bound_flag_at else {
            return Ok(Vec::new());
        };
        let count = usize::from(parameters);
        let (types, values_at) = match &self.types {
            Some(range) => (payload.get(range.clone()), range.end),
            None => (known, flag_at + 1),
        };
        let named = capabilities & QUERY_ATTRIBUTES != 0;
        let types = read_types(types.ok_or(malformed.clone())?, count, named)?;
        // attributes may follow the parameters: the bitmap is as long as both need
        let bitmap = self.bitmap(payload, count, named)?;
        let mut reader = Reader::new(payload.get(values_at..).ok_or(malformed)?);
        let mut values = Vec::with_capacity(count);
        for (i, (kind, unsigned)) in types.into_iter().enumerate() {
            if let Some(data) = u16::try_from(i).ok().and_then(|at| long.get(&at)) {
                values.push(Bound::of_long_data(kind, data));
                continue;
            }
            let null = bitmap.get(i / 8).is_some_and(|b| b & (1 << (i % 8)) != 0);
            let raw = if null {
                None
            } else {
                Some(raw(&mut reader, kind)?)
            };
            values.push(Bound {
                kind,
                unsigned,
                raw,
            });
        }
        Ok(values)
    }

    /// The value of one parameter, as [`Execute::values`] has it. None: those do not follow the protocol, or there is no
    /// such parameter.
    pub fn value<'p>(
        &self,
        payload: &'p [u8],
        parameters: u16,
        known: Option<&[u8]>,
        capabilities: u64,
        at: u16,
    ) -> Option<Value<'p>> {
        const WHAT: &str = "parameter value";
        if at >= parameters {
            return None;
        }
        let (types, values_at) = match &self.types {
            Some(range) => (payload.get(range.clone())?, range.end),
            None => (known?, self.bound_flag_at? + 1),
        };
        let named = capabilities & QUERY_ATTRIBUTES != 0;
        let bitmap = self.bitmap(payload, parameters.into(), named).ok()?;
        let mut types = Reader::new(types);
        let mut values = Reader::new(payload.get(values_at..)?);
        for i in 0..=at {
            let (kind, flags) = (types.u8(WHAT).ok()?, types.u8(WHAT).ok()?);
            if named {
                types.lenenc_bytes(WHAT).ok()?;
            }
            let null = bitmap.get(usize::from(i / 8))? & (1 << (i % 8)) != 0;
            let content = match null {
                true => None,
                false => Some(content(&mut values, kind).ok()?),
            };
            if i == at {
                let unsigned = flags & UNSIGNED != 0;
                return Some(Value {
                    kind,
                    unsigned,
                    content,
                });
            }
        }
        None
    }

    pub(super) fn bitmap<'p>(
        &self,
        payload: &'p [u8],
        count: usize,
        named: bool,
    ) -> Result<&'p [u8], Malformed> {
        const HEAD: usize = 10;
        let mut reader = Reader::new(payload);
        reader.take(HEAD, "execute head")?;
        let mut all = count as u64;
        if named {
            all = reader.lenenc("parameter count")?;
        }
        let length = usize::try_from(all.div_ceil(8)).unwrap_or(usize::MAX);
        reader.take(length, "NULL bitmap")
    }
}

fn read_types(types: &[u8], count: usize, named: bool) -> Result<Vec<(u8, bool)>, Malformed> {
    const WHAT: &str = "parameter types";
    let mut reader = Reader::new(types);
    let mut out = Vec::with_capacity(count.min(types.len()));
    for _ in 0..count {
        let kind = reader.u8(WHAT)?;
        let flags = reader.u8(WHAT)?;
        if named {
            reader.lenenc_bytes(WHAT)?;
        }
        out.push((kind, flags & UNSIGNED != 0));
    }
    Ok(out)
}

/// A value without what tells its length.
pub(super) fn content<'p>(reader: &mut Reader<'p>, of: u8) -> Result<&'p [u8], Malformed> {
    const WHAT: &str = "parameter value";
    match length(of) {
        Length::Fixed(length) => reader.take(length, WHAT),
        Length::Byte => {
            let length = reader.u8(WHAT)?;
            reader.take(usize::from(length), WHAT)
        }
        Length::Encoded => reader.lenenc_bytes(WHAT),
    }
}

/// A value with what tells its length.
fn raw(reader: &mut Reader<'_>, of: u8) -> Result<Vec<u8>, Malformed> {
    let bytes = content(reader, of)?;
    let mut out = Vec::with_capacity(bytes.len() + 9);
    match length(of) {
        Length::Fixed(_) => {}
        Length::Byte => out.push(bytes.len() as u8),
        Length::Encoded => put_lenenc(&mut out, bytes.len() as u64),
    }
    out.extend_from_slice(bytes);
    Ok(out)
}

/// How long a value is.
enum Length {
    Fixed(usize),
    /// A byte in front tells.
    Byte,
    /// A length-encoded integer in front tells.
    Encoded,
}

fn length(of: u8) -> Length {
    match of {
        kind::TINY => Length::Fixed(1),
        kind::SHORT | kind::YEAR => Length::Fixed(2),
        kind::LONG | kind::INT24 | kind::FLOAT => Length::Fixed(4),
        kind::LONGLONG | kind::DOUBLE => Length::Fixed(8),
        kind::NULL => Length::Fixed(0),
        kind::DATE | kind::DATETIME | kind::TIMESTAMP | kind::TIME => Length::Byte,
        _ => Length::Encoded,
    }
}

impl Bound {
    /// Bytes, whatever they are of.
    fn of_long_data(kind: u8, data: &[u8]) -> Bound {
        let mut raw = Vec::with_capacity(data.len() + 9);
        put_lenenc(&mut raw, data.len() as u64);
        raw.extend_from_slice(data);
        let kind = match length(kind) {
            Length::Encoded => kind,
            Length::Fixed(_) | Length::Byte => kind::BLOB,
        };
        Bound {
            kind,
            unsigned: false,
            raw: Some(raw),
        }
    }

    /// The bytes behind the length, of types that have one.
    pub fn content(&self) -> Option<&[u8]> {
        content(&mut Reader::new(self.raw.as_deref()?), self.kind).ok()
    }

    /// As an EXECUTE with it would bring it.
    pub fn given(&self) -> Given<'_> {
        let content = match (&self.raw, self.content()) {
            (None, _) => Content::Null,
            (Some(_), Some(bytes)) => Content::Here(bytes),
            (Some(_), None) => Content::Elsewhere,
        };
        Given {
            kind: self.kind,
            unsigned: self.unsigned,
            content,
        }
    }

    pub fn value(&self) -> Value<'_> {
        Value {
            kind: self.kind,
            unsigned: self.unsigned,
            content: self.content(),
        }
    }
}

/// An EXECUTE of another statement with these values, from the command byte on; without a cursor.
pub fn encode_execute<'b>(
    id: u32,
    values: impl ExactSizeIterator<Item = &'b Bound>,
    capabilities: u64,
) -> Vec<u8> {
    let values: Vec<&Bound> = values.collect();
    let named = capabilities & QUERY_ATTRIBUTES != 0;
    let mut out = vec![command::STMT_EXECUTE];
    out.extend_from_slice(&id.to_le_bytes());
    let counted = named && !values.is_empty();
    out.push(if counted {
        PARAMETER_COUNT_AVAILABLE
    } else {
        0
    });
    out.extend_from_slice(&1u32.to_le_bytes());
    if values.is_empty() {
        return out;
    }
    if named {
        put_lenenc(&mut out, values.len() as u64);
    }
    let bitmap = out.len();
    out.resize(bitmap + values.len().div_ceil(8), 0);
    for (i, value) in values.iter().enumerate() {
        if value.raw.is_none() {
            out[bitmap + i / 8] |= 1 << (i % 8);
        }
    }
    out.push(1);
    for value in &values {
        out.extend_from_slice(&[value.kind, if value.unsigned { UNSIGNED } else { 0 }]);
        if named {
            out.push(0);
        }
    }
    for raw in values.iter().filter_map(|v| v.raw.as_ref()) {
        out.extend_from_slice(raw);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<Bound> {
        let bound = |kind, raw: Option<&[u8]>| Bound {
            kind,
            unsigned: kind == kind::LONGLONG,
            raw: raw.map(<[u8]>::to_vec),
        };
        vec![
            bound(kind::LONGLONG, Some(&7u64.to_le_bytes())),
            bound(0xfd, Some(b"\x03abc")),
            bound(kind::NULL, None),
            bound(kind::DATE, Some(b"\x04\xe9\x07\x01\x02")),
            bound(0xfd, None),
        ]
    }

    #[test]
    fn values_are_read_and_bound_again() {
        let none = LongData::new();
        for capabilities in [0, QUERY_ATTRIBUTES] {
            let values = values();
            let payload = encode_execute(9, values.iter(), capabilities);
            let head = Execute::decode(&payload, 5, capabilities).unwrap();
            assert_eq!(head.statement_id, 9);
            let back = head.values(&payload, 5, None, capabilities, &none).unwrap();
            assert_eq!(back, values);
            assert_eq!(back[1].content(), Some(&b"abc"[..]));
            assert_eq!(back[3].content(), Some(&b"\xe9\x07\x01\x02"[..]));
            for (at, bound) in back.iter().enumerate() {
                let value = head.value(&payload, 5, None, capabilities, at as u16);
                assert_eq!(value, Some(bound.value()));
            }
            assert_eq!(head.value(&payload, 5, None, capabilities, 5), None);
            for cut in 11..payload.len() {
                let cut = &payload[..cut];
                let read = Execute::decode(cut, 5, capabilities)
                    .and_then(|head| head.values(cut, 5, None, capabilities, &none));
                assert!(read.is_err(), "{} bytes", cut.len());
                // the last one is NULL: nothing of it is missing
                let head = Execute::decode(cut, 5, capabilities);
                let value = head.map(|head| head.value(cut, 5, None, capabilities, 3));
                assert!(matches!(value, Err(_) | Ok(None)), "{} bytes", cut.len());
            }
        }
    }

    #[test]
    fn types_of_an_earlier_execute_are_used() {
        let values = [values()[0].clone(), values()[1].clone()];
        let mut payload = encode_execute(9, values.iter(), 0);
        let head = Execute::decode(&payload, 2, 0).unwrap();
        let types = head.types.clone().unwrap();
        let known = payload[types.clone()].to_vec();
        payload.drain(types.clone());
        payload[types.start - 1] = 0;
        let head = Execute::decode(&payload, 2, 0).unwrap();
        let read = head
            .values(&payload, 2, Some(&known), 0, &LongData::new())
            .unwrap();
        assert_eq!(read, values);
        assert!(head.values(&payload, 2, None, 0, &LongData::new()).is_err());
        let second = head.value(&payload, 2, Some(&known), 0, 1);
        assert_eq!(second, Some(values[1].value()));
        assert_eq!(head.value(&payload, 2, None, 0, 1), None);
    }

    #[test]
    fn long_data_takes_the_place_of_a_value_that_the_packet_does_not_have() {
        let all = values();
        let mut sent = all.clone();
        // neither NULL nor a value: as clients send it
        let bitmap = |payload: &mut Vec<u8>, at: usize| payload[10] &= !(1 << at);
        for at in [0, 1, 4] {
            sent[at].raw = None;
        }
        for capabilities in [0, QUERY_ATTRIBUTES] {
            let mut payload = encode_execute(9, sent.iter(), capabilities);
            if capabilities == 0 {
                [0, 1].iter().for_each(|at| bitmap(&mut payload, *at));
            }
            let long = LongData::from([
                (0, b"12".to_vec()),
                (1, vec![b'x'; 70_000]),
                (4, Vec::new()),
            ]);
            let head = Execute::decode(&payload, 5, capabilities).unwrap();
            let read = head.values(&payload, 5, None, capabilities, &long).unwrap();
            assert_eq!(read[0].kind, kind::BLOB);
            for (at, expected) in &long {
                assert_eq!(read[usize::from(*at)].content(), Some(&expected[..]));
            }
            assert_eq!((&read[2], &read[3]), (&all[2], &all[3]));
        }
    }

    #[test]
    fn without_parameters_there_is_only_a_head() {
        let payload = encode_execute(3, [].iter(), QUERY_ATTRIBUTES);
        assert_eq!(payload, b"\x17\x03\0\0\0\0\x01\0\0\0");
    }
}
