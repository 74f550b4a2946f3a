//! How the values of an expression compare, as far as the columns say.
use super::ast::{Call, Expr, ExprKind};
use super::bind::Bound;
use super::columns::{Column, Kind};
use super::types::Compare;

/// How a key is compared outside of the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// The value itself.
    Value(Compare),
    /// The bytes of a function of it, written before and behind the expression.
    Weight {
        before: &'static str,
        behind: String,
        compare: Compare,
    },
    /// ENUM and SET: by their number, `expr + 0`.
    Number,
}

/// Longer texts are not compared outside of a server: `max_sort_length` would begin to matter.
const LONGEST_TEXT: u32 = 512;

/// Functions that return a number, whatever they are given.
const NUMERIC: [&str; 43] = [
    "abs",
    "ascii",
    "bit_count",
    "bit_length",
    "ceil",
    "ceiling",
    "char_length",
    "character_length",
    "count",
    "crc32",
    "datediff",
    "day",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "field",
    "find_in_set",
    "floor",
    "hour",
    "instr",
    "length",
    "locate",
    "minute",
    "mod",
    "month",
    "octet_length",
    "ord",
    "period_diff",
    "position",
    "power",
    "quarter",
    "round",
    "second",
    "sign",
    "sqrt",
    "strcmp",
    "timestampdiff",
    "to_days",
    "truncate",
    "week",
    "weekday",
    "year",
    "yearweek",
];

impl Bound<'_> {
    /// How the expression's values compare; none: only a server knows.
    pub fn shape(&self, expr: &Expr, block: usize) -> Option<Shape> {
        match &expr.kind {
            ExprKind::Column(name) => {
                let owner = self.owner(name, block)?;
                shape_of(
                    self.columns_of(owner)?.get(&name.name)?,
                    self.request.dialect.mariadb,
                )
            }
            ExprKind::Number => Some(Shape::Value(Compare::Number)),
            ExprKind::Negative(inner) => self.numeric([&**inner], block),
            ExprKind::Arithmetic(list) => self.numeric(list, block),
            ExprKind::Call(call) => self.shape_of_call(call, block),
            _ => None,
        }
    }

    /// A number, if all of these are: dates and intervals reckon otherwise.
    fn numeric<'e>(&self, list: impl IntoIterator<Item = &'e Expr>, block: usize) -> Option<Shape> {
        let number = Shape::Value(Compare::Number);
        let all = list
            .into_iter()
            .all(|e| self.shape(e, block).as_ref() == Some(&number));
        all.then_some(number)
    }

    fn shape_of_call(&self, call: &Call, block: usize) -> Option<Shape> {
        if call.over || call.qualified {
            return None;
        }
        match call.name.as_str() {
            "date" | "last_day" if !call.odd => Some(Shape::Value(Compare::Time)),
            "coalesce" | "ifnull" | "greatest" | "least" | "nullif" if !call.odd => {
                self.numeric(&call.args, block)
            }
            name if NUMERIC.binary_search(&name).is_ok() && !call.odd => {
                Some(Shape::Value(Compare::Number))
            }
            _ => None,
        }
    }
}

fn shape_of(column: &Column, mariadb: bool) -> Option<Shape> {
    // its text is rounded to six digits: values that differ may look the same
    if column.definition.to_ascii_lowercase().starts_with("float") {
        return None;
    }
    Some(match &column.kind {
        Kind::Integer { .. } | Kind::Number => Shape::Value(Compare::Number),
        Kind::Date | Kind::DateTime | Kind::Time => Shape::Value(Compare::Time),
        Kind::Binary { .. } => Shape::Value(Compare::Bytes),
        Kind::Text { length, collation } if *length <= LONGEST_TEXT => {
            return weight(*length, collation, mariadb);
        }
        Kind::Enum => Shape::Number,
        Kind::Text { .. } | Kind::Other => return None,
    })
}

/// Where trailing spaces do not count, texts are compared as if padded to the column's length. Letters that expand to
/// two weights make that twice the length: MariaDB then has as many weights for every text. MySQL pads letters, so that
/// texts with expansions come out longer: their weights are compared padded here.
fn weight(length: u32, collation: &str, mariadb: bool) -> Option<Shape> {
    let pads =
        !collation.contains("_0900_") && !collation.contains("nopad") && collation != "binary";
    let expands = !(collation.ends_with("_bin") || collation.contains("general"));
    let (behind, compare) = match (pads, expands) {
        (false, _) => (")".into(), Compare::Bytes),
        (true, true) if !mariadb => match space_of_mysql(collation)? {
            Some(weight) => (")".into(), Compare::Padded(weight)),
            None => (format!(" AS CHAR({length}))"), Compare::Bytes),
        },
        (true, true) => (format!(" AS CHAR({}))", length * 2), Compare::Bytes),
        (true, false) => (format!(" AS CHAR({length}))"), Compare::Bytes),
    };
    Some(Shape::Weight {
        before: "WEIGHT_STRING(",
        behind,
        compare,
    })
}

/// The weight of a space in a collation of MySQL whose letters may expand; Some(None): they never do. None: not known, only
/// a server compares such texts.
fn space_of_mysql(collation: &str) -> Option<Option<u16>> {
    let unicode = ["utf8", "ucs2", "utf16", "utf32"];
    if unicode.iter().any(|set| collation.starts_with(set)) {
        let newer = collation.contains("_520_");
        return Some(Some(if newer { 0x020a } else { 0x0209 }));
    }
    let single = [
        "ascii",
        "latin1_swedish",
        "latin1_danish",
        "latin1_spanish",
        "latin5",
        "latin7",
        "cp1250",
        "cp1251",
        "cp1256",
        "cp1257",
        "cp850",
        "cp852",
        "cp866",
        "greek",
        "hebrew",
        "koi8",
        "macce",
        "macroman",
    ];
    let plain = single.iter().any(|set| collation.starts_with(set)) && !collation.contains("czech");
    plain.then_some(None)
}

#[cfg(test)]
#[test]
fn the_list_of_functions_is_in_order() {
    assert!(NUMERIC.is_sorted());
}
