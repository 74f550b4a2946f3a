//! The parameters of COM_STMT_EXECUTE in order, where they lie: of what type they are, and what is in them.
use super::{Execute, Reader};
use crate::wire::capabilities::QUERY_ATTRIBUTES;
use crate::wire::prepare::values::{content, UNSIGNED};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<'p> {
    /// Field type.
    pub kind: u8,
    pub unsigned: bool,
    pub content: Content<'p>,
}

/// What is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'p> {
    Null,
    /// The bytes behind the length, of types that have one.
    Here(&'p [u8]),
    /// It came before, or lies behind what is here of the command.
    Elsewhere,
}

/// Walks them; ends early where types or NULL bitmap do not follow the protocol.
#[derive(Debug, Clone)]
pub struct AllGiven<'p> {
    types: Reader<'p>,
    bitmap: &'p [u8],
    /// None: some came before, and nothing here says which.
    values: Option<Reader<'p>>,
    at: usize,
    count: usize,
    named: bool,
}

impl Execute {
    /// `payload`: the command, or its first part. `known`: the types that an earlier EXECUTE sent, if this one has none.
    /// `long_data`: some of the values came before. None: there are no parameters, or no types of them.
    pub fn given<'p>(
        &self,
        payload: &'p [u8],
        parameters: u16,
        known: Option<&'p [u8]>,
        capabilities: u64,
        long_data: bool,
    ) -> Option<AllGiven<'p>> {
        let (types, values_at) = match &self.types {
            Some(range) => (payload.get(range.clone())?, range.end),
            None => (known?, self.bound_flag_at? + 1),
        };
        let named = capabilities & QUERY_ATTRIBUTES != 0;
        let values = payload.get(values_at..)?;
        Some(AllGiven {
            types: Reader::new(types),
            bitmap: self.bitmap(payload, parameters.into(), named).ok()?,
            values: (!long_data).then(|| Reader::new(values)),
            at: 0,
            count: parameters.into(),
            named,
        })
    }
}

impl<'p> Iterator for AllGiven<'p> {
    type Item = Given<'p>;

    fn next(&mut self) -> Option<Given<'p>> {
        const WHAT: &str = "parameter";
        if self.at == self.count {
            return None;
        }
        let (kind, flags) = (self.types.u8(WHAT).ok()?, self.types.u8(WHAT).ok()?);
        if self.named {
            self.types.lenenc_bytes(WHAT).ok()?;
        }
        let null = self.bitmap.get(self.at / 8)? & (1 << (self.at % 8)) != 0;
        self.at += 1;
        let content = match (null, self.values.as_mut()) {
            (true, _) => Content::Null,
            (false, None) => Content::Elsewhere,
            (false, Some(values)) => match content(values, kind) {
                Ok(bytes) => Content::Here(bytes),
                Err(_) => {
                    self.values = None;
                    Content::Elsewhere
                }
            },
        };
        let unsigned = flags & UNSIGNED != 0;
        Some(Given {
            kind,
            unsigned,
            content,
        })
    }
}
