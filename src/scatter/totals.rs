//! OK packets of several parts → one.
use super::branch::Event;
use super::failure::Failure;
use super::Scatter;
use crate::wire::reply;
use std::borrow::Cow;

/// What counts of the parts' affected rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Each part changes rows of its own.
    All,
    /// Each part inserts rows of its own: one, or several. `ignore`: those that are there already are left out.
    Inserted { ignore: bool },
    /// Every part changes the same rows.
    Once,
}

/// What the OK packets come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub warnings: u16,
    pub info: Vec<u8>,
}

impl Totals {
    /// Of a statement that runs on one shard after the other.
    pub fn add(&mut self, other: &Totals) {
        self.affected_rows = self.affected_rows.saturating_add(other.affected_rows);
        self.warnings = self.warnings.saturating_add(other.warnings);
        self.info = match self.info.is_empty() {
            true => other.info.clone(),
            false => added(&self.info, &other.info),
        };
    }
}

impl Scatter<'_> {
    /// Reads every part's OK.
    ///
    /// # Errors
    /// The first that went wrong; other branches may be in the middle of their replies.
    pub async fn totals(&mut self, counting: Counting) -> Result<Totals, Failure> {
        let mut oks: Vec<(usize, reply::Ok)> = Vec::new();
        loop {
            let open: Vec<usize> = (0..self.channels.len())
                .filter(|at| self.channels[*at].is_open())
                .collect();
            if open.is_empty() {
                break;
            }
            match self.next(&open).await? {
                (_, Event::Ok { part, ok }) => oks.push((part, ok)),
                (_, Event::Nothing) => {}
                (_, Event::Columns { part, .. } | Event::End { part, .. }) => {
                    let what = "rows where an OK was expected";
                    return Err(Failure::Protocol { part, what });
                }
                (at, Event::Row(_)) => {
                    let part = self.channels[at].part();
                    let what = "rows where an OK was expected";
                    return Err(Failure::Protocol { part, what });
                }
            }
        }
        oks.sort_by_key(|(part, _)| *part);
        Ok(add_up(oks.iter().map(|(_, ok)| ok), counting))
    }
}

/// In the order of the parts.
fn add_up<'o>(oks: impl Iterator<Item = &'o reply::Ok>, counting: Counting) -> Totals {
    let mut totals = Totals::default();
    for (i, ok) in oks.enumerate() {
        if i > 0 && counting == Counting::Once {
            break;
        }
        totals.affected_rows = totals.affected_rows.saturating_add(ok.affected_rows);
        totals.warnings = totals.warnings.saturating_add(ok.warnings);
        if totals.last_insert_id == 0 {
            totals.last_insert_id = ok.last_insert_id;
        }
        let info = info_of(ok, counting);
        totals.info = match i {
            0 => info.into_owned(),
            _ => added(&totals.info, &info),
        };
    }
    totals
}

/// What the server says, or would say if it did of one inserted row.
fn info_of(ok: &reply::Ok, counting: Counting) -> Cow<'_, [u8]> {
    let Counting::Inserted { ignore } = counting else {
        return ok.info.as_slice().into();
    };
    if !ok.info.is_empty() {
        return ok.info.as_slice().into();
    }
    // a row that is replaced or updated counts twice
    let duplicates = match ignore {
        true => 1 - ok.affected_rows.min(1),
        false => ok.affected_rows.saturating_sub(1),
    };
    let warnings = ok.warnings;
    let info = format!("Records: 1  Duplicates: {duplicates}  Warnings: {warnings}");
    info.into_bytes().into()
}

/// `Rows matched: 1  Changed: 1  Warnings: 0`: the same words with the sums of their numbers. Texts whose words
/// differ: none at all.
fn added(one: &[u8], other: &[u8]) -> Vec<u8> {
    let (one, other) = (pieces(one), pieces(other));
    let mut out = Vec::new();
    if one.len() != other.len() {
        return out;
    }
    for (a, b) in one.iter().zip(&other) {
        match (a, b) {
            (Piece::Word(a), Piece::Word(b)) if a == b => out.extend_from_slice(a),
            (Piece::Number(a), Piece::Number(b)) => {
                out.extend_from_slice(a.saturating_add(*b).to_string().as_bytes());
            }
            _ => return Vec::new(),
        }
    }
    out
}

enum Piece<'a> {
    Word(&'a [u8]),
    Number(u64),
}

fn pieces(text: &[u8]) -> Vec<Piece<'_>> {
    let mut rest = text;
    let mut out = Vec::new();
    while let Some(first) = rest.first() {
        let digit = first.is_ascii_digit();
        let end = rest
            .iter()
            .position(|b| b.is_ascii_digit() != digit)
            .unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        let number = std::str::from_utf8(piece).ok().and_then(|n| n.parse().ok());
        out.push(match number.filter(|_| digit) {
            Some(number) => Piece::Number(number),
            None => Piece::Word(piece),
        });
        rest = behind;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(affected_rows: u64, last_insert_id: u64, warnings: u16, info: &str) -> reply::Ok {
        reply::Ok {
            affected_rows,
            last_insert_id,
            warnings,
            info: info.into(),
            ..reply::Ok::default()
        }
    }

    #[test]
    fn ok_packets_add_up() {
        let oks = [
            ok(2, 0, 1, "Rows matched: 3  Changed: 2  Warnings: 1"),
            ok(5, 17, 0, "Rows matched: 10  Changed: 5  Warnings: 0"),
            ok(0, 20, 2, "Rows matched: 0  Changed: 0  Warnings: 2"),
        ];
        let totals = add_up(oks.iter(), Counting::All);
        let expected = Totals {
            affected_rows: 7,
            last_insert_id: 17,
            warnings: 3,
            info: b"Rows matched: 13  Changed: 7  Warnings: 3".to_vec(),
        };
        assert_eq!(totals, expected);
        assert_eq!(add_up(oks.iter(), Counting::Once).affected_rows, 2);
    }

    #[test]
    fn rows_that_were_inserted_one_by_one_are_counted_together() {
        let oks = [
            ok(1, 0, 0, ""),
            ok(2, 0, 0, "Records: 2  Duplicates: 0  Warnings: 0"),
            ok(2, 0, 1, ""),
        ];
        let info = |ignore| {
            let totals = add_up(oks.iter(), Counting::Inserted { ignore });
            String::from_utf8(totals.info).unwrap()
        };
        assert_eq!(info(false), "Records: 4  Duplicates: 1  Warnings: 1");
        assert_eq!(info(true), "Records: 4  Duplicates: 0  Warnings: 1");
        let ignored = [ok(0, 0, 1, ""), ok(1, 0, 0, "")];
        let totals = add_up(ignored.iter(), Counting::Inserted { ignore: true });
        assert_eq!(totals.info, b"Records: 2  Duplicates: 1  Warnings: 1");
    }

    #[test]
    fn infos_of_different_words_are_left_out() {
        assert_eq!(added(b"Records: 1", b"Rows: 1"), b"");
        assert_eq!(added(b"", b""), b"");
    }
}
