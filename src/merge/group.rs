//! Rows of one group → one row.
use super::compare::{double, signed, unsigned, Key};
use super::decimal::Decimal;
use super::double;
use super::error::Error;
use super::layout::{Layout, Row};
use crate::plan::{Aggregate, Grouping, SortKey};
use crate::wire::column::{kind, Column};
use crate::wire::row::Span;
use std::borrow::Cow;
use std::cmp::Ordering;

/// One aggregate and how its column's values add up.
#[derive(Debug, Clone, Copy)]
struct Rule {
    column: usize,
    how: How,
}

#[derive(Debug, Clone, Copy)]
enum How {
    Integer,
    Decimal,
    Double,
    /// The value with the least or the greatest key.
    Best(Key, Ordering),
    Average {
        sum: usize,
        count: usize,
    },
    BitAnd,
    BitOr,
    BitXor,
}

/// How groups are made; per statement.
#[derive(Debug)]
pub struct Grouper {
    rules: Vec<Rule>,
    /// The server's div_precision_increment: by how many digits AVG is more precise than its argument.
    increment: u32,
}

/// A group that is not complete.
#[derive(Debug)]
pub struct Group {
    /// Keys and the columns that are no aggregate.
    pub first: Row,
    values: Vec<Value>,
}

/// What an aggregate has come to.
#[derive(Debug, Clone, Default)]
enum Value {
    /// No value but NULL so far.
    #[default]
    Null,
    Integer(i128),
    Decimal(Decimal),
    Double(f64),
    Bits(u64),
    /// The winning value, and the key by which it won.
    Best(Vec<u8>, Vec<u8>),
}

impl Grouper {
    pub fn new(grouping: &Grouping, layout: &Layout, increment: u32) -> Result<Grouper, Error> {
        let rules = grouping
            .aggregates
            .iter()
            .map(|(column, aggregate)| {
                let column = layout.place(*column)?;
                let how = how(*aggregate, column, layout)?;
                Ok(Rule { column, how })
            })
            .collect::<Result<_, Error>>()?;
        Ok(Grouper { rules, increment })
    }

    pub fn begin(&self, row: Row, layout: &Layout) -> Result<Group, Error> {
        let mut group = Group {
            first: Row::default(),
            values: vec![Value::Null; self.rules.len()],
        };
        self.add(&mut group, &row, layout)?;
        group.first = row;
        Ok(group)
    }

    pub fn add(&self, group: &mut Group, row: &Row, layout: &Layout) -> Result<(), Error> {
        for (rule, value) in self.rules.iter().zip(&mut group.values) {
            rule.add(value, row, layout)?;
        }
        Ok(())
    }

    pub fn end(
        &self,
        group: Group,
        layout: &Layout,
        scratch: &mut Vec<Span>,
    ) -> Result<Row, Error> {
        if self.rules.is_empty() {
            return Ok(group.first);
        }
        let mut values: Vec<Option<Cow<'_, Option<Vec<u8>>>>> = vec![None; layout.columns.len()];
        for (rule, value) in self.rules.iter().zip(&group.values) {
            let column = &layout.columns[rule.column];
            let written = match rule.how {
                How::Average { sum, count } => {
                    self.average(&group, sum, count, column, layout.binary)?
                }
                _ => write(value, column, layout.binary)?,
            };
            values[rule.column] = Some(Cow::Owned(written));
        }
        layout.rebuilt(&group.first, &values, scratch)
    }

    /// SUM / COUNT with the scale of the averaged column.
    fn average(
        &self,
        group: &Group,
        sum: usize,
        count: usize,
        column: &Column,
        binary: bool,
    ) -> Result<Option<Vec<u8>>, Error> {
        let of = |column: usize| {
            let at = self.rules.iter().position(|r| r.column == column);
            at.and_then(|at| group.values.get(at))
                .ok_or_else(|| Error::plan("AVG without its SUM and COUNT"))
        };
        let count = match of(count)? {
            Value::Integer(n) => u64::try_from(*n).map_err(|_| Error::Range)?,
            Value::Null => 0,
            _ => return Err(Error::plan("AVG's COUNT is no integer")),
        };
        if count == 0 {
            return Ok(None);
        }
        let average = match of(sum)? {
            Value::Null => return Ok(None),
            Value::Double(sum) => Value::Double(sum / count as f64),
            Value::Decimal(sum) => {
                let scale = u32::from(column.decimals);
                let average = sum.average(count, self.increment, scale);
                Value::Decimal(average.ok_or(Error::Range)?)
            }
            Value::Integer(_) | Value::Bits(_) | Value::Best(..) => {
                return Err(Error::plan("AVG's SUM is neither DECIMAL nor DOUBLE"))
            }
        };
        write(&average, column, binary)
    }
}

fn how(aggregate: Aggregate, column: usize, layout: &Layout) -> Result<How, Error> {
    let of = &layout.columns[column];
    let integer = matches!(
        of.kind,
        kind::TINY | kind::SHORT | kind::INT24 | kind::LONG | kind::LONGLONG
    );
    let number = matches!(of.kind, kind::DOUBLE | kind::DECIMAL | kind::NEWDECIMAL);
    let best = |by: SortKey, wins| -> Result<How, Error> {
        let shown = of.kind == kind::FLOAT && !layout.binary && layout.place(by.column)? == column;
        let key = if shown {
            // the least of what a text shows is shown as the least
            Key::of_shown_float(column)
        } else {
            Key::new(by, layout)?
        };
        Ok(How::Best(key, wins))
    };
    let how = match aggregate {
        Aggregate::Sum if of.kind == kind::DOUBLE => How::Double,
        Aggregate::Sum if number => How::Decimal,
        Aggregate::Sum if integer => How::Integer,
        Aggregate::Sum => return Err(Error::plan("a sum is no number")),
        Aggregate::Average { sum, count } if number => How::Average {
            sum: layout.place(sum)?,
            count: layout.place(count)?,
        },
        Aggregate::Average { .. } => return Err(Error::plan("an average is no number")),
        Aggregate::Min { by } => best(by, Ordering::Less)?,
        Aggregate::Max { by } => best(by, Ordering::Greater)?,
        Aggregate::BitAnd if integer => How::BitAnd,
        Aggregate::BitOr if integer => How::BitOr,
        Aggregate::BitXor if integer => How::BitXor,
        Aggregate::BitAnd | Aggregate::BitOr | Aggregate::BitXor => {
            return Err(Error::plan("bits of something that is no integer"))
        }
    };
    Ok(how)
}

impl Rule {
    fn add(&self, value: &mut Value, row: &Row, layout: &Layout) -> Result<(), Error> {
        let Some(bytes) = row.value(self.column) else {
            return Ok(());
        };
        let (column, binary) = (&layout.columns[self.column], layout.binary);
        let bits = || integer(bytes, column, binary).map(|n| n as u64);
        let new = match (self.how, &*value) {
            (How::Average { .. }, _) => return Ok(()),
            (How::Integer, Value::Integer(before)) => {
                let more = integer(bytes, column, binary)?;
                Value::Integer(before.checked_add(more).ok_or(Error::Range)?)
            }
            (How::Integer, _) => Value::Integer(integer(bytes, column, binary)?),
            (How::Decimal, before) => {
                let more = Decimal::parse(bytes).ok_or(Error::MALFORMED)?;
                match before {
                    Value::Decimal(before) => Value::Decimal(before.add(&more)),
                    _ => Value::Decimal(more),
                }
            }
            (How::Double, Value::Double(before)) => Value::Double(before + double(bytes, binary)?),
            (How::Double, _) => Value::Double(double(bytes, binary)?),
            (How::BitAnd, Value::Bits(before)) => Value::Bits(before & bits()?),
            (How::BitOr, Value::Bits(before)) => Value::Bits(before | bits()?),
            (How::BitXor, Value::Bits(before)) => Value::Bits(before ^ bits()?),
            (How::BitAnd | How::BitOr | How::BitXor, _) => Value::Bits(bits()?),
            (How::Best(key, wins), before) => {
                let by = row
                    .value(key.column)
                    .ok_or_else(|| Error::plan("a value without a weight"))?;
                match before {
                    Value::Best(_, held) if key.values(binary, by, held)? != wins => return Ok(()),
                    _ => Value::Best(bytes.to_vec(), by.to_vec()),
                }
            }
        };
        *value = new;
        Ok(())
    }
}

fn integer(bytes: &[u8], column: &Column, binary: bool) -> Result<i128, Error> {
    if column.is_unsigned() {
        unsigned(bytes, binary).map(i128::from)
    } else {
        signed(bytes, binary).map(i128::from)
    }
}

/// The value as the column's type has it in this protocol.
fn write(value: &Value, column: &Column, binary: bool) -> Result<Option<Vec<u8>>, Error> {
    let bytes = match value {
        Value::Null => return Ok(None),
        Value::Best(bytes, _) => bytes.clone(),
        Value::Decimal(decimal) if decimal.is_too_long() => return Err(Error::Range),
        Value::Decimal(decimal) => decimal.text(),
        Value::Double(number) if !number.is_finite() => return Err(Error::Range),
        Value::Double(number) if binary => number.to_le_bytes().to_vec(),
        Value::Double(number) => double::text(*number, column.decimals),
        Value::Bits(bits) => written_integer(i128::from(*bits), column, binary)?,
        Value::Integer(number) => written_integer(*number, column, binary)?,
    };
    Ok(Some(bytes))
}

fn written_integer(number: i128, column: &Column, binary: bool) -> Result<Vec<u8>, Error> {
    let fits = if column.is_unsigned() {
        u64::try_from(number).is_ok()
    } else {
        i64::try_from(number).is_ok()
    };
    if !fits {
        return Err(Error::Range);
    }
    if !binary {
        return Ok(number.to_string().into_bytes());
    }
    let width = match column.kind {
        kind::TINY => 1,
        kind::SHORT => 2,
        kind::LONG | kind::INT24 => 4,
        _ => 8,
    };
    Ok(number.to_le_bytes()[..width].to_vec())
}
